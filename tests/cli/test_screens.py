"""Screens in files: the help of every command, as it is printed. If a text changes, so does its file."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from pathlib import Path

import pytest

from clada.cli.flags import COMMANDS
from clada.cli.help import FIRST_SCREEN, command_help

SCREENS = Path(__file__).with_name("screens")
HELP = {"short": FIRST_SCREEN, "all": command_help(None), **{name: command_help(name) for name in COMMANDS}}
ROWS, COLUMNS = 24, 80


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
