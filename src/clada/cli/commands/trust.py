"""`clada trust`: review and trust the workspace's own `.clada` directory."""

from __future__ import annotations

from contextlib import suppress

from clada.cli.questions import ask
from clada.errors import CladaError
from clada.text.forms import visible
from clada.world.approvals import describe
from clada.world.trust import APPROVALS, HOW, clada_files, decline, remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.trust import CladaFile

NEW = "clada: this workspace has settings or approvals that you have not seen on this machine:"
QUESTION = "[y] yes, as it is now   [n] no, and do not ask until it changes: "
ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no"}
INDENTATION = 16  # blanks at the start of a line that are shown as they are
LONG = 20  # lines above which the beginning may have scrolled away


def trust(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Show the files of the workspace's `.clada`, and trust them if the user agrees."""
    workspace = options["workspace"]
    files = clada_files(workspace)
    if not files:
        console.note("this workspace has no .clada directory to trust")
        return 0
    new = [file for file in files if not file.trusted]
    if not new:
        console.write(f"trusted already: {_names(files)}\n")
        return 0
    readable = [file for file in new if not file.problem]
    if options.get("yes") or not readable:
        console.write("\n".join([*_format_files(new), ""]))
        for file in readable:
            remember(workspace, file.name, file.data)
    else:
        said = _ask(workspace, new)
        if said is None:
            raise CladaError("io_error", "there is no terminal to ask on", "clada trust --yes")
        if said != "yes":
            raise CladaError("command_not_allowed", "not trusted, so it is ignored", HOW)
    if len(readable) < len(new):
        console.note(f"cannot be trusted: {_names([file for file in new if file.problem])}", "clada doctor")
        return 1
    console.write(f"trusted: {_names(readable)}\n")
    return 0


def settle(workspace: str, console: Console, *, may_ask: bool, tell: bool = True) -> bool:
    """Return whether the workspace's `.clada` is trusted; if that is not decided yet, ask on the terminal.

    Without a terminal it is ignored; with `tell`, a line says so.
    """
    new = [file for file in clada_files(workspace) if not file.trusted]
    if not new:
        return True
    undecided = [file for file in new if not file.problem and not file.declined]
    if may_ask and undecided and (answer := _ask(workspace, new, console)):
        return answer == "yes"
    if tell:
        problems = "".join(f"; {file.path} {file.problem}" for file in new if file.problem)
        console.note(f"ignored, because not trusted on this machine: {_names(new)}{problems}", HOW)
    return False


def _ask(workspace: str, new: Sequence[CladaFile], console: Console | None = None) -> str | None:
    """Ask on the terminal, and remember the answer; None without a terminal."""
    readable = [file for file in new if not file.problem]
    lines = ["", NEW, *_format_files(new)]
    if len(lines) > LONG:
        lines.append(f"({len(lines)} lines: scroll up to see where it starts)")
    if console:
        console.pause()
    said = ask("\n".join([*lines, f"Trust {_names(readable)}?\n"]), QUESTION, ANSWERS)
    for file in readable:
        if said == "yes":
            remember(workspace, file.name, file.data)
        elif said == "no":
            with suppress(CladaError):  # then it is asked again the next time
                decline(workspace, file.name, file.data)
    return "no" if said == "" else said


def _names(files: Sequence[CladaFile]) -> str:
    return " and ".join(file.path for file in files)


# What the user sees: text only, because control characters are made visible.


def _format_files(files: Sequence[CladaFile]) -> list[str]:
    """Return the lines of all files, each behind a bar, and below approvals what they allow."""
    lines: list[str] = []
    for file in files:
        lines += ["", f"{file.path}{f' {file.problem}' if file.problem else ':'}"]
        text = file.data.decode(errors="backslashreplace")
        lines += [
            f"  | {_with_visible_blanks(line)}"
            for line in text.removesuffix("\n").split("\n")
            if not file.problem
        ]
        if file.name == APPROVALS and not file.problem:
            lines += _meaning(file.data)
    return [*lines, ""]


def _with_visible_blanks(line: str) -> str:
    """Return a line with nothing hidden in it; a short indentation stays as it is."""
    rest = line.lstrip(" ")
    blanks = len(line) - len(rest)
    return f"{line[:blanks]}{visible(rest)}" if blanks <= INDENTATION else visible(line)


def _meaning(data: bytes) -> list[str]:
    """Return in words what a file of approvals allows, because escapes in JSON can hide it."""
    try:
        said = describe(data)
    except CladaError as trouble:
        return [f"  {visible(trouble.error.sentence)}"]
    return ["that is:", *(f"  {visible(line)}" for line in said)] if said else []
