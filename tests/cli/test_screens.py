"""Screens in files, as a terminal of 80 or 120 columns shows them. If a text changes, so does its file.

CLADA_WRITE_SCREENS=1 writes the files of history, approvals and choosing anew.
"""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clada.cli.flags import COMMANDS
from clada.cli.help import FIRST_SCREEN, command_help

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Tmux

SCREENS = Path(__file__).with_name("screens")
HELP = {"short": FIRST_SCREEN, "all": command_help(None), **{name: command_help(name) for name in COMMANDS}}
ROWS, COLUMNS = 24, 80
WIDTHS = (80, 120)
TALL = 100  # rows in which every screen has room


@pytest.mark.parametrize("name", HELP)
def test_the_help_is_as_its_file(name: str) -> None:
    assert HELP[name] == (SCREENS / f"help-{name}.txt").read_text(encoding="utf-8")


def test_the_first_help_is_one_screen() -> None:
    lines = FIRST_SCREEN.splitlines()
    assert len(lines) < ROWS
    assert [line for line in lines if len(line) > COLUMNS] == []


def test_every_flag_has_a_phrase_and_every_default_is_told() -> None:
    """A phrase has no full stop; what takes a value has a default, or the help says what happens else."""
    for name, command in COMMANDS.items():
        for flag in map(command.setting, command.flags):
            assert flag.meaning, (name, flag.name)
            assert not flag.meaning.endswith("."), (name, flag.name)


def compare(name: str, columns: int, shown: str) -> None:
    """Compare a screen with its file."""
    file = SCREENS / f"{name}-{columns}.txt"
    if os.environ.get("CLADA_WRITE_SCREENS"):
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def shown_by(tmux: Tmux, line: str, name: str = "") -> str:
    """Run a line of shell, and return what it prints; `name` sets its end apart from that of other lines."""
    end = f"[end {name}]"
    tmux.type(f"clear; {line}; echo '[en''d {name}]'")
    return tmux.until(lambda screen: end in screen).partition(end)[0]


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_help_on_a_terminal_is_as_its_file(tmux: Tmux, columns: int) -> None:
    lines = {"short": "clada -h", "all": "clada --help"}
    tmux.start("clear", columns, 2 * TALL)
    for name in HELP:
        shown = shown_by(tmux, lines.get(name, f"clada {name} --help"), name)
        assert shown == (SCREENS / f"help-{name}.txt").read_text(encoding="utf-8"), name


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_history_on_a_terminal_is_as_its_file(shell: Shell, tmux: Tmux, columns: int) -> None:
    shell.write("src/app.py", "old = 1\n")
    edit = '<---SEARCH file="src/app.py"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n'
    long = "".join(f'<---WRITE file="docs/a-long-name-{number}.md"--->\n<---END--->\n' for number in range(9))
    for document in (edit, edit, edit.replace("old", "new") + long):
        shell("--record=snapshots", document=document)
    shell("undo", "1")
    past = (datetime.now(UTC) - timedelta(days=3, hours=12)).isoformat()
    (database,) = shell.home.rglob("record.db")
    with sqlite3.connect(database) as db:
        db.execute("UPDATE runs SET started = ?", (past,))
    db.close()
    tmux.start("clear", columns, TALL)
    compare("history", columns, shown_by(tmux, "clada history"))


@pytest.mark.parametrize("columns", WIDTHS)
def test_approvals_on_a_terminal_are_as_their_file(shell: Shell, tmux: Tmux, columns: int) -> None:
    """The list, and the question with its explanation; the directory, which differs, is left out."""
    shell("approvals", "add", "npm test")
    shell("approvals", "add", "--network", "npm install")
    shell("approvals", "block", "npm publish")
    shell.write("answer.md", "<---RUN--->\npython3 -m pytest -q\n<---END--->\n")
    tmux.start("clear", columns, TALL)
    shown = shown_by(tmux, "clada approvals list")
    tmux.type("clear; clada --no-git --sandbox=off answer.md")
    tmux.until(lambda screen: screen.rstrip().endswith("[?]"))
    tmux.type("?")
    question = tmux.until(lambda screen: screen.count("[?]") > 1)
    tmux.type("n")
    before, _, after = question.partition("  directory:")
    shown += before + after[after.index("  because:") :].rstrip()
    compare("approvals", columns, f"{shown}\n")


@pytest.mark.parametrize("columns", WIDTHS)
def test_choosing_on_a_terminal_is_as_its_file(shell: Shell, tmux: Tmux, columns: int) -> None:
    old = "".join(f"line {number}\n" for number in range(1, 31))
    new = old.replace("line 3\n", "line three\n").replace("line 7\n", "line seven\n")
    new = new.replace("line 20\n", "line twenty\n")
    shell.write("a.txt", old)
    run = "<---RUN--->\npython3 -m pytest -q\n<---END--->\n"
    shell.write("answer.md", f'<---WRITE file="a.txt"--->\n{new}\n<---END--->\n{run}')
    tmux.start("clear; clada --no-git --confirm answer.md", columns, 2 * TALL)
    keys = "s?sygq"  # select, explain, split, yes, go to a number, leave out the rest
    for count, key in enumerate(keys, 1):
        tmux.until(lambda screen, count=count: screen.count("[?]") == count)  # type: ignore[misc]
        tmux.press(key)
        if key == "g":
            tmux.until(lambda screen: "Go to (1-4):" in screen)
            tmux.type("3")
    shown = tmux.until(lambda screen: screen.count("[?]") == len(keys) + 1)
    tmux.press("n")
    compare("choosing", columns, f"{shown.rstrip()}\n")
