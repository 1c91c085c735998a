"""JSON: what is read from a `tasks` list, what is refused, and that no text is too much."""

from __future__ import annotations

import json as standard
import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.model import Invalid, Operation, Plan
from clada.notations import json, parse
from clada.notations.json_values import ValueReader
from clada.notations.structured import MAX_DEPTH, MAX_TASKS, MAX_VALUES, OTHER, MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.notations.conftest import Steps

MB = 1 << 20


def document(*tasks: Any, **more: Any) -> bytes:
    """Return a document of one block."""
    return standard.dumps({"tasks": tasks, **more}).encode()


def only(plan: Plan) -> Operation | Invalid:
    """Return the one operation of a plan."""
    (block,) = plan.blocks
    (operation,) = block.operations
    return operation


def complaints(plan: Plan) -> list[str]:
    """Return what is wrong with the operations of a plan."""
    return [problem.message for problem in plan.problems]


def fatal(text: bytes) -> str:
    """Return why a text cannot be read."""
    plan = json.read(text)
    assert plan.fatal, "expected a fatal problem"
    return plan.fatal.message


# What is read


def test_the_specifications_example_is_one_block_of_two_operations() -> None:
    """The specifications example is one block of two operations."""
    text = (
        b'{"tasks": [{"action": "edit", "path": "app.js", "find": "old", "replace": "new"},'
        b' {"action": "run", "cmd": "npm test"}]}'
    )
    plan = json.read(text)
    (block,) = plan.blocks
    assert plan.ok
    assert not block.implicit
    assert [operation.values() for operation in block.operations] == [
        {"path": "app.js", "search": "old", "replace": "new", "count": 1},
        {"command": "npm test"},
    ]


VALID: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "write": ({"path": "a", "content": "x\n"}, {"path": "a", "content": "x\n", "append": False}),
    "write, empty": ({"path": "a", "content": ""}, {"path": "a", "content": "", "append": False}),
    "write, append": (
        {"path": "a", "content": "x", "append": True},
        {"path": "a", "content": "x", "append": True},
    ),
    "edit": (
        {"path": "a", "search": "x", "replace": ""},
        {"path": "a", "search": "x", "replace": "", "count": 1},
    ),
    "edit, count": (
        {"path": "a", "find": "x", "replace": "y", "count": 3},
        {"path": "a", "search": "x", "replace": "y", "count": 3},
    ),
    "edit, all": (
        {"path": "a", "search": "x", "replace": "y", "count": "all"},
        {"path": "a", "search": "x", "replace": "y", "count": "all"},
    ),
    "edit, range": (
        {"path": "a", "search_start": "x", "search_end": "y", "replace": "z"},
        {"path": "a", "search_start": "x", "search_end": "y", "replace": "z", "count": 1},
    ),
    "move": ({"from": "a", "to": "b"}, {"from": "a", "to": "b"}),
    "remove": ({"path": "a"}, {"path": "a"}),
    "run": ({"command": "make"}, {"command": "make"}),
    "run, dir": ({"cmd": "make", "dir": "sub"}, {"command": "make", "dir": "sub"}),
}


@pytest.mark.parametrize("name", VALID)
def test_each_operation_has_its_fields_under_their_names_with_defaults(name: str) -> None:
    """Each operation has its fields under their names with defaults."""
    given_fields, expected = VALID[name]
    operation = only(json.read(document({"action": name.split(",", maxsplit=1)[0], **given_fields})))
    assert operation.problems == ()
    assert operation.values() == expected


def test_unknown_fields_are_attributes_if_they_are_texts_and_otherwise_ignored() -> None:
    """Unknown fields are attributes if they are texts and otherwise ignored."""
    task = {"action": "remove", "path": "a", "why": "old", "n": 1, "list": [1, {"a": []}], "content": "x"}
    operation = only(json.read(document(task)))
    assert operation.attributes == {"why": "old", "content": "x"}
    assert operation.values() == {"path": "a"}
    assert operation.problems == ()


