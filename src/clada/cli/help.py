"""The help texts, made from the table of commands and flags."""

from __future__ import annotations

from textwrap import wrap

from clada.cli.flags import COMMANDS, FLAGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.settings import Setting

USAGE = """\
usage: clada [FILE] [flags]      carry out what the answer of an LLM asks for
       clada paste               or what you have copied
       clada plan FILE           look first: touches nothing
Try clada --help."""

ABOUT = """\
Reads the text an LLM wrote, from FILE or standard input, finds the operations
in it and carries them out in the workspace: writes, edits, moves and removes
files, runs allowed commands, and records the work in git."""

EXAMPLES = (
    ('llm "add a test" | clada', "carry out an answer"),
    ("clada plan answer.md", "look at the diff first"),
    ("clada --confirm answer.md", "look at it, then choose what of it"),
    ("clada watch --clipboard", "do so with each answer that is copied"),
    ("clada prompt csl", "what to tell the LLM"),
    ('clada approvals add "npm test"', "let it run the tests"),
    ("clada undo", "take back what the last run changed"),
)

EXIT_CODES = """\
Exit code: 0 all succeeded, or nothing to do; 1 something failed; 2 the command
line is wrong; 129, 130 or 143 interrupted.
Defaults can be set in ~/.config/clada/config.toml and, as far as they are
harmless and trusted, in .clada/config.toml of the workspace: timeout = "1m"."""

WIDTH = 80
FLAG_WIDTH = 26
EXAMPLE_WIDTH = 34


def command_help(command: str | None) -> str:
    """Return the help of a command, or of clada itself."""
    return "\n".join(_main_help() if command is None else _command_help(command)) + "\n"


def _main_help() -> Iterator[str]:
    yield "usage: clada [FILE] [flags]"
    yield "       clada COMMAND …"
    yield f"\n{ABOUT}"
    yield "\nCommands (each has its own --help):"
    for name, command in COMMANDS.items():
        yield from _row(f"{name} {command.arguments}".rstrip(), command.meaning)
    for group in dict.fromkeys(flag.group for flag in FLAGS.values()):
        yield f"\n{group}:"
        for flag in FLAGS.values():
            if flag.group == group:
                yield from _row(synopsis(flag), explained(flag))
    yield "\nDurations: 500ms, 30s, 5m, 1h. Sizes: B, KB, MB, GB."
    yield "\nExamples:"
    yield from _examples(EXAMPLES)
    yield f"\n{EXIT_CODES}"


def _command_help(name: str) -> Iterator[str]:
    command = COMMANDS[name]
    flags = " [flags]" if command.flags else ""
    yield f"usage: clada {name} {command.arguments}".rstrip() + flags
    yield f"\n{command.meaning[0].upper()}{command.meaning[1:]}."
    if command.flags:
        yield "\nFlags:"
        for flag in map(command.setting, command.flags):
            yield from _row(synopsis(flag), explained(flag))
    if command.examples:
        yield "\nExamples:"
        yield from _examples(command.examples)


def _examples(examples: tuple[tuple[str, str], ...]) -> Iterator[str]:
    width = max(EXAMPLE_WIDTH, *(len(line) + 2 for line, _ in examples))
    for line, meaning in examples:
        if len(line) + 2 > width or 2 + width + len(meaning) > WIDTH:
            yield f"  {line}"
            yield f"      {meaning}"
        else:
            yield f"  {line.ljust(width)}{meaning}"


def synopsis(flag: Setting) -> str:
    """Return `--flag` or `--flag=VALUE`."""
    written = f"--{flag.dashed}"
    return written if flag.kind == "switch" else f"{written}={flag.value or 'WHICH'}"


def explained(flag: Setting) -> str:
    """Return what a flag means, with its choices and its default."""
    if flag.choices:
        others = ", ".join(choice for choice in flag.choices if choice != flag.default)
        if flag.default is None:
            return f"{flag.meaning}: {others}"
        return f"{flag.meaning}: {flag.default} (the default), {others}"
    if flag.kind in ("switch", "list") or flag.default is None:
        return flag.meaning
    return f"{flag.meaning} (default {shown_default(flag)})"


def shown_default(flag: Setting) -> str:
    """Return the default of a flag as it would be given on the command line."""
    if flag.kind == "duration":
        return f"{flag.default:g}s"
    if flag.kind == "size":
        gigabytes, rest = divmod(flag.default, 1 << 30)
        return f"{gigabytes}GB" if not rest else f"{flag.default >> 20}MB"
    return str(flag.default)


def _row(name: str, meaning: str) -> Iterator[str]:
    lines = wrap(meaning, WIDTH - 1 - FLAG_WIDTH, break_on_hyphens=False)
    if len(name) + 4 > FLAG_WIDTH:
        yield f"  {name}"
        name = ""
    yield f"  {name}".ljust(FLAG_WIDTH) + lines[0]
    for line in lines[1:]:
        yield " " * FLAG_WIDTH + line
