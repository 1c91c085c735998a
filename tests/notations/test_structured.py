"""From tasks to operations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clada
from clada.model import Operation
from clada.notations.structured import INSERTION, OTHER, RawTask, operation

NAMES = """
    path content append search find replace count search_start search_end from to command cmd dir why
    match near whole_lines final_newline if_exists insert_line hunks
""".split()
HUNKS = [RawTask(5, 6, {"search": ("a", 5), "replace": ("b", 6)}), RawTask(7, 8, None), RawTask(8, 9, {})]
PLAIN = ["a", "", "all", "a\0", "a\nb", "x" * 5_000, 1, 0, -1, 10**18, 1.0, True, OTHER, "blanks", "guard"]
VALUES = st.sampled_from([*PLAIN, HUNKS[:1], HUNKS, []])
ACTIONS = st.sampled_from(["write", "edit", "move", "remove", "run"])
NEEDED = {
    "write": ("path", "content"),
    "edit": ("path", "search", "replace"),
    "move": ("from", "to"),
    "remove": ("path",),
    "run": ("command",),
}


@given(
    action=ACTIONS, fields=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4), whole=st.booleans()
)
def test_a_task_is_an_operation_or_says_what_is_wrong_with_it(
    action: str, fields: dict[str, Any], whole: bool
) -> None:
    """Whatever its fields are."""
    given_fields = {**dict.fromkeys(NEEDED[action], "a"), **fields} if whole else fields
    members = {name: (value, 5) for name, value in {"action": action, **given_fields}.items()}
    made = operation(RawTask(3, 9, members), b"0123456789", 2, 1)
    assert isinstance(made, Operation) != bool(made.problems)


def test_a_task_with_what_it_needs_is_an_operation() -> None:
    """Texts of other names are its attributes."""
    for action, needed in NEEDED.items():
        members = dict.fromkeys(needed, ("a", 5)) | {"action": (action, 5), "why": ("b", 6), "n": (1, 7)}
        made = operation(RawTask(3, 9, members), b"0123456789", 2, 1)
        assert isinstance(made, Operation)
        assert made.attributes == {"why": "b"}


def test_a_task_without_a_known_action_is_invalid() -> None:
    """No action, an unknown one, one that is no text, or no object at all."""
    for members in (None, {}, {"action": ("delete", 5)}, {"action": (OTHER, 5)}, {"path": ("a", 5)}):
        assert operation(RawTask(3, 9, members), b"0123456789", 2, 1).problems


def problems(task: str) -> list[tuple[int | None, str | None, str]]:
    """Return what is wrong with an edit, whose fields stand on lines of their own from line 2 on."""
    plan = clada.parse('{"tasks": [{"action": "edit", "path": "a",\n' + task + "\n}]}")
    return [(problem.line, problem.field, problem.message) for problem in plan.problems]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ('"search": "a", "replace": "b", "match": "fuzzy"', [
            (2, "match", "Invalid value for 'match': must be 'exact', 'blanks' or 'typographic'")]),
        ('"search": "a", "replace": "b", "near": 0', [
            (2, "near", "Invalid value for 'near': must be a positive integer")]),
        ('"search": "a", "replace": "b", "whole_lines": "yes"', [
            (2, "whole_lines", "Invalid value for 'whole_lines': must be a boolean")]),
        ('"insert_line": -1, "content": "x"', [
            (2, "insert_line", "Invalid value for 'insert_line': must be 0 or a positive integer")]),
        ('"insert_line": 3', [(1, "content", "Missing required field 'content'")]),
        ('"insert_line": 3, "content": "x", "search": "y"', [
            (2, "search", "'search' and 'insert_line' exclude each other: give one of the two")]),
        ('"hunks": []', [(2, "hunks", "Invalid value for 'hunks': must be a list of objects")]),
        ('"hunks": "a"', [(2, "hunks", "Invalid value for 'hunks': must be a list of objects")]),
        ('"hunks": {"search": "a"}', [(2, "hunks", "Invalid value for 'hunks': must be a list of objects")]),
        ('"hunks": [{"search": "a", "replace": ""}],\n"find": "b"', [
            (3, "find", "'find' and 'hunks' exclude each other: give one of the two")]),
        ('"hunks": [{"search": "a", "replace": ""}],\n"count": 2', [
            (3, "count", "'count' and 'hunks' exclude each other: give one of the two")]),
        ('"hunks": [\n{"search": "a"},\n7,\n{"replace": "b",\n"anchors": "c"}]', [
            (3, "hunks", "Hunk 1: Missing required field 'replace'"),
            (4, "hunks", "Hunk 2: must be an object"),
            (6, "hunks", "Hunk 3: Invalid value for 'anchors': must be a list of lines")]),
        ('"hunks": [\n{"replace": "b"}]', [
            (3, "hunks", f"Hunk 1: {INSERTION}")]),
        ('"hunks": [\n{"replace": "b", "at_end": true,\n"insert_line": 3}]', [
            (3, "hunks", "Hunk 1: 'at_end' and 'insert_line' exclude each other: give one of the two")]),
        ('"hunks": [{"search": "a", "replace": "b", "anchors": ["c\\nd"]}]', [
            (2, "hunks", "Hunk 1: Invalid value for 'anchors': must be a list of lines")]),
    ],
)  # fmt: skip
def test_problems_of_hunks_are_reported_with_their_line(
    task: str, expected: list[tuple[int | None, str | None, str]]
) -> None:
    """That of the field, or of the hunk."""
    assert problems(task) == expected


@pytest.mark.usefixtures("low_limits")
def test_hunks_are_bounded_as_tasks_are() -> None:
    """Neither deep nor many ones cost time or memory; here the limit is a hundredth of the real one."""
    deep = '{"tasks": [{"action": "edit", "hunks": [' + '{"hunks": [' * 40
    many = '{"tasks": [{"action": "edit", "hunks": [' + "{}," * 10_000
    assert "Nested more than 32 deep" in str(clada.parse(deep).fatal)
    assert "More than 10,000 values" in str(clada.parse(many).fatal)


def test_the_content_of_an_edit_without_insert_line_is_ignored() -> None:
    """It is a field only beside `insert_line`."""
    plan = clada.parse(
        '{"tasks": [{"action": "edit", "path": "a", "find": "b", "replace": "c", "content": "d"}]}'
    )
    assert plan.blocks[0].operations[0].attributes == {"content": "d"}
