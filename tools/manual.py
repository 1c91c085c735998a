"""Writes the manual page, docs/clada.1, from the same tables as the help: `python -m tools.manual`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clada.cli.flags import COMMANDS, FLAGS
from clada.cli.help import ABOUT, EXAMPLES, explained, synopsis
from clada.config import FILE, FOLDER
from clada.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[1] / "docs" / "clada.1"
EXIT_STATUS = (
    ("0", "Everything succeeded, or there was nothing to do."),
    ("1", "Something failed: the status lines say what."),
    ("2", "The command line, or a configuration file, cannot be understood."),
    (
        "129, 130, 143",
        "Interrupted by SIGHUP, SIGINT or SIGTERM: the rest was skipped, what was done is recorded.",
    ),
)
PLACES = (
    ("$XDG_CONFIG_HOME/clada/config.toml", "The user's defaults: the names of the flags, with underscores."),
    (
        f"{FOLDER}/{FILE}",
        "The workspace's defaults, once they are trusted; only harmless ones may stand there.",
    ),
    (f"{FOLDER}/allowed-commands.json", "The approved and blocked commands of the workspace."),
    ("$XDG_STATE_HOME/clada/trust", "What the user has trusted of workspaces, as it was."),
)
VARIABLES = (
    ("NO_COLOR", "When set, nothing is shown in colour."),
    ("CLADA_TRUST_WORKSPACE", "When 1, what a workspace brings along counts; for CI."),
    ("XDG_CONFIG_HOME", "Where the user's configuration is; ~/.config where it is not set."),
)


def page() -> str:
    """Return the page, in the man macros that every system has."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield f'.TH CLADA 1 "" "clada {VERSION}" "User Commands"'
    yield ".SH NAME"
    yield _text("clada - carry out what the answer of an LLM asks for")
    yield ".SH SYNOPSIS"
    yield ".B clada\n[\\fIFILE\\fR] [\\fIflags\\fR]"
    for name, command in COMMANDS.items():
        yield ".br"
        yield f".B clada {name}\n{_text(command.arguments)}".rstrip()
    yield ".SH DESCRIPTION"
    yield _text(ABOUT)
    yield ".SH COMMANDS"
    for name, command in COMMANDS.items():
        yield from _item(f"{name} {command.arguments}".rstrip(), _sentence(command.meaning))
    yield ".SH OPTIONS"
    for group in dict.fromkeys(flag.group for flag in FLAGS.values()):
        yield f'.SS "{group}"'
        for flag in FLAGS.values():
            if flag.group == group:
                yield from _item(synopsis(flag), _sentence(explained(flag)))
    yield from _section("EXIT STATUS", EXIT_STATUS)
    yield from _section("FILES", PLACES)
    yield from _section("ENVIRONMENT", VARIABLES)
    yield from _section("EXAMPLES", tuple((line, _sentence(meaning)) for line, meaning in EXAMPLES))


def _section(title: str, items: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in items:
        yield from _item(name, meaning)


def _item(name: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield f"\\fB{_text(name)}\\fR"
    yield _text(meaning)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _text(text: str) -> str:
    """Escape what the formatter would act on: backslashes, dashes, and dots and quotes that start a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("'", "\\(aq")
    lines = [f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.split("\n")]
    return "\n".join(lines).replace('"', "\\(dq")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
