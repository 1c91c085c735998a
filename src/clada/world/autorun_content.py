"""The parts of a file that run, where only its content tells: settings, scripts, the path of git's hooks."""

from __future__ import annotations

import json
import os
import re

from clada.world.handles import open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.world.files.paths import Parts

LARGEST = 1 << 20  # bytes of a file that is looked into
UNREADABLE = "cannot be read"
# Words in the names of settings of VS Code and its extensions by which they name a program, its arguments or
# variables, or let something run without asking.
PROGRAM_WORDS = re.compile(
    r"path|exec|command|cmd|interpreter|shell|terminal|program|binary|server|args|env|tools|tsdk|sdk|runtime"
    r"|home|task|trust|approve|runonsave|hook|mcp|plugin|script|launch|loader|wrapper|linter|formatter|extension",
    re.IGNORECASE,
)
_STRING = r'"(?:\\.|[^"\\])*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_HOOKS_PATH = re.compile(rb"^[ \t]*hookspath[ \t]*=[ \t]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)


def read_small(path: str) -> bytes:
    """Return the content of a regular file, without following a link; nothing if it is missing or large."""
    try:
        with open(open_file(path), "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError:
        return b""
    return data if len(data) <= LARGEST else b""


def program_settings(data: bytes) -> list[Any]:
    """Return the settings of VS Code that can name programs, with their values."""
    return [pair for pair in _pairs(data) if pair == UNREADABLE or PROGRAM_WORDS.search(pair[0])]


def package_scripts(data: bytes) -> list[Any]:
    """Return the scripts of a package.json."""
    return [pair for pair in _pairs(data) if pair == UNREADABLE or pair[0] == "scripts"]


def _pairs(data: bytes) -> list[Any]:
    """Return all keys in a JSON text with their values, each time that they occur."""
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
        return [UNREADABLE]
    return found


def hooks_path(root: str) -> Parts | None:
    """Return the folder of the workspace that the repository's core.hooksPath names, if it names one."""
    values = _HOOKS_PATH.findall(read_small(os.path.join(root, ".git", "config")))
    if not values:
        return None
    named = os.path.expanduser(os.fsdecode(values[-1].strip(b'"')))  # the last one counts
    path = os.path.relpath(os.path.join(root, named), root)
    return None if path.startswith("..") else tuple(path.split("/")) if path != "." else ()
