"""What looks like an operation and is not one: fatal where nothing else was found, else not applied."""

from __future__ import annotations

import pytest

import clada

DIALECT = "malformed_dialect"
FAILURES = {
    'First:\n  <---WRITE file="a"--->\n  x\n  <---END--->\n': (2, "malformed_csl", "first column"),
    "> <---RUN--->\n> ls\n> <---END--->\n": (1, "malformed_csl", "first column"),
    '- <write path="a">x</write>\n': (1, "malformed_xml", "start its line"),
    "1. <run>ls</run>\n": (1, "malformed_xml", "start its line"),
    '**File**: <write path="a">x</write>\n': (1, "malformed_xml", "start its line"),
    'So:\n<Write path="a">x</Write>\n': (2, "malformed_xml", "lower case"),
    '&lt;write path="a"&gt;x&lt;/write&gt;\n': (1, "malformed_xml", "< and >"),
    'Here: {"tasks":[{"action":"remove","path":"x"}]}\n': (1, "malformed_json", "```json"),
    '```\n{"tasks": [{"action": "remove", "path": "x"}]}\n```\n': (2, "malformed_json", "```json"),
    '```json\n[{"action": "remove", "path": "x"}]\n```\n': (2, "malformed_json", "`tasks`"),
    '[task]\naction = "remove"\n': (1, "malformed_toml", "[[task]]"),
    "So:\n```\n<<<<<<<SEARCH\na\n=======\nb\n>>>>>>>REPLACE\n```\n": (3, DIALECT, "with a blank"),
    "<<<<<<< search\na\n=======\nb\n>>>>>>> replace\n": (1, DIALECT, "in capitals"),
    "<<<<<<< SEARCH:\na\n=======\nb\n>>>>>>> REPLACE:\n": (1, DIALECT, "nothing behind it"),
    "*** Begin Patch\n*** Modify File: a\n-a\n+b\n*** End Patch\n": (1, DIALECT, "*** Update File: PATH"),
    "*** Begin Patch\n***Update File: a\n-a\n+b\n*** End Patch\n": (1, DIALECT, "*** Update File: PATH"),
    "*** Begin Patch\n@@\n-a\n+b\n*** End Patch\n": (1, DIALECT, "*** Update File: PATH"),
    'So:\n{"name": "write_file", "arguments": {"path": "a", "content": "x"}}\n': (2, DIALECT, "is JSON"),
    'So: {"file_path": "a.py", "old_string": "x", "new_string": "y"}\n': (1, DIALECT, "is JSON"),
    'So:\n<QuickEdit file="a.py">\nCall g.\n</QuickEdit>\n': (2, DIALECT, "another model"),
}


@pytest.mark.parametrize("document", FAILURES)
def test_a_document_with_nothing_but_a_lookalike_is_refused_with_its_line(document: str) -> None:
    """It says which line, and what is wrong with it."""
    line, type_, advice = FAILURES[document]
    plan = clada.parse(document)
    assert plan.fatal is not None
    assert (plan.fatal.line, plan.fatal.type) == (line, type_)
    assert advice in plan.fatal.message


@pytest.mark.parametrize(
    "document",
    [
        "Nothing to do.\n",
        "Use `<---WRITE file=\"a\"--->` or `<write path='a'>` for that, and close it.\n",
        'The key "tasks" holds a list, as in {"tasks": []}.\n',
        "if a < b and run > 3:\n    edit = [tasks]\n",
        "<p>Write this: <b>run</b></p>\n",
        "A patch starts with *** Begin Patch and names a file.\n\n*** Begin Patch\nOf course.\n",
        "It starts with <<<<<<< search, and git's with\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c\n",
        'Has {"name": "write_file", "description": "Writes"} and {"path": "a", "lines": []}\n',
        'A call {"name": "get_weather", "arguments": {"city": "Bern"}} returns the weather.\n',
    ],
)
def test_prose_about_operations_is_no_mistake(document: str) -> None:
    """An explanation is not refused."""
    plan = clada.parse(document)
    assert (plan.fatal, plan.blocks, plan.notation) == (None, (), None)


def test_a_document_in_another_notation_than_was_asked_for_is_refused() -> None:
    """The message names both."""
    plan = clada.parse('<---WRITE file="a"--->\nx\n<---END--->\n', "json")
    assert plan.fatal is not None
    assert plan.fatal.type == "malformed_json"
    assert "CSL" in plan.fatal.message
    assert "JSON" in plan.fatal.message


GOOD_CSL = '<---WRITE file="a"--->\n<write path="no">x</write>\n  <---RUN--->\n<---END--->\n'
GOOD_CML = '<tasks version="1.1">\n<write path="a"><![CDATA[\n<---RUN--->\n]]></write>\n</tasks>\n'
GOOD_TOML = '```toml\n[[task]]\naction = "write"\npath = "a"\ncontent = "x"\n```\n'
GOOD_JSON = '```json\n{"tasks": [\n{"action": "write", "path": "a", "content": "x"}]}\n```\n'

