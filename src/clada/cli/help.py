"""The help texts, made from the tables of commands and flags."""

from __future__ import annotations

from textwrap import wrap

from clada.cli.flags import COMMANDS, FLAGS, JSON, YES
from clada.errors import UsageError
from clada.setting_values import close_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from clada.settings import Setting

USAGE = """\
usage: clada [FILE] [flags]      apply the edits in an LLM's answer
       clada paste               apply the answer on the clipboard
       clada plan FILE           show what would change; change nothing
Try clada -h."""

ABOUT = """\
Reads an LLM's answer from FILE or standard input, finds the operations in it
and applies them in the workspace: writes, edits, moves and removes files, runs
allowed commands, and records each run so that clada undo can revert it."""

FIRST_SCREEN = """\
usage: clada [FILE] [flags]
       clada COMMAND …

Applies the edits in an LLM's answer, from FILE or standard input.

  plan [FILE]         show what would change, with a diff; change nothing
  paste               apply the answer on the clipboard
  undo [RUN]          revert the last run, or that one
  history             list the runs, newest first
  pack [PATH…]        print files and instructions as one text for a chat
  approvals add CMD   let a command run without asking

  -n  dry run         -y  apply without asking    -q  print failures only
  -v  full details    -C DIR  workspace           -m TEXT  commit message

Examples:
  clada answer.md                   apply an answer
  llm "add a test" | clada          apply the output of another program
  clada --confirm answer.md         choose what to apply
  clada undo                        revert it

All commands and flags: clada --help    One command: clada help COMMAND
"""

EXAMPLES = (
    ('llm "add a test" | clada', "apply an answer"),
    ("clada plan answer.md", "show the diff first"),
    ("clada --confirm answer.md", "choose what to apply"),
    ("clada watch --clipboard", "apply each answer that you copy"),
    ("clada prompt csl", "instructions for the LLM"),
    ('clada approvals add "npm test"', "let it run the tests"),
    ("clada undo", "revert the last run"),
)

CLOSING = """\
Durations: 500ms, 30s, 5m, 1h. Sizes: B, KB, MB, GB.
Exit code: 0 everything was applied; 1 something failed, was refused or was not
applied; 2 wrong usage; 3 no operations found; 129, 130, 143 interrupted.
Defaults: clada config lists them; ~/.config/clada/config.toml, CLADA_<SETTING>
in the environment and a trusted .clada/config.toml set them."""

WIDTH = 80
FLAG_WIDTH = 30
COMMAND_WIDTH = 28
EXAMPLE_WIDTH = 34
ADVANCED = "Advanced"


def named_command(arguments: Sequence[str]) -> str | None:
    """Return the command that is the argument of `clada help`; None without one."""
    name = arguments[0] if arguments else None
    if name is not None and name not in COMMANDS:
        near = close_to(name, list(COMMANDS))
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(f"unknown command {name!r}{hint}", f"clada help {near}" if near else "clada --help")
    return name


def command_help(command: str | None) -> str:
    """Return the help of a command, or of clada itself."""
    return "\n".join(_main_help() if command is None else _command_help(command)) + "\n"


def _main_help() -> Iterator[str]:
    yield "usage: clada [FILE] [flags]"
    yield "       clada COMMAND …"
    yield f"\n{ABOUT}"
    for group in dict.fromkeys(command.group for command in COMMANDS.values()):
        yield f"\n{group}:"
        for name, command in COMMANDS.items():
            if command.group == group:
                yield from _row(f"{name} {command.arguments}".rstrip(), command.meaning, COMMAND_WIDTH)
    yield from _flag_groups([*FLAGS.values(), YES, JSON])
    yield "\nExamples:"
    yield from _examples(EXAMPLES)
    yield f"\n{CLOSING}"


def _command_help(name: str) -> Iterator[str]:
    command = COMMANDS[name]
    flags = " [flags]" if command.flags else ""
    yield f"usage: clada {name} {command.arguments}".rstrip() + flags
    yield f"\n{command.meaning[0].upper()}{command.meaning[1:]}."
    if command.examples:
        yield "\nExamples:"
        yield from _examples(command.examples)
    yield from _flag_groups([command.setting(flag) for flag in command.flags if flag not in command.unlisted])


def _flag_groups(flags: Iterable[Setting]) -> Iterator[str]:
    """Yield flags under the headings of their groups; advanced ones come last."""
    groups: dict[str, list[Setting]] = {}
    for flag in flags:
        groups.setdefault(ADVANCED if flag.advanced else flag.group, []).append(flag)
    main_order = [*dict.fromkeys(flag.group for flag in FLAGS.values()), ADVANCED]
    for group in main_order:
        if group in groups:
            yield f"\n{group}:"
            for flag in groups[group]:
                letter = f"-{flag.short}, " if flag.short else "    "
                yield from _row(letter + synopsis(flag), describe_flag(flag), FLAG_WIDTH)


def _examples(examples: tuple[tuple[str, str], ...]) -> Iterator[str]:
    width = max(EXAMPLE_WIDTH, *(len(line) + 2 for line, _ in examples))
    for line, meaning in examples:
        if 2 + width + len(meaning) > WIDTH:
            yield f"  {line}"
            yield f"      {meaning}"
        else:
            yield f"  {line.ljust(width)}{meaning}"


def synopsis(flag: Setting) -> str:
    """Return `--flag` or `--flag=VALUE`."""
    written = f"--{flag.dashed}"
    return written if flag.kind == "switch" else f"{written}={flag.value or 'WHICH'}"


LETTERS_FOR_VALUES = {"output_mode": "-q: silent", "error_detail": "-v: full"}


def describe_flag(flag: Setting) -> str:
    """Return what a flag means, with its choices and its default."""
    choices = f": {', '.join(flag.choices)}" if flag.choices and ":" not in flag.meaning else ""
    letter = f"; {LETTERS_FOR_VALUES[flag.name]}" if flag.name in LETTERS_FOR_VALUES else ""
    default = flag.otherwise or format_default(flag)
    return f"{flag.meaning}{choices}{letter}{f' (default: {default})' if default else ''}"


def format_default(flag: Setting) -> str:
    """Return the default of a flag as one would write it; nothing for switches, lists and no default."""
    if flag.kind in ("switch", "list", "table") or flag.default is None:
        return ""
    return format_value(flag, flag.default)


def format_value(setting: Setting, value: Any) -> str:
    """Return a value as one would write it on the command line."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if setting.kind == "duration":
        return f"{value:.10g}s"
    if setting.kind == "size":
        unit, size = next(
            (
                (unit, size)
                for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))
                if value and value % size == 0
            ),
            ("", 1),
        )
        return f"{value // size}{unit}"
    if setting.kind == "list":
        return ", ".join(value)
    if setting.kind == "table":
        return ", ".join(f"{key}: {text}" for key, text in value.items())
    return str(value)


def _row(name: str, meaning: str, width: int) -> Iterator[str]:
    lines = wrap(meaning, WIDTH - 1 - width, break_on_hyphens=False)
    if len(name) + 4 > width:
        yield f"  {name}"
        name = ""
    yield f"  {name}".ljust(width) + lines[0]
    for line in lines[1:]:
        yield " " * width + line
