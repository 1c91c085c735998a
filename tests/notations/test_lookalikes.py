"""What looks like an operation and is none: a failure where nothing else was found, else a note."""

from __future__ import annotations

import pytest

import clada
from clada.notations.lookalikes import overlooked

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
GOOD_JSON = '```json\n{"tasks": [\n{"action": "write", "path": "a", "content": "x"}]}\n```\n'

NOTES = {
    GOOD_CSL + '   <---WRITE file="b"--->\nx\n   <---END--->\n': 5,
    GOOD_CSL + 'And:\n<write path="b">x</write>\n': 6,
    GOOD_CML + '- <write path="c">x</write>\n': 6,
    GOOD_CML + '<---WRITE file="b"--->\nx\n<---END--->\n': 6,
    GOOD_JSON + '<---WRITE file="b"--->\nx\n<---END--->\n': 5,
}


@pytest.mark.parametrize("document", NOTES)
def test_what_was_probably_meant_beside_operations_gets_a_note_with_its_line(document: str) -> None:
    """Content of operations does not count, however much it looks like one."""
    note = overlooked(clada.parse(document), "<---")
    assert note is not None
    assert note.startswith(f"Line {NOTES[document]} ")


@pytest.mark.parametrize("document", [GOOD_CSL, GOOD_CML, GOOD_JSON, "Prose < prose.\n" + GOOD_CSL])
def test_a_plain_document_gets_no_note(document: str) -> None:
    """What stands in operations is theirs."""
    assert overlooked(clada.parse(document), "<---") is None
