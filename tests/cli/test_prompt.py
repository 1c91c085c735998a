"""`clada prompt`: short, complete, made from the parser's tables, and with examples that work."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import clada
from clada import grammar
from clada.cli.flags import COMMANDS
from clada.cli.prompt import prompt
from clada.commands.programs import ALLOWED, BUILT_IN
from clada.notations import csl
from clada.operations import OPERATIONS, find

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

NOTATIONS = pytest.mark.parametrize("notation", COMMANDS["prompt"].words)
MOST_WORDS = 700


@NOTATIONS
def test_every_example_is_carried_out(notation: str, tmp_path: Path) -> None:
    """The prompt is itself a document: all its examples, in their order, start from an empty workspace."""
    plan = clada.parse(prompt(notation))
    assert (plan.notation, plan.fatal, plan.problems) == (notation, None, ())
    report = clada.execute(plan, workspace=str(tmp_path), git=False)
    assert [task.error for task in report.tasks if task.status != "success"] == []
    assert report.ok


@NOTATIONS
def test_there_is_an_example_of_each_operation(notation: str) -> None:
    plan = clada.parse(prompt(notation))
    shown = {operation.name for block in plan.blocks for operation in block.operations}
    known = {"write", "edit", "run"} if notation == "csl" else set(OPERATIONS)
    assert shown == known
    ranges = [
        operation
        for block in plan.blocks
        for operation in block.operations
        if "search_start" in operation.values()
    ]
    assert len(ranges) == 1


@NOTATIONS
def test_it_is_short(notation: str) -> None:
    assert len(prompt(notation).split()) < MOST_WORDS


@NOTATIONS
def test_nothing_is_left_open(notation: str) -> None:
    assert re.findall(r"@[A-Z_]+@", prompt(notation)) == []


@NOTATIONS
def test_it_names_all_commands_that_run_without_asking(notation: str) -> None:
    text = prompt(notation)
    subcommands = {name.split()[1] for name in ALLOWED if name.startswith("git ")}
    names = [*BUILT_IN, *(name for name in ALLOWED if not name.startswith("git ")), *subcommands]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@NOTATIONS
def test_it_names_the_mistakes_and_how_to_repair_them(notation: str) -> None:
    text = prompt(notation)
    for words in ("letter for letter", "wrong count", "cut off", "There is no shell", "found 0 matches"):
        assert words in text


def test_it_names_the_markers_and_versions_that_the_parser_knows() -> None:
    text = prompt("csl")
    assert [name for name in (*csl.OPENING, *csl.CLOSING) if name not in text] == []
    assert f'version="{grammar.CSL_VERSIONS[-1]}"' in text
    assert f'version="{grammar.BLOCK_VERSIONS[-1]}"' in prompt("cml")


@pytest.mark.parametrize("notation", ["json", "toml"])
def test_it_names_the_fields_that_the_parser_knows(notation: str) -> None:
    text = prompt(notation)
    fields = {field.name for kind in map(find, OPERATIONS) if kind for field in kind.fields}
    assert [name for name in fields if not re.search(rf"\b{name}\b", text)] == []


def test_csl_is_the_default(shell: Shell) -> None:
    done = shell("prompt")
    assert (done.returncode, done.stdout, done.stderr) == (0, prompt("csl"), "")


def test_it_speaks_of_the_delimiters_that_are_configured(shell: Shell, tmp_path: Path) -> None:
    shell.configure('start_delimiter = "@@@"\nend_delimiter = "%%%"\n')
    text = shell("prompt").stdout
    assert '@@@WRITE file="src/greet.py"%%%' in text
    assert grammar.START_DELIMITER not in text
    plan = clada.parse(text, start_delimiter="@@@", end_delimiter="%%%")
    (tmp_path / "new").mkdir()
    assert clada.execute(plan, workspace=str(tmp_path / "new"), git=False).ok
