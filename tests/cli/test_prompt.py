"""`clada prompt`: short, complete, made from the parser's tables, and with examples that work."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.messages import joined

import clada
from clada import grammar
from clada.cli.flags import COMMANDS
from clada.commands.programs import ALLOWED, BUILT_IN
from clada.notations import csl
from clada.operations import OPERATIONS, find
from clada.prompts import prompt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

NOTATIONS = pytest.mark.parametrize("notation", COMMANDS["prompt"].words)
NATIVE = pytest.mark.parametrize("notation", ["csl", "cml", "json", "toml"])
FOR_FEW = "insert_line hunks near match whole_lines final_newline if_exists".split()
MOST_WORDS = 800
# What each dialect has words for, of the operations that its prompt shows.
SHOWN = {"sr": {"write", "edit"}, "v4a": {"write", "edit", "move", "remove"}, "whole": {"write"}}
# What people got wrong with the prompts that there were, by notation.
MENDED = {
    "csl": (
        "line break before a marker never counts",
        'literal="true"',
        "delete a whole line",
        "END marker",
        "may be left out",
    ),
    "cml": ("delete a whole line", "`&&` need CDATA", "]]&gt;", "may be left out"),
    "json": ("delete a whole line", "`\\\\b`", "may be left out"),
    "toml": ("delete a whole line", "A text with `'''`", "may be left out", "`# end`"),
}


@NOTATIONS
def test_every_example_is_carried_out(notation: str, tmp_path: Path) -> None:
    """The prompt is itself a document: all its examples, in their order, start from an empty workspace."""
    plan = clada.parse(prompt(notation))
    assert (plan.notation, plan.fatal, plan.problems) == (notation, None, ())
    report = clada.execute(plan, workspace=str(tmp_path), git=False)
    assert [task.error for task in report.tasks if task.status != "success"] == []
    assert report.ok


@NOTATIONS
def test_a_document_that_is_a_prompt_is_not_carried_out(notation: str, shell: Shell) -> None:
    """Nor with a question below it, nor with the line ends and without the sign that a chat leaves it."""
    text = f"{prompt(notation)}\nNow write the tests.\n"
    for document in (text, text.removeprefix("# ").replace("\n", "\r\n")):
        done = shell("--no-git", document=document)
        assert (done.returncode, done.stdout) == (1, "")
        assert joined(done.stderr) == (
            "clada: the document is a prompt of clada, not an answer: nothing was executed; clada FILE\n"
        )
    assert list(shell.workspace.iterdir()) == []


def test_an_answer_that_quotes_a_prompt_is_carried_out(shell: Shell) -> None:
    content = prompt("json")
    assert shell("--no-git", document=f'<---WRITE file="a.md"--->\n{content}\n<---END--->\n').returncode == 0
    assert (shell.workspace / "a.md").read_text() == content


@NOTATIONS
def test_a_count_is_only_told_of_where_there_are_words_for_it(notation: str) -> None:
    assert ("give the count" in prompt(notation)) == (notation not in SHOWN)


@pytest.mark.parametrize("dialect", SHOWN)
def test_there_is_an_example_of_what_a_dialect_can_say(dialect: str) -> None:
    plan = clada.parse(prompt(dialect))
    assert {operation.name for block in plan.blocks for operation in block.operations} == SHOWN[dialect]
    for words in (
        '"..."',
        "committed",
        "four backticks" if dialect != "v4a" else "letter for letter",
        "Fatal",
    ):
        assert words in prompt(dialect)


@NATIVE
def test_it_says_what_was_asked_for(notation: str) -> None:
    text = " ".join(prompt(notation).split())
    common = ("on a new line where the last one has no line break", "in quotes `*` is a plain character",
              "`grep` without a match", "committed")  # fmt: skip
    assert [words for words in (*common, *MENDED[notation]) if words not in text] == []


def test_a_whole_line_is_deleted_as_the_prompt_says(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ngreet() is in src/greet.py\ntwo\n")
    text = prompt("csl")
    start = text.index('<---SEARCH file="notes.txt"')
    assert clada.execute(text[start : text.index("TASKS groups")], workspace=str(tmp_path), git=False).ok
    assert (tmp_path / "notes.txt").read_text() == "one\ntwo\n"


def test_a_line_that_looks_like_end_is_written_as_the_prompt_says(tmp_path: Path) -> None:
    text = (
        '<---WRITE file="a.md"--->\nx\n<---FINISH--->\ny\n<---END--->\n'
        '<---SEARCH file="a.md"--->\nFINISH\n<---REPLACE--->\nEND\n<---END--->\n'
    )
    assert clada.execute(text, workspace=str(tmp_path), git=False).ok
    assert (tmp_path / "a.md").read_text() == "x\n<---END--->\ny\n"


@NOTATIONS
def test_it_lists_what_is_approved_in_the_workspace(notation: str, shell: Shell) -> None:
    shell("approvals", "add", "npm test")
    shell("approvals", "add", "make check")
    shell("approvals", "block", "make check")
    text = shell("prompt", notation).stdout
    assert "Approved here: `npm test`." in " ".join(text.split())
    assert "make check" not in text
    assert "Approved here" not in prompt(notation)


@NATIVE
def test_there_is_an_example_of_each_operation(notation: str) -> None:
    plan = clada.parse(prompt(notation))
    shown = {operation.name for block in plan.blocks for operation in block.operations}
    known = {"write", "edit", "run"} if notation == "csl" else set(OPERATIONS) - {"read"}  # told in a line
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


@NATIVE
def test_it_names_all_commands_that_run_without_asking(notation: str) -> None:
    text = prompt(notation)
    subcommands = {name.split()[1] for name in ALLOWED if name.startswith("git ")}
    names = [*BUILT_IN, *(name for name in ALLOWED if not name.startswith("git ")), *subcommands]
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@NATIVE
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
    """But those that few answers need: a prompt is short."""
    text = prompt(notation)
    fields = {field.name for kind in map(find, OPERATIONS) if kind for field in kind.fields}
    assert [name for name in fields if not re.search(rf"\b{name}\b", text) and name not in FOR_FEW] == []


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
