"""Write docs/clada.1, docs/command-line.md and docs/configuration.md from the tables of the help.

Run it as `python -m tools.manual`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clada.cli.flags import COMMANDS, FLAGS, JSON, YES
from clada.cli.help import ABOUT, ADVANCED, EXAMPLES, describe_flag, format_default, synopsis
from clada.config import FILE, FOLDER
from clada.settings import SETTINGS
from clada.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.settings import Setting

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "clada.1"
COMMAND_LINE = DOCS / "command-line.md"
CONFIGURATION = DOCS / "configuration.md"
TABLE_START = "| setting | meaning | value | default |\n|---|---|---|---|\n"
KINDS = {
    "switch": "true or false", "duration": "a duration", "size": "a size", "list": "a list",
    "table": "a table",
}  # fmt: skip
EXIT_STATUS = (
    ("0", "Everything in the answer was applied."),
    ("1", "Something failed, was refused, or was recognised and not applied: the status lines say what."),
    ("2", "The command line, an environment variable or a configuration file is wrong."),
    ("3", "There are no operations in the text."),
    ("129, 130, 143", "Interrupted by SIGHUP, SIGINT or SIGTERM: the rest was skipped, the run is recorded."),
)
PLACES = (
    ("$XDG_CONFIG_HOME/clada/config.toml", "The user's defaults: names of flags, with underscores."),
    (f"{FOLDER}/{FILE}", "The workspace's defaults, once they are trusted; only harmless ones are allowed."),
    (f"{FOLDER}/allowed-commands.json", "The approved and blocked commands of the workspace."),
    ("$XDG_STATE_HOME/clada/trust", "Copies of what the user has trusted."),
)
VARIABLES = (
    ("CLADA_<SETTING>", "Sets a default, such as CLADA_TIMEOUT=1m; wins over the configuration files."),
    ("NO_COLOR", "If set, no colour is used."),
    ("FORCE_COLOR", "If set, colour is used in pipes too; NO_COLOR wins."),
    ("CLADA_TRUST_WORKSPACE", "If 1, every workspace's .clada is trusted; for CI."),
    ("XDG_CONFIG_HOME", "Directory of the user's configuration; ~/.config if it is not set."),
)


def page() -> str:
    """Return the page, in the man macros that every system has."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield f'.TH CLADA 1 "" "clada {VERSION}" "User Commands"'
    yield ".SH NAME"
    yield _text("clada - apply the edits in an LLM's answer")
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
    for group, flags in _groups():
        yield f'.SS "{group}"'
        for written, meaning in flags:
            yield from _item(written, meaning)
    yield from _section("EXIT STATUS", EXIT_STATUS)
    yield from _section("FILES", PLACES)
    yield from _section("ENVIRONMENT", VARIABLES)
    yield from _section("EXAMPLES", tuple((line, _sentence(meaning)) for line, meaning in EXAMPLES))


def _groups() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each group of flags, with how a flag is written and its meaning."""
    flags = [*FLAGS.values(), YES, JSON]
    for group in (*dict.fromkeys(flag.group for flag in flags), ADVANCED):
        members = [flag for flag in flags if group == (ADVANCED if flag.advanced else flag.group)]
        yield (
            group,
            [
                (
                    f"-{flag.short}, {synopsis(flag)}" if flag.short else synopsis(flag),
                    _sentence(describe_flag(flag)),
                )
                for flag in members
            ],
        )


def command_line() -> str:
    """Return docs/command-line.md."""
    return "\n".join(_command_line()) + "\n"


def _command_line() -> Iterator[str]:
    yield "# Command line\n"
    yield "`clada [FILE] [flags]` applies the answer in FILE, or on standard input. `clada -h` fits one"
    yield "screen, `clada --help` lists everything, `clada help COMMAND` explains one command.\n"
    yield "## Commands\n"
    yield from _table(
        "command",
        (
            (f"clada {name} {command.arguments}".rstrip(), _sentence(command.meaning))
            for name, command in COMMANDS.items()
        ),
    )
    for group, flags in _groups():
        yield f"\n## {group[0].upper()}{group[1:]}\n"
        yield from _table("flag", flags)
    yield "\nAll of them except `--yes` and `--json` are [settings](configuration.md), too."


def _table(head: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head} | meaning |"
    yield "|---|---|"
    for written, meaning in rows:
        # Sites differ in how a code span in a table says |, but agree on its number.
        code = f"<code>{written.replace('|', '&#124;')}</code>" if "|" in written else f"`{written}`"
        yield f"| {code} | {meaning.replace('|', '&#124;')} |"


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


def configuration() -> str:
    """Return docs/configuration.md with its table, the settings that have no flag, as they are now."""
    before, start, after = CONFIGURATION.read_text(encoding="utf-8").partition(TABLE_START)
    rows = (_setting_row(setting) for setting in SETTINGS if setting.name not in FLAGS)
    return f"{before}{start}{''.join(rows)}\n{after.partition(chr(10) * 2)[2]}"


def _setting_row(setting: Setting) -> str:
    default = setting.otherwise or (f"`{shown}`" if (shown := format_default(setting)) else "none")
    if setting.kind == "switch":
        default = str(setting.default).lower()
    return f"| `{setting.name}` | {setting.meaning} | {KINDS[setting.kind]} | {default} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    COMMAND_LINE.write_text(command_line(), encoding="utf-8")
    CONFIGURATION.write_text(configuration(), encoding="utf-8")