def test_a_list_of_objects_is_several_blocks_each_with_its_version_and_line() -> None:
    """A list of objects is several blocks each with its version and line."""
    text = b'[{"tasks": [],\n"version": "1.0"},\n{"note": "x", "tasks": [{"action": "remove", "path": "a"}]}]'
    plan = json.read(text)
    assert [(block.line, block.version, len(block.operations)) for block in plan.blocks] == [
        (1, "1.0", 0),
        (3, None, 1),
    ]


def test_operations_know_their_line_and_their_source() -> None:
    """Operations know their line and their source."""
    text = b'{"tasks": [\n {"action": "remove", "path": "a"},\n\n {"action": "remove", "path": "b"} \n]}'
    operations = json.read(text).blocks[0].operations
    assert [operation.line for operation in operations] == [2, 4]
    assert [text[slice(*operation.span)] for operation in operations] == [
        b'{"action": "remove", "path": "a"}',
        b'{"action": "remove", "path": "b"}',
    ]


def test_a_plan_is_printed_as_specified() -> None:
    """A plan is printed as specified."""
    plan = json.read(
        b'{"tasks": [\n{"action": "write", "path": "a", "content": "x", "why": "y"},\n{"action": "run"}]}'
    )
    assert plan.to_dict() == {
        "schema": "clada.plan/1",
        "notation": "json",
        "fatal": None,
        "problems": [
            {
                "line": 3,
                "operation": "run",
                "type": "invalid_operation",
                "message": "Missing required field 'command'",
                "field": "command",
                "block_line": 1,
            }
        ],
        "blocks": [
            {
                "line": 1,
                "version": None,
                "implicit": False,
                "operations": [
                    {
                        "operation": "write",
                        "line": 2,
                        "path": "a",
                        "content": "x",
                        "append": False,
                        "attributes": {"why": "y"},
                    },
                    {"operation": "run", "line": 3},
                ],
            }
        ],
    }


# Where it is found

REMOVE = '{"tasks": [{"action": "remove", "path": "a"}]}'
PLACES = {
    "bare": (REMOVE, 1),
    "bare, blanks before": (f" \n\t{REMOVE}", 1),
    "bare, prose after": (f"{REMOVE}\nThat is all: [1] {{x}}.", 1),
    "bare, fence after": (f"{REMOVE}\n```json\n{REMOVE}\n```", 2),
    "fence": (f"Hello\n```json\n{REMOVE}\n```\nbye", 1),
    "fence, upper case": (f"```JSON\n{REMOVE}\n```", 1),
    "fence, tildes": (f"~~~json\n{REMOVE}\n~~~", 1),
    "fence, longer": (f"`````json\n{REMOVE}\n`````", 1),
    "fence, more words": (f"```json title=x\n{REMOVE}\n```", 1),
    "fence, blank before the tag": (f"``` json\n{REMOVE}\n```", 1),
    "fence, in a list": (f"1. do\n   ```json\n   {REMOVE}\n   ```\n", 1),
    "fence, as a list item": (f"- ```json\n  {REMOVE}\n  ```\n", 1),
    "fence, unclosed": (f"```json\n{REMOVE}\n", 1),
    "fences": (f"```json\n{REMOVE}\n```\nand\n~~~json\n[{REMOVE}, {REMOVE}]\n~~~\n", 3),
    "other fences ignored": (f'```json\n{{"a": 1}}\n```\n```json\n{REMOVE}\n```\n```js\n{REMOVE}\n```', 1),
    "prose that starts with a bracket": (f"[1] see\n```json\n{REMOVE}\n```", 1),
}


@pytest.mark.parametrize("name", PLACES)
def test_operations_are_found_in_the_text_or_in_fences(name: str) -> None:
    """Operations are found in the text or in fences."""
    text, expected = PLACES[name]
    plan = parse(text)
    assert plan.notation == "json"
    assert plan.fatal is None
    assert sum(len(block.operations) for block in plan.blocks) == expected


