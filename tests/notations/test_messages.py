"""What is said of CML that cannot be read or carried out: exactly, for an LLM will act on it."""

from __future__ import annotations

import pytest

import clada

USE_CDATA = "put the content into <![CDATA[…]]>"
DELETING = "to delete text, keep a neighbouring line in both the search and the replacement"
ESCAPING = "write &amp; for & and &lt; for <, or put the text into <![CDATA[…]]>"
EDIT = '<edit path="a"{0}>{1}</edit>'
BOTH = "<search>x</search><replace>y</replace>"


INVALID = "not well-formed (invalid token)"
IN_FIRST = "this is in task 1 (<write> at line 1)"
NINE = '<run>ls</run>\n<tasks version="1.1">\n' + '<remove path="a"/>\n' * 7


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('<write path="a">x & y</write>', f"Line 1, column 20: {INVALID}; {IN_FIRST}; {ESCAPING}"),
        ('<write path="a">x < y</write>', f"Line 1, column 20: {INVALID}; {IN_FIRST}; {ESCAPING}"),
        (
            f"{NINE}<shout/>\n<run>\na && b</run></tasks>",
            f"Line 12, column 4: {INVALID}; this is in task 9 (<run> at line 11); {ESCAPING}",
        ),
        (f"{NINE}a & b\n</tasks>", f"Line 10, column 4: {INVALID}; this is at task 9; {ESCAPING}"),
        (
            "\n <run>a && b</run>",
            f"Line 2, column 10: {INVALID}; this is in task 1 (<run> at line 2); {ESCAPING}",
        ),
        (
            '<write path="a">&nbsp;</write>',
            (
                f"Line 1, column 17: undefined entity; {IN_FIRST}; "
                "only &lt; &gt; &amp; &quot; &apos; are known: write the character itself"
            ),
        ),
        (
            "<write path=\u201ca\u201d>x</write>",
            f"Line 1, column 13: {INVALID}; this is at task 1; attributes stand in straight quotes",
        ),
        (
            '<write path="a"><![CDATA[a]]>b]]></write>',
            f"Line 1, column 33: {INVALID}; {IN_FIRST}; inside CDATA, ]]> is written ]]&gt;",
        ),
        ('<write path="a">x</wrote>', f"Line 1, column 20: mismatched tag; {IN_FIRST}"),
        (
            '<write path="a" path="b">x</write>',
            "Line 1, column 17: duplicate attribute; this is at task 1",
        ),
        (
            f'<write path="a">{"<a>" * 20}</write>',
            f"Line 1, column 65: elements are nested more than 16 deep; {IN_FIRST}",
        ),
        ('<tasks version="9"></tasks>', "Line 1: Unsupported version: 9"),
        (
            '<tasks>\n<write path="a">x</write>\n<write path="b">',
            "Line 3, column 1: the text ends inside an element; 1 complete operation came before it",
        ),
        (
            '<tasks><write path="a">x</write>',
            "Line 1, column 1: the text ends inside an element; 1 complete operation came before it",
        ),
    ],
)
def test_an_unreadable_text_is_reported_with_its_place_and_a_remedy(document: str, message: str) -> None:
    """The task that it is in, and for the commonest slips of those who write XML by hand a remedy."""
    plan = clada.parse(document, "cml")
    assert plan.fatal is not None
    assert plan.fatal.message == message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("<tasks><tasks></tasks></tasks>", "<tasks> cannot be nested"),
        ("<tasks><rename/></tasks>", "Unknown element <rename>"),
        ("<write>x</write>", "Missing required attribute 'path'"),
        ('<write path="">x</write>', "Missing required attribute 'path'"),
        ('<write path="a">a\nb</write>', f"Multi-line content in <write>: {USE_CDATA}"),
        ('<write path="a">a<![CDATA[b]]></write>', f"Text beside CDATA in <write>: {USE_CDATA}"),
        ('<write path="a"><b/>x</write>', f"Element <b> in the content of <write>: {USE_CDATA}"),
        ('<write path="a"><!-- c -->x</write>', f"There is a comment in the content of <write>: {USE_CDATA}"),
        ('<write path="a" append="yes">x</write>', "Invalid value for 'append': must be 'true' or 'false'"),
        ('<write path="a&#10;b">x</write>', "Invalid value for 'path': must not contain a line break"),
        (
            f'<write path="{"n" * 256}">x</write>',
            "Invalid value for 'path': a name in it has 256 bytes, and at most 255 are allowed",
        ),
        (EDIT.format("", "<search>x</search>"), f"Empty or missing <replace>: {DELETING}"),
        (EDIT.format("", "<replace>x</replace>"), f"Empty or missing <search>: {DELETING}"),
        (
            EDIT.format("", "<search-start>x</search-start><replace>y</replace>"),
            f"Empty or missing <search-end>: {DELETING}",
        ),
        (
            EDIT.format("", f"{BOTH}<search-start>y</search-start><search-end>y</search-end>"),
            "<search> cannot stand beside <search-start> and <search-end>",
        ),
        (EDIT.format(' count="0"', BOTH), "Invalid value for 'count': must be positive integer or 'all'"),
        (EDIT.format("", f"{BOTH}text"), "Text in <edit> outside of its elements"),
        (EDIT.format("", f"{BOTH}<search>x</search>"), "<search> stands twice in <edit>"),
        ('<move from="a"/>', "Missing required attribute 'to'"),
        ('<move to="a"/>', "Missing required attribute 'from'"),
        ('<move from="a" to="b">x</move>', "<move> takes no content"),
        ("<remove/>", "Missing required attribute 'path'"),
        ('<remove path="a">x</remove>', "<remove> takes no content"),
        ("<run></run>", "Empty content not allowed for <run>"),
        ("<run> </run>", "Empty content not allowed for <run>"),
    ],
)
def test_an_incomplete_element_has_one_problem_with_its_own_message(document: str, message: str) -> None:
    """Each with its own message, and no other."""
    plan = clada.parse(document, "cml")
    assert plan.fatal is None
    assert [problem.message for problem in plan.problems] == [message]


