"""The parts of a file that run, where only its content tells: settings of an editor, scripts of a package."""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Words in the names of settings of VS Code and its extensions by which they name a program, its arguments or
# variables, or let something run without asking.
PROGRAM_WORDS = re.compile(
    r"path|exec|command|cmd|interpreter|shell|terminal|program|binary|server|args|env|tools|tsdk|sdk|runtime"
    r"|home|task|trust|approve|runonsave|hook|mcp|plugin|script|launch|loader|wrapper|linter|formatter|extension",
    re.IGNORECASE,
)
# An unclosed string or comment extends to the end, so that they take linear time.
_STRING = r'"(?:\\.?|[^"\\])*+(?:"|\Z)'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*+[}}\]])", re.DOTALL)
# Which keys of a JSON text stand for something that runs.
PARTS: dict[str, Callable[[str], object]] = {
    "program settings": PROGRAM_WORDS.search,
    "scripts": lambda key: key == "scripts",
}


def has_other_parts(name: str, old: bytes, new: bytes) -> bool:
    """Whether something would run from the new content that did not from the old one."""
    is_part = PARTS[name]
    then, now = ([pair for pair in _pairs(data) if is_part(pair[0])] for data in (old, new))
    return bool(now) and now != then


def _pairs(data: bytes) -> list[Any]:
    """Return all keys in a JSON text with their values, in order, each time that they occur."""
    if not data.strip():
        return []
    found: list[Any] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(pairs)
        return dict(pairs)

    text = data.decode(errors="replace").removeprefix("\ufeff")
    without_comments = _COMMENT.sub(lambda found: found[1] or "", text)
    try:
        json.loads(_LAST_COMMA.sub(lambda found: found[1] or "", without_comments), object_pairs_hook=keep)
    except (ValueError, RecursionError):
        return [("scripts", text), ("path", text)]  # unreadable content may hold anything
    return found