NO_SIGN = {
    "no tasks key": '{"task": []}',
    "tasks as a value": '{"a": "tasks"}',
    "tasks within a text": r'{"a": "\"tasks\": []"}',
    "prose before": f"Hello {REMOVE}",
    "another tag": f"```jsonc\n{REMOVE}\n```",
    "a fence within a line": f"see ```json\n{REMOVE}\n```",
    "a scalar in the fence": '```json\n"tasks":\n```',
}


@pytest.mark.parametrize("name", NO_SIGN)
def test_other_texts_show_no_sign(name: str) -> None:
    """Other texts show no sign."""
    assert json.sign(NO_SIGN[name].encode()) is None


def test_the_sign_is_where_the_value_starts() -> None:
    """The sign is where the value starts."""
    assert json.sign(b" " + REMOVE.encode()) == 1
    assert json.sign(b"a\n```json\n" + REMOVE.encode() + b"\n```") == 10


# What is wrong with one operation

INVALID: dict[str, tuple[Any, list[str]]] = {
    "no action": ({"path": "a"}, ["Missing required field 'action'"]),
    "empty action": ({"action": ""}, ["Missing required field 'action'"]),
    "action of another type": ({"action": 1}, ["Invalid value for 'action': must be a string"]),
    "unknown action": ({"action": "delete", "path": "a"}, ["Unknown action: delete"]),
    "no object": ("remove a", ["Invalid task: must be an object with an 'action'"]),
    "write without fields": (
        {"action": "write"},
        ["Missing required field 'path'", "Missing required field 'content'"],
    ),
    "empty path": ({"action": "remove", "path": ""}, ["Missing required field 'path'"]),
    "path of another type": (
        {"action": "remove", "path": ["a"]},
        ["Invalid value for 'path': must be a string"],
    ),
    "path with NUL": (
        {"action": "remove", "path": "a\0b"},
        ["Invalid value for 'path': must not contain a NUL character"],
    ),
    "path with a line break": (
        {"action": "move", "from": "a\nb", "to": "c\rd"},
        [
            "Invalid value for 'from': must not contain a line break",
            "Invalid value for 'to': must not contain a line break",
        ],
    ),
    "append of another type": (
        {"action": "write", "path": "a", "content": "", "append": "true"},
        ["Invalid value for 'append': must be a boolean"],
    ),
    "content of another type": (
        {"action": "write", "path": "a", "content": None},
        ["Invalid value for 'content': must be a string"],
    ),
    "no search": (
        {"action": "edit", "path": "a"},
        ["Missing required field 'search'", "Missing required field 'replace'"],
    ),
    "empty search": (
        {"action": "edit", "path": "a", "find": "", "replace": ""},
        ["Empty search text not allowed"],
    ),
    "search twice": (
        {"action": "edit", "path": "a", "search": "x", "find": "x", "replace": ""},
        ["'search' and 'find' are the same field: give one of them"],
    ),
    "search and range": (
        {"action": "edit", "path": "a", "search": "x", "search_start": "a", "search_end": "b", "replace": ""},
        ["'search' and 'search_start' with 'search_end' exclude each other: give one of the two"],
    ),
    "half a range": (
        {"action": "edit", "path": "a", "search_start": "a", "replace": ""},
        ["Missing required field 'search_end'"],
    ),
    "the other half": (
        {"action": "edit", "path": "a", "search_end": "a", "replace": ""},
        ["Missing required field 'search_start'"],
    ),
    "empty range": (
        {"action": "edit", "path": "a", "search_start": "", "search_end": "", "replace": ""},
        ["Empty search_start text not allowed", "Empty search_end text not allowed"],
    ),
    "empty command": ({"action": "run", "cmd": ""}, ["Empty command not allowed"]),
    "command twice": (
        {"action": "run", "cmd": "a", "command": "b"},
        ["'cmd' and 'command' are the same field: give one of them"],
    ),
    "command of another type": (
        {"action": "run", "cmd": ["a"]},
        ["Invalid value for 'cmd': must be a string"],
    ),
    "dir of another type": (
        {"action": "run", "cmd": "a", "dir": 1},
        ["Invalid value for 'dir': must be a string"],
    ),
    "all at once, in order": (
        {"replace": 1, "search": 2, "count": 0, "action": "edit"},
        [
            "Missing required field 'path'",
            "Invalid value for 'count': must be positive integer or 'all'",
            "Invalid value for 'search': must be a string",
            "Invalid value for 'replace': must be a string",
        ],
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_operation_is_listed_with_its_problems(name: str) -> None:
    """What is wrong with an operation is said and the operation is listed."""
    task, expected = INVALID[name]
    plan = json.read(document(task))
    assert plan.fatal is None
    assert complaints(plan) == expected
    assert {problem.type for problem in plan.problems} == {"invalid_operation"}
    assert len(plan.blocks[0].operations) == 1


@pytest.mark.parametrize("count", [0, -1, 1.0, "1", "ALL", True, None, [1], 1e400])
def test_a_count_is_a_positive_integer_or_all(count: Any) -> None:
    """A count is a positive integer or all."""
    task = {"action": "edit", "path": "a", "search": "x", "replace": "y", "count": count}
    plan = json.read(document(task).replace(b"Infinity", b"1e400"))
    assert complaints(plan) == ["Invalid value for 'count': must be positive integer or 'all'"]
    assert only(plan).values() == {"path": "a", "search": "x", "replace": "y"}


def test_an_operation_of_an_unknown_action_is_listed_with_its_name_and_fields() -> None:
    """An operation of an unknown action is listed with its name and fields."""
    operation = only(json.read(document({"action": "delete", "path": "a", "cmd": 1, "why": "x"})))
    assert operation.name == "delete"
    assert operation.values() == {"path": "a"}
    assert operation.attributes == {"why": "x"}


def test_a_problem_names_the_line_of_the_field_or_else_of_the_task() -> None:
    """A problem names the line of the field or else of the task."""
    text = b'{"tasks": [\n{\n"count": 0,\n"find": 3, "action":\n"edit", "path": "a"}]}'
    problems = json.read(text).problems
    assert [(problem.field, problem.line, problem.operation, problem.block_line) for problem in problems] == [
        ("count", 3, "edit", 1),
        ("find", 4, "edit", 1),
        ("replace", 2, "edit", 1),
    ]


# What stops the reading

FATAL = {
    '{"tasks": 3}': "Line 1, column 11: Expected a list of tasks",
    '{"tasks": {"action": "run"}}': "Line 1, column 11: Expected a list of tasks",
    '[{"tasks": []}, 3]': "Line 1, column 17: Expected an object with a 'tasks' list",
    '{"a": {"tasks": []}}': "Line 1, column 1: Expected an object with a 'tasks' list",
    '{"tasks": [{"action": "run"\n "cmd": "x"}]}': "Line 2, column 2: Expected ',' or '}'",
    '{"tasks": [1 2]}': "Line 1, column 14: Expected ',' or ']'",
    '{"tasks": [{"a" 1}]}': "Line 1, column 17: Expected ':'",
    '{"tasks": [{a: 1}]}': "Line 1, column 13: Expected a key in double quotes",
    '{"tasks": [{"a": 1,\n}]}': "Line 2, column 1: A comma must not stand before '}'",
    '{"tasks": [1,]}': "Line 1, column 14: A comma must not stand before ']'",
    "{\"tasks\": ['a']}": "Line 1, column 12: Expected a value: strings stand in double quotes",
    '{"tasks": [\n// no\n]}': "Line 2, column 1: Expected a value: JSON has no comments",
    '{"tasks": [NaN]}': "Line 1, column 12: Expected a value: NaN is not JSON",
    '{"tasks": [Infinity]}': "Line 1, column 12: Expected a value: Infinity is not JSON",
    '{"tasks": [-Infinity]}': "Line 1, column 12: Expected a value: a number needs a digit",
    '{"tasks": [True]}': "Line 1, column 12: Expected a value",
    '{"tasks": [?]}': "Line 1, column 12: Expected a value",
    '{"tasks": [nulL]}': "Line 1, column 12: Expected a value",
    '{"tasks": [012]}': "Line 1, column 13: Expected ',' or ']'",
    '{"tasks": [{"é": "\\x"}]}': r"Line 1, column 19: Invalid escape in a string: a backslash is written \\",
    '{"tasks": ["a\nb"]}': r"Line 1, column 14: Line break in a string: write \n",
    '{"tasks": ["a\tb"]}': r"Line 1, column 14: Control character in a string: write \u0009",
    '{"tasks": [\n"\\ud800"]}': r"Line 2, column 2: Lone surrogate \ud800 in a string",
    '{"tasks": ["\\ud800\\u0041"]}': r"Line 1, column 13: Lone surrogate \ud800 in a string",
    '{"tasks": ["\\uDC00\\uD800"]}': r"Line 1, column 13: Lone surrogate \uDC00 in a string",
    '{"tasks": [{"path": "a",\n"path": "a"}]}': "Line 2, column 1: Duplicate key 'path'",
    '{"tasks": [{"path": "a",\n"p\\u0061th": "a"}]}': "Line 2, column 1: Duplicate key 'path'",
    '{"tasks": [],\n"tasks": []}': "Line 2, column 1: Duplicate key 'tasks'",
    '{"tasks": [], "x": [{"a": 1, "a": 2}]}': "Line 1, column 30: Duplicate key 'a'",
    '{"tasks": []} {"tasks": []}': (
        "Line 1, column 15: Expected the end of the JSON: several blocks stand in one list, [{…}, {…}]"
    ),
    '{"tasks": []}]': (
        "Line 1, column 14: Expected the end of the JSON: several blocks stand in one list, [{…}, {…}]"
    ),
    'é\n```json\n{"tasks": é}\n```': "Line 3, column 11: Expected a list of tasks",
    '{"tasks": [],\n"version": "3.0"}': "Line 2: Unsupported version: 3.0",
    '{"version": 1.0, "tasks": []}': "Line 1: Unsupported version: 1.0 (must be a string)",
    '{"version": null, "tasks": []}': "Line 1: Unsupported version: a value (must be a string)",
}


@pytest.mark.parametrize("text", FATAL)
def test_a_text_that_cannot_be_read_is_refused_with_its_place(text: str) -> None:
    """A text that cannot be read is refused with its place."""
    plan = json.read(text.encode())
    assert plan.fatal
    assert plan.fatal.message == FATAL[text]
    version = "Unsupported version" in plan.fatal.message
    assert plan.fatal.type == ("unsupported_version" if version else "malformed_json")
    assert f"Line {plan.fatal.line}" in plan.fatal.message
    assert version or f"column {plan.fatal.column}:" in plan.fatal.message


def test_the_version_of_a_block_is_one_of_those_of_cml() -> None:
    """The version of a block is one of those of cml."""
    for version in ("0.0.1", "1.0", "1.0.0", "1.1"):
        assert json.read(document(version=version)).blocks[0].version == version


ONE = '{"tasks": [{"action": "remove", "path": "a"}'
CUT_OFF = {
    ONE: "Line 1, column 45: Unexpected end of text, expected ',' or ']'; 1",
    ONE + ", ": "Line 1, column 47: Unexpected end of text, expected a value; 1",
    ONE + ', {"ac': "Line 1, column 48: Unterminated string; 1",
    ONE + ', {"a": "x\\': "Line 1, column 53: Unterminated string; 1",
    ONE + ', {"a": "x\\ud83d\\ude': "Line 1, column 53: Unterminated string; 1",
    ONE + ', {"a": tr': "Line 1, column 55: Unexpected end of text, expected a value; 1",
    f"```json\n{ONE}, {ONE[11:]},\n{{\n```\nThat is it": (
        "Line 4, column 1: Unexpected end of text, expected a key in double quotes; 2"
    ),
    '{"tasks"': "Line 1, column 9: Unexpected end of text, expected ':'; 0",
}


@pytest.mark.parametrize("text", CUT_OFF)
def test_of_an_answer_that_was_cut_off_the_complete_operations_are_counted_and_kept(text: str) -> None:
    """Of an answer that was cut off the complete operations are counted and kept."""
    plan = json.read(text.encode())
    assert plan.fatal
    complete = sum(len(block.operations) for block in plan.blocks)
    noun = "operation" if complete == 1 else "operations"
    assert plan.fatal.message == f"{CUT_OFF[text]} complete {noun} came before it"
    assert CUT_OFF[text].endswith(f"; {complete}")


def test_cutting_an_answer_anywhere_is_noticed_and_never_adds_an_operation() -> None:
    """Cutting an answer anywhere is noticed and never adds an operation."""
    text = (
        '[{"tasks": [{"action": "write", "path": "é\\ud83d\\ude00", "content": "x\\n"},'
        ' {"action": "run", "cmd": "a", "n": [1, -2.5e3, true, null, {}]}], "version": "1.0"}]'
    ).encode()
    whole = json.read(text).blocks[0].operations
    for end in range(2, len(text)):
        plan = json.read(text[:end].decode(errors="ignore").encode())
        assert plan.fatal, text[:end]
        operations = [operation for block in plan.blocks for operation in block.operations]
        assert operations == list(whole[: len(operations)])


# Hostile and huge texts

TASK = b'{"tasks": [{"action": "write", "path": "a", "content": "'
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "100,000 deep lists": (lambda: b'{"tasks": ' + b"[" * 100_000, "Nested more than 32 deep"),
    "100,000 deep objects": (
        lambda: b'{"tasks": []' + b', "b": {"a": 1' * 100_000,
        "Nested more than 32 deep",
    ),
    "lists as blocks": (
        lambda: b'[[],"tasks":' + b"[]," * (MB // 3),
        "Expected an object with a 'tasks' list",
    ),
    "an unclosed string of 8 MB": (lambda: TASK + b"x" * (8 * MB), "Unterminated string"),
    "a control character after 8 MB": (lambda: TASK + b"x" * (8 * MB) + b"\0", "Control character"),
    "fences, unclosed": (lambda: b'```json\n{"tasks":\n' * 66_666, "Expected a list of tasks"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused(name: str) -> None:
    """A hostile text is refused."""
    make, expected = HOSTILE[name]
    text = make()
    assert json.sign(text) is not None
    assert expected in fatal(text)


TOO_MANY: dict[str, tuple[Callable[[], bytes], str]] = {
    "48 MB of lists": (
        lambda: b'{"tasks": [], "a": [' + b"[]," * (16 * MB) + b"[]]}",
        "More than 10,000 values",
    ),
    "48 MB of lists as tasks": (
        lambda: b'{"tasks": [' + b"[]," * (16 * MB) + b"[]]}",
        "More than 1,000 tasks",
    ),
    "tasks that are none": (lambda: b'{"tasks": [' + b"0," * 1_000 + b"0]}", "More than 1,000 tasks"),
    "empty tasks": (lambda: b'{"tasks": [' + b"{}," * 1_000 + b"{}]}", "More than 1,000 tasks"),
    "tasks in many blocks": (lambda: b"[" + b'{"tasks": [1,1]},' * 600 + b"0]", "More than 1,000 tasks"),
    "many blocks": (lambda: b"[" + b'{"tasks": []},' * 1_001 + b"0]", "More than 1,000 blocks"),
}


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("name", TOO_MANY)
def test_more_than_the_limits_allow_is_refused(name: str) -> None:
    """More than the limits allow is refused, whatever it is; here they are a hundredth of the real ones."""
    make, expected = TOO_MANY[name]
    text = make()
    assert json.sign(text) is not None
    assert expected in fatal(text)


def test_the_limits_are_those_that_are_documented() -> None:
    """The limits are those that are documented."""
    assert (MAX_DEPTH, MAX_TASKS, MAX_VALUES) == (32, 100_000, 1_000_000)


# What is repeated in the document, what that stands for, how often, and how both end.
HUGE = {
    "backslashes": (rb"\\", "\\", 666_666, ""),
    "escaped quotes": (rb"\"", '"', 333_333, ""),
    "escaped surrogate pairs": (rb"\ud83d\ude00", "😀", 200_000, ""),
    "numeric escapes": (r"\u0041é".encode(), "Aé", 400_000, ""),
    "plain": (b"x", "x", 8 * MB, ""),
    "lines with an emoji": ("zeile 😀\\n".encode(), "zeile 😀\n", 200_000, ""),
    "an escape at the end": ("é".encode(), "é", MB, "\n"),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_is_read_exactly(name: str) -> None:
    """A huge text is read exactly."""
    raw, expected, times, end = HUGE[name]
    operation = only(json.read(TASK + raw * times + end.replace("\n", r"\n").encode() + b'"}]}'))
    assert operation.values()["content"] == expected * times + end


def test_a_number_of_a_megabyte_costs_no_time() -> None:
    """A number of a megabyte costs no time."""
    plan = json.read(b'{"tasks": [{"action": "edit", "count": ' + b"9" * MB + b', "n": ' + b"9" * MB + b"}]}")
    assert "Invalid value for 'count': must be positive integer or 'all'" in complaints(plan)


GROWING: dict[str, Callable[[int], bytes]] = {
    "tasks": lambda n: document(*[{"action": "remove", "path": "a"}] * n),
    "invalid tasks": lambda n: document(*[{"path": 1, "count": 0, "action": "edit"}] * n),
    "keys": lambda n: document({f"k{i}": "\n" for i in range(n)}),
    "fences": lambda n: b'```json\n{"tasks": []}\n```\n' * n,
    "open fences": lambda n: b"```json\n" * n + b'{"tasks": []}',
    "lists": lambda n: b'{"tasks": [], "a": [' + b"[], " * n + b"[]]}",
    "escapes": lambda n: TASK + rb"\n\u0041\\" * (300 * n) + b'"}]}',
}


@pytest.mark.parametrize("name", GROWING)
def test_the_cost_grows_with_the_size_and_not_faster(name: str, steps: Steps) -> None:
    """The cost grows with the size and not faster."""
    small, large = steps(json, GROWING[name](200)), steps(json, GROWING[name](400))
    assert large < 2.2 * small + 100


# Properties


def built(reader: ValueReader, depth: int = 1) -> Any:
    """Build the value that comes next, by what the reader offers."""
    first = reader.next()
    if first == "{":
        return {key: built(reader, depth + 1) for key, _place in reader.members(depth)}
    if first == "[":
        return [built(reader, depth + 1) for _place in reader.elements(depth)]
    value = reader.scalar(depth)
    return None if value is OTHER else value


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(values, st.booleans(), st.sampled_from([None, 0, 2]))
def test_a_valid_value_is_what_the_standard_library_reads(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    """A valid value is what the standard library reads."""
    text = standard.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    reader = ValueReader(text)
    reader.go_to(0, len(text))
    assert built(reader) == standard.loads(text)
    assert reader.at == len(text)


def strictly(text: str) -> Any:
    """Read a text by the standard library, without what it lets pass: keys that stand twice, NaN."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError
        return dict(pairs)

    value = standard.loads(text, object_pairs_hook=unique, parse_constant=int)
    standard.dumps(value, ensure_ascii=False).encode()  # no lone surrogates either
    return value


@given(
    st.lists(
        st.sampled_from(
            [*'{}[],:"019.eE+- uabcdD8é\n\t/\0', '"a"', "true", "null", "\\ud83d", "\\udc00", "\\"]
        ),
        max_size=12,
    ).map("".join)
)
def test_a_text_is_valid_if_it_is_for_the_standard_library(text: str) -> None:
    """A text is valid if it is for the standard library."""
    data = text.encode()
    reader = ValueReader(data)
    reader.go_to(0, len(data))
    try:
        value = built(reader)
        ours = (value,) if reader.at == len(data) else None
    except MalformedError:
        ours = None
    try:
        theirs = (strictly(text),)
    except ValueError:
        theirs = None
    assert ours == theirs


paths = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1, max_size=10
)
some = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10)
counts = st.integers(1, 10**17) | st.just("all")
operations = st.one_of(
    st.fixed_dictionaries(
        {"action": st.just("write"), "path": paths, "content": texts, "append": st.booleans()}
    ),
    st.fixed_dictionaries(
        {"action": st.just("edit"), "path": paths, "search": some, "replace": texts, "count": counts}
    ),
    st.fixed_dictionaries(
        {
            "action": st.just("edit"),
            "path": paths,
            "search_start": some,
            "search_end": some,
            "replace": texts,
            "count": counts,
        }
    ),
    st.fixed_dictionaries({"action": st.just("move"), "from": paths, "to": paths}),
    st.fixed_dictionaries({"action": st.just("remove"), "path": paths}),
    st.fixed_dictionaries({"action": st.just("run"), "command": some}, optional={"dir": paths}),
)
blocks = st.lists(
    st.fixed_dictionaries(
        {"tasks": st.lists(operations, max_size=4)},
        optional={"version": st.sampled_from(["0.0.1", "1.0", "1.0.0", "1.1"])},
    ),
    min_size=1,
    max_size=3,
)


@given(blocks, st.booleans(), st.sampled_from([None, 1]), st.booleans())
def test_operations_written_as_json_are_read_back(
    written: list[dict[str, Any]], ascii_only: bool, indent: int | None, fenced: bool
) -> None:
    """What is written as json is read back."""
    text = standard.dumps(written, ensure_ascii=ascii_only, indent=indent)
    plan = parse(f"So:\n```json\n{text}\n```\n" if fenced else text)
    assert plan.exit_code == (0 if plan.has_operations else 3)
    assert [
        {
            "tasks": [{"action": operation.name, **operation.values()} for operation in block.operations],
            **({"version": block.version} if block.version else {}),
        }
        for block in plan.blocks
    ] == written


FRAGMENTS = [
    *string.punctuation,
    *('"tasks"', '"action"', '"edit"', '"path"', "\n", "```json\n", "```\n", "~~~json", " ", "é", "😀"),
    *(
        "\\ud83d",
        "\\ude00",
        "\\n",
        "true",
        "null",
        "-1e5",
        '{"tasks": [',
        "]}",
        '"version": "1.0"',
        "\0",
        "\t",
    ),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    """No text makes it raise."""
    data = text.encode(errors="replace")
    json.sign(data)
    plan = json.read(data)
    plan.to_dict()
    assert json.read(b'{"tasks": [' + data).notation == "json"


@given(blocks, st.data())
def test_no_change_to_a_valid_text_makes_it_raise(written: list[dict[str, Any]], data: st.DataObject) -> None:
    """No change to a valid text makes it raise."""
    text = standard.dumps(written)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    changed = text[:start] + data.draw(st.sampled_from(["", *FRAGMENTS])) + text[end:]
    plan = json.read(changed.encode())
    assert plan.fatal is None or plan.fatal.line
