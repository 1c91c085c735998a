"""The help texts, made from the table of commands and flags."""

from __future__ import annotations

from clada.cli.flags import COMMANDS, FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.cli.flags import Flag

USAGE = """\
usage: clada [FILE] [flags]      carry out what the answer of an LLM asks for
       pbpaste | clada           or pipe it in
       clada plan FILE           look first: touches nothing
Try clada --help."""

EXAMPLES = """\
Examples:
  llm "add a test" | clada             carry out an answer
  clada plan answer.md                 look at the diff first
  clada --confirm answer.md            look at it, then say yes or no
  clada prompt csl                     what to tell the LLM
  clada approvals add "npm test"       let it run the tests
  clada undo                           take back what the last run changed

Exit code: 0 all succeeded, or nothing to do; 1 something failed; 2 the command
line is wrong; 130 or 143 interrupted."""

FLAG_WIDTH = 26


def command_help(command: str | None) -> str:
    """Return the help of a command, or of all."""
    if command is None:
        return "\n".join(_all()) + "\n"
    arguments, meaning = COMMANDS[command]
    return f"usage: clada {command} {arguments}".rstrip() + f"\n\n{meaning[0].upper()}{meaning[1:]}.\n"


def _all() -> Iterator[str]:
    yield "usage: clada [FILE] [flags]"
    yield "       clada COMMAND …"
    yield ""
    yield "Reads the text an LLM wrote, from FILE or standard input, finds the operations in"
    yield "it and carries them out in the workspace: writes, edits, moves and removes files,"
    yield "runs allowed commands, and records the work in git."
    yield ""
    yield "Commands:"
    for name, (arguments, meaning) in COMMANDS.items():
        yield from _row(f"{name} {arguments}".rstrip(), meaning)
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        yield ""
        yield f"{group}:"
        for flag in FLAGS:
            if flag.group == group:
                yield from _row(synopsis(flag), explained(flag))
    yield ""
    yield EXAMPLES


def synopsis(flag: Flag) -> str:
    """Return a flag as help shows it, with its value."""
    if flag.kind == "switch":
        return f"--{flag.name}"
    return f"--{flag.name}={flag.value or 'WHICH'}"


def explained(flag: Flag) -> str:
    """Return what a flag means, with its choices and its default."""
    if flag.choices:
        others = ", ".join(choice for choice in flag.choices if choice != flag.default)
        return f"{flag.meaning}: {flag.default} (the default), {others}"
    if flag.kind in ("switch", "list") or flag.default is None:
        return flag.meaning
    return f"{flag.meaning} (default {shown_default(flag)})"


def shown_default(flag: Flag) -> str:
    """Return the default of a flag as one would write it."""
    if flag.kind == "duration":
        return f"{flag.default:g}s"
    if flag.kind == "size":
        return f"{flag.default >> 20}MB"
    return str(flag.default)


def _row(name: str, meaning: str) -> Iterator[str]:
    from textwrap import wrap

    lines = wrap(meaning, 79 - FLAG_WIDTH - 2)
    if len(name) + 4 > FLAG_WIDTH:
        yield f"  {name}"
        name = ""
    yield f"  {name}".ljust(FLAG_WIDTH) + lines[0]
    for line in lines[1:]:
        yield " " * FLAG_WIDTH + line