LARGE = {
    "csl": '<---SEARCH file="a" count="{}"--->\nx\n<---REPLACE--->\ny\n<---END--->\n',
    "cml": EDIT.format(' count="{}"', BOTH),
    "json": '{{"tasks": [{{"action": "edit", "path": "a", "search": "x", "replace": "y", "count": {}}}]}}',
    "toml": '[[task]]\naction = "edit"\npath = "a"\nsearch = "x"\nreplace = "y"\ncount = {}\n',
}


@pytest.mark.parametrize("notation", LARGE)
def test_a_count_with_too_many_digits_is_told_so(notation: clada.Format) -> None:
    """It is a positive integer, so the usual message would not help; one with 18 digits is taken."""
    message = "Invalid value for 'count': must have at most 18 digits"
    for digits, messages in {"9" * 18: [], "1" + "0" * 18: [message], "9" * 30: [message]}.items():
        plan = clada.parse(LARGE[notation].format(digits), notation)
        assert [problem.message for problem in plan.problems] == messages


@pytest.mark.parametrize("notation", ["csl", "cml"])
def test_zeros_in_front_of_a_count_do_not_count(notation: clada.Format) -> None:
    """However many they are."""
    plan = clada.parse(LARGE[notation].format("0" * 9999 + "12"), notation)
    assert plan.blocks[0].operations[0].values()["count"] == 12
    plan = clada.parse(LARGE[notation].format("0" * 9999), notation)
    assert [problem.field for problem in plan.problems] == ["count"]


LONG = "X" * 200_000
QUOTING = {
    "the name of a marker": f"<---{LONG}--->",
    "an attribute that stands twice": f'<---WRITE {LONG}="" {LONG}=""--->\n<---END--->',
    "the version of a CSL block": f'<---TASKS version="{LONG}"--->\n<---END--->',
    "the version of a CML block": f'<tasks version="{LONG}"></tasks>',
    "the version of a JSON block": f'{{"version": "{LONG}", "tasks": []}}',
    "the version of a TOML block": f'[[tasks]]\nversion = "{LONG}"\n',
    "a key that stands twice": f'{{"tasks": [{{"{LONG}": 1, "{LONG}": 1}}]}}',
    "an element": f"<tasks><{LONG}/></tasks>",
    "an element that is skipped": f'<tasks version="1.1"><{LONG}/><run>ls</run></tasks>',
    "an element in an edit": f'<edit path="a">{BOTH}<{LONG}/></edit>',
    "an element in content": f'<write path="a"><{LONG}/></write>',
    "an action": f'{{"tasks": [{{"action": "{LONG}"}}]}}',
}


@pytest.mark.parametrize("what", QUOTING)
def test_quotations_of_the_document_in_messages_are_shortened(what: str) -> None:
    """A name of 200 KB would drown the message, and whoever reads it."""
    plan = clada.parse(QUOTING[what])
    messages = [problem.message for problem in (plan.fatal, *plan.problems) if problem]
    messages += [*plan.notes, *clada.execute(plan, git=False, dry_run=True).text().splitlines()]
    assert any("XXX…" in message for message in messages)
    assert max(map(len, messages)) < 200
