"""CML: what a person is told beside the plan, and what is wrong is named by its field."""

from __future__ import annotations

import pytest

import clada

RANGE = "<search-start>a</search-start><search-end>b</search-end>"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ('<write path="a"/>\n<write path="b"/>\n', ()),
        ('<write path="a"/>', ()),
        ('<write path="a"/> and prose, 1 < 2\n', ()),
        (
            '<tasks version="1.1">\n<shout/>\n<write path="a"/>\n</tasks>\n',
            ("Line 2: unknown element <shout> skipped",),
        ),
    ],
)
def test_skipped_elements_are_noted_with_their_line(text: str, notes: tuple[str, ...]) -> None:
    """An element that is not read, by its line; prose is nothing to note."""
    assert clada.parse(text).notes == notes


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('First.\n<write path="a"/> <write path="b"/>\n', 2, "<write>"),
        ('<remove path="a"/><run>x</run>', 1, "<run>"),
    ],
)
def test_an_element_behind_another_is_not_applied(text: str, line: int, what: str) -> None:
    """It is an operation that nobody carries out."""
    (passed_over,) = clada.parse(text).not_applied
    assert (passed_over.line, passed_over.what) == (line, what)


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        (
            '<write path="a"><!-- x -->y</write>',
            "content",
            "There is a comment in the content of <write>: put the content into <![CDATA[…]]>",
        ),
        (
            f'<edit path="a"><search>x</search>{RANGE}<replace>y</replace></edit>',
            "search",
            "<search> cannot stand beside <search-start> and <search-end>",
        ),
    ],
)
def test_a_problem_names_its_field(text: str, field: str, message: str) -> None:
    """By the name that it has in plans."""
    (problem,) = clada.parse(text).problems
    assert (problem.field, problem.message, problem.type) == (field, message, "malformed_xml")


def test_a_section_that_never_ends_is_fatal() -> None:
    """Also where the text that would end it stands before it."""
    plan = clada.parse(']]></write>\n<write path="a"><![CDATA[\n')
    assert plan.fatal is not None
