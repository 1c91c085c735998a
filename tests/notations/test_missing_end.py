"""A WRITE or RUN whose END is missing: its content has the marker that opens the next operation."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clada

MARKERS = {
    "WRITE": ['<---WRITE file="b"--->', "<---WRITE--->", "<---WRITE file = 'b' x='1'---> \t"],
    "RUN": ["<---RUN--->", '<---RUN dir="d"--->'],
    "SEARCH": ['<---SEARCH file="b" count="all"--->'],
    "TASKS": ["<---TASKS--->", '<---TASKS version="2.0"--->'],
}
NO_MARKERS = [
    ' <---WRITE file="b"--->', '<---WRITE file="b"---> x', '<---WRITE file="b"', "<---WRITE file=b--->",
    "<---WRITER--->", "<---write--->", "<---REPLACE--->", "<---TO--->", "<---", "x <---RUN--->",
    "&lt;---RUN--->",
]  # fmt: skip


@pytest.mark.parametrize("operation", ["WRITE", "RUN"])
@pytest.mark.parametrize(("name", "line"), [(name, line) for name in MARKERS for line in MARKERS[name]])
def test_an_opening_marker_in_content_is_refused_and_its_line_named(
    operation: str, name: str, line: str, tmp_path: Path
) -> None:
    target = ' file="a"' if operation == "WRITE" else ""
    document = f"Text.\n<---{operation}{target}--->\nx\n{line}\n<---RUN--->\n<---END--->\n"
    plan = clada.parse(document)
    (problem,) = plan.problems
    message = f"line 4 starts another {name}: END is probably missing before it"
    assert (problem.message, problem.line, problem.type) == (message, 2, "invalid_operation")
    assert plan.blocks[0].operations[0].values()[problem_text(operation)] == f"x\n{line}\n<---RUN--->"
    report = clada.execute(document, workspace=tmp_path, git=False)
    assert not report.ok
    assert report.tasks[0].error
    assert report.tasks[0].error.hint == (
        'write END before line 4; if it is part of the content, add literal="true" to line 2'
    )
    assert not list(tmp_path.iterdir())


def problem_text(operation: str) -> str:
    return {"WRITE": "content", "RUN": "command"}[operation]


@pytest.mark.parametrize("line", NO_MARKERS)
def test_a_line_that_is_not_a_well_formed_opening_marker_is_content(line: str) -> None:
    plan = clada.parse(f'<---WRITE file="a"--->\n{line}\n<---END--->\n')
    assert plan.ok
    assert plan.blocks[0].operations[0].values()["content"] == line


def test_literal_says_that_the_lines_are_meant(tmp_path: Path) -> None:
    document = '<---WRITE file="a" literal="true"--->\n<---RUN--->\n<---END--->\n'
    report = clada.execute(document, workspace=tmp_path, git=False)
    assert (report.ok, report.notes) == (True, ())
    assert (tmp_path / "a").read_text() == "<---RUN--->\n"
    assert not clada.parse(document).blocks[0].operations[0].attributes


def test_literal_false_changes_nothing_and_other_values_are_wrong() -> None:
    document = '<---WRITE file="a" literal="{}"--->\n<---RUN--->\n<---END--->\n'
    messages = [problem.message for problem in clada.parse(document.format("false")).problems]
    assert messages == ["line 2 starts another RUN: END is probably missing before it"]
    messages = [problem.message for problem in clada.parse(document.format("yes")).problems]
    assert messages[0] == "Invalid value for 'literal': must be 'true' or 'false'"


def test_only_markers_with_the_delimiters_in_use_count() -> None:
    document = '[[WRITE file="a"]]\n<---RUN--->\n{}\n[[END]]\n'
    assert clada.parse(document.format("x"), start_delimiter="[[", end_delimiter="]]").ok
    plan = clada.parse(document.format("[[RUN]]"), start_delimiter="[[", end_delimiter="]]")
    (problem,) = plan.problems
    assert problem.message.startswith("line 3 starts another RUN")


def test_a_search_may_look_for_a_marker_and_gets_a_note() -> None:
    """Only WRITE and RUN would do something that was not meant: a search that is too long finds nothing."""
    plan = clada.parse('<---SEARCH file="a"--->\n<---RUN--->\n<---REPLACE--->\nx\n<---END--->\n')
    assert plan.ok
    assert plan.notes == ("Line 2 is in the content of SEARCH: is an END missing before it?",)


OPERATION = st.sampled_from([
    '<---WRITE file="{}.txt"--->\nlines\n\nof text',
    '<---WRITE file="{}.txt"--->\n',
    '<---WRITE file="{}.txt" append="true"--->\nx',
    "<---RUN--->\ntouch {}.txt",
])  # fmt: skip


@given(operations=st.lists(OPERATION, min_size=2, max_size=5), data=st.data(), block=st.booleans())
@settings(max_examples=25, deadline=None)
def test_whichever_end_is_missing_no_marker_is_written_and_no_command_run(
    operations: list[str], data: st.DataObject, block: bool
) -> None:
    """What is carried out is what was meant: other operations, as they are with all ENDs."""
    gap = data.draw(st.integers(0, len(operations) - 2))
    texts = [text.format(f"file{number}") for number, text in enumerate(operations)]
    ended = [text if number == gap else f"{text}\n<---END--->" for number, text in enumerate(texts)]
    document = "\n".join(ended) + "\n"
    if block:
        document = f"<---TASKS--->\n{document}<---END--->\n"
    with tempfile.TemporaryDirectory() as folder:
        report = clada.execute(document, workspace=folder, git=False)
        files = {path.name: path.read_text() for path in Path(folder).iterdir()}
    assert not report.ok
    assert not any("<---" in content for content in files.values())
    expected = set() if block else {f"file{n}.txt" for n in range(len(operations)) if n not in (gap, gap + 1)}
    assert files.keys() == expected