PASSED_OVER = {
    GOOD_CSL + '   <---WRITE file="b"--->\nx\n   <---END--->\n': 5,
    GOOD_CSL + 'And:\n<write path="b">x</write>\n': 6,
    GOOD_CML + '- <write path="c">x</write>\n': 6,
    GOOD_CML + '<---WRITE file="b"--->\nx\n<---END--->\n': 6,
    GOOD_JSON + '<---WRITE file="b"--->\nx\n<---END--->\n': 5,
    GOOD_CSL + "<run>echo 1</run>\n": 5,
    GOOD_CSL + '<move from="a" to="b"/>\n': 5,
    GOOD_CSL + '[[task]]\naction = "run"\ncommand = "ls"\n': 5,
    GOOD_JSON + '```toml\n[[task]]\naction = "run"\ncommand = "ls"\n```\n': 6,
    GOOD_TOML + '```json\n{"tasks": [{"action": "run", "command": "ls"}]}\n```\n': 8,
}


@pytest.mark.parametrize("document", PASSED_OVER)
def test_lookalikes_beside_operations_are_reported_as_not_applied(document: str) -> None:
    """Content of operations does not count, however much it looks like one."""
    plan = clada.parse(document)
    assert not plan.ok
    assert plan.not_applied[0].line == PASSED_OVER[document]


def test_each_of_several_is_listed_once() -> None:
    """A line that two patterns match is one."""
    plan = clada.parse(GOOD_CSL + '<write path="b">x</write>\n\n  <---RUN--->\nls\n<run>ls</run>\n')
    assert [(each.line, each.what, each.why) for each in plan.not_applied] == [
        (5, "CML operation", "the answer is in CSL"),
        (7, "likely CSL operation", "a marker must start at the first column"),
        (9, "CML operation", "the answer is in CSL"),
    ]


def test_operations_in_another_notation_than_the_chosen_one_do_not_count() -> None:
    """A person has decided that."""
    assert clada.parse(GOOD_CSL + '<write path="b">x</write>\n', "csl").ok
    assert not clada.parse(GOOD_CSL + "  <---RUN--->\nls\n", "csl").ok


@pytest.mark.parametrize("document", [GOOD_CSL, GOOD_CML, GOOD_JSON, "Prose < prose.\n" + GOOD_CSL])
def test_a_plain_document_gets_no_note(document: str) -> None:
    """What stands in operations is theirs."""
    plan = clada.parse(document)
    assert (plan.notes, plan.not_applied, plan.ok) == ((), (), True)


BLOCK_OF_NOTHING = {
    "csl": "<---TASKS--->\n<---END--->\n",
    "cml": "<tasks></tasks>\n",
    "json": '```json\n{"name": "x", "tasks": []}\n```\n',
    "toml": "[[tasks]]\n",
}


@pytest.mark.parametrize("notation", BLOCK_OF_NOTHING)
def test_a_block_of_nothing_is_no_mistake_until_something_is_overlooked_beside_it(notation: str) -> None:
    """An empty block is nothing found, and so whatever looks like an operation is one that was missed."""
    empty = BLOCK_OF_NOTHING[notation]
    plan = clada.parse(empty)
    assert (plan.notation, plan.fatal) == (notation, None)
    missed = (
        '\n\n<write path="a">x</write>\n' if notation != "cml" else '<---WRITE file="a"--->\nx\n<---END--->\n'
    )
    fatal = clada.parse(empty + missed).fatal
    assert fatal is not None
    assert "This looks like an operation" in fatal.message


@pytest.mark.parametrize(
    "example",
    ['{"pipeline": {"tasks": ["a"]}}', '[[1, "tasks"]]', '{"a": "\\"tasks\\": ", "b": [{"tasks": []}]}'],
)
def test_a_tasks_key_further_down_is_no_sign(example: str) -> None:
    """An example in the prose does not turn the document into another notation."""
    plan = clada.parse(f'For example:\n```json\n{example}\n```\n<---WRITE file="a"--->\nx\n<---END--->\n')
    assert (plan.notation, plan.fatal, len(plan.blocks)) == ("csl", None, 1)


@pytest.mark.parametrize("header", ["[[task]]", "[[ task ]]", '[["task"]]', "[['task']] # one", "[[\ttask]]"])
def test_a_header_of_toml_is_a_sign_however_it_is_written(header: str) -> None:
    """As TOML allows it."""
    plan = clada.parse(f'{header}\naction = "run"\ncommand = "ls"\n')
    assert (plan.notation, plan.fatal, len(plan.blocks)) == ("toml", None, 1)


def test_a_line_of_content_that_is_nearly_a_marker_gets_a_note() -> None:
    """It may be one whose END was forgotten; the first one is enough to say so."""
    plan = clada.parse('<---WRITE file="x"--->\na\n<---WRITE file=y--->\nb\n<---RUN\n<---END--->\n')
    assert plan.ok
    assert plan.notes == ("Line 3 is in the content of WRITE: is an END missing before it?",)
    for line in ("<---WRITER--->", "<---TO--->", " <---RUN--->", "<---"):
        assert clada.parse(f'<---WRITE file="x"--->\n{line}\n<---END--->\n').notes == ()


@pytest.mark.parametrize("path", ["a\nb", "a\n  b", "\n"])
def test_a_line_break_in_an_attribute_of_cml_is_told(path: str) -> None:
    """XML would make a blank of it, and so another path."""
    (problem,) = clada.parse(f"<write append='true' path='{path}'>x</write>\n").problems
    assert problem.message == "Invalid value for 'path': must not contain a line break"
    assert clada.parse('<write\n  path="a b"\n>x</write>\n').ok
