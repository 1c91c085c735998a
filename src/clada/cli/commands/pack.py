"""`clada pack` prints instructions, files and a question for a chat; `clada prompt` only the instructions."""

from __future__ import annotations

import os

from clada import packing
from clada.cli.clipboard import copy
from clada.cli.console import STDOUT
from clada.cli.pager import edit
from clada.cli.questions import opened_terminal
from clada.errors import UsageError
from clada.prompts import instructions
from clada.report import counted
from clada.text.escape import escape_controls, escape_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.packing import Pack

OPTIONS = ("workspace", "format", "tracked", "changed", "since", "max_tokens", "numbers", "reveal")
MOST_NAMED = 20  # files that are left out and named, before they are only counted


def pack(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print or copy a pack; name on standard error what is not in it."""
    if options["edit"] and options["ask"] is not None:
        raise UsageError("--ask and --edit exclude each other", 'clada pack --ask "Why does it fail?"')
    ask = _edit_question() if options["edit"] else options["ask"] or ""
    chosen = {name: options[name] for name in OPTIONS}
    packed = packing.pack(arguments, ask=ask, remember=options["record"] != "none", **chosen)
    if options["copy"]:
        copy(packed.text, "clada pack > pack.txt")
    else:
        console.write(escape_lines(packed.text) if os.isatty(STDOUT) else packed.text)
    for line in _notes(packed, on_clipboard=options["copy"]):
        console.note(line)
    return 0


def _notes(pack: Pack, *, on_clipboard: bool) -> list[str]:
    left_out = [f"left out {escape_controls(path)}: {reason}" for path, reason in pack.left_out]
    more = len(left_out) - MOST_NAMED
    left_out[MOST_NAMED:] = [f"left out {more:,} more, listed at the end of the text"] if more > 0 else []
    tokens = f"about {pack.tokens:,} tokens (characters/4)" if pack.is_estimate else f"{pack.tokens:,} tokens"
    where = " on the clipboard" if on_clipboard else ""
    left_out += [pack.note] if pack.note else []
    return [*left_out, f"{counted(len(pack.files), 'file')}, {tokens}{where}"]


def _edit_question() -> str:
    """Return the question that the user writes in an editor."""
    with opened_terminal() as terminal:
        if terminal is None:
            raise UsageError("--edit needs a terminal", 'clada pack --ask "Why does it fail?"')
        return edit(b"", terminal).decode(errors="replace")


def prompt(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the instructions for a notation, by default the first one of the registry."""
    name: Any = arguments[0] if arguments else None
    text = instructions(name, options["workspace"], options["start_delimiter"], options["end_delimiter"])
    if options["copy"]:
        copy(text, "clada prompt > prompt.txt")
        console.note("the instructions are on the clipboard")
    else:
        console.write(text)
    return 0
