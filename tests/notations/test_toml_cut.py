"""Bare TOML that is cut off does nothing that the whole would not do."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clada

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = st.sampled_from(
    ["", "x", "two\nlines\n", "\n", "'", "''", '"', "[[task]]\n", "# end\n", "é", "append = true\n", "a\n\nb"]
)
PATHS = st.sampled_from(["a.txt", "b/c.txt"])


@st.composite
def quoted(draw: Any, texts: Any = TEXTS) -> str:
    """Draw a text in one of the ways in which TOML can quote it."""
    text = draw(texts)
    ways = [
        json.dumps(text, ensure_ascii=False),
        '"""\n' + json.dumps(text, ensure_ascii=False)[1:-1] + '"""',
    ]
    if "\n" not in text and "'" not in text:
        ways.append(f"'{text}'")
    if not text.endswith("'") and "'''" not in text:
        ways.append(f"'''\n{text}'''")
    if text.endswith("'") and "'''" not in text:
        ways.append(f"'''{text}'''")  # up to two more quotes belong to the text
    return str(draw(st.sampled_from(ways)))


@st.composite
def task(draw: Any) -> list[str]:
    """Draw the lines of a task: what changes its meaning comes before its texts."""
    action = draw(st.sampled_from(["write", "append", "edit", "range", "run", "move", "remove"]))
    path, text = f"path = {json.dumps(draw(PATHS))}", draw(quoted())
    some = draw(quoted(TEXTS.filter(bool)))
    lines = {
        "write": ['action = "write"', path, f"content = {text}"],
        "append": ['action = "write"', path, "append = true", f"content = {text}"],
        "edit": ['action = "edit"', path, "count = 12", f"search = {some}", f"replace = {text}"],
        "range": [
            'action = "edit"',
            path,
            f"search_start = {some}",
            f"search_end = {some}",
            f"replace = {text}",
        ],
        "run": ['action = "run"', 'dir = "d"', f"cmd = {some}"],
        "move": ['action = "move"', 'from = "a.txt"', 'to = "b.txt"'],
        "remove": ['action = "remove"', path],
    }[action]
    gap = draw(st.sampled_from([[], [""], ["# a comment"], ['note = "unknown"']]))
    return [*lines, *gap]


def _document(tasks: list[list[str]], *, block: bool, end: str) -> str:
    header = "[[tasks.task]]" if block else "[[task]]"
    body = "\n".join("\n".join([header, *lines, ""]) for lines in tasks)
    return ("[[tasks]]\n" if block else "") + body + end


@pytest.mark.slow
@given(
    tasks=st.lists(task(), min_size=1, max_size=3),
    block=st.booleans(),
    end=st.sampled_from(["", "\n", "# end\n", "# END", "\nThat is all.\n", "\nThanks", "\n```\n"]),
)
@settings(max_examples=37, deadline=None)
def test_cut_at_every_byte_it_does_nothing_that_the_whole_would_not_do(
    tasks: list[list[str]], block: bool, end: str
) -> None:
    document = _document(tasks, block=block, end=end).encode()
    whole = clada.parse(document, "toml")
    assert whole.ok, document.decode()
    for cut in range(len(document)):
        _check_cut(document[:cut], whole)


def _check_cut(document: bytes, whole: clada.Plan) -> None:
    plan = clada.parse(document, "toml")
    operations = [] if plan.fatal else list(_carried_out(plan))
    assert operations == list(_carried_out(whole))[: len(operations)], document.decode(errors="replace")


def _carried_out(plan: clada.Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    for block in plan.blocks:
        if block.valid:
            yield from ((item.name, item.values()) for item in block.operations)


HUNKS = '[[task]]\naction = "edit"\npath = "a"\n' + '\n[[task.hunks]]\nsearch = "x"\nreplace = "y"\n' * 3
ATOMIC = "[[tasks]]\natomic = true\n" + '\n[[tasks.task]]\naction = "write"\npath = "a"\ncontent = "x"\n' * 3
LISTED = (
    '[[task]]\naction = "edit"\npath = "a"\n'
    'hunks = [{search = "x", replace = "y"}, {search = "z", replace = ""}]\n'
)


@pytest.mark.parametrize(
    "document", [f"{HUNKS}# end\n", f"{ATOMIC}\n# end", f"{ATOMIC}\n\nThat is all.\n", LISTED]
)
def test_a_document_cut_off_anywhere_is_done_as_a_whole_or_not_at_all(document: str) -> None:
    whole = clada.parse(document)
    assert whole.ok
    for cut in range(len(document)):
        plan = clada.parse(document[:cut], "toml")
        operations = [] if plan.fatal else list(_carried_out(plan))
        assert operations in ([], list(_carried_out(whole))), document[:cut]


@pytest.mark.parametrize(
    ("document", "remedy"),
    [
        (HUNKS, "end a task that has tables with a line `# end`"),
        (ATOMIC, "end an atomic block with a line `# end`"),
        ('[[task]]\naction = "write"\npath = "a"\ncontent = ""', "end it with a line break"),
        (
            '[[task]]\naction = "run"\ncmd = "make"\ndir = "d"\n',
            "write 'dir' before 'cmd', or end it with a line `# end`",
        ),
        (
            '[[task]]\naction = "edit"\npath = "a"\nsearch = "x"\nreplace = ""\ncount = 2\n',
            "write 'count' before 'replace', or end it with a line `# end`",
        ),
    ],
)
def test_bare_toml_that_may_be_cut_off_is_refused_with_the_remedy(document: str, remedy: str) -> None:
    """The same in a fence, before prose, or with an end mark is complete."""
    plan = clada.parse(document)
    assert plan.fatal
    assert plan.fatal.message.endswith(f"TOML outside a fence may be cut off here: {remedy}")
    for complete in (
        f"```toml\n{document}\n```\n",
        f"{document}\n\nThat is all.\n",
        f"{document}\n  #End\n\n",
    ):
        assert clada.parse(complete).ok


def test_a_fence_without_its_end_is_cut_off() -> None:
    plan = clada.parse('```toml\n[[task]]\naction = "remove"\npath = "a"\n# end\n')
    assert plan.fatal
    assert "expected the end of the fence" in plan.fatal.message
