"""CSL that arrives in pieces: the reader gives the plan of the whole, wherever it is cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import clada

# What documents are made of, and what makes trouble at a cut.
PIECES = [
    "\r", "\n", "\r\n", "\n\n", " ", "\ufeff", "\ud83d", "\ude00", "\U0001f600", "é", "x", "\\",
    '<---WRITE file="a"--->', "<---WRITE--->", '<---RUN dir="é"--->', "<---RUN--->", "<---TASKS--->",
    '<---TASKS name="n" version="1.0"--->', '<---SEARCH file="a" count="2"--->', "<---TO--->",
    "<---REPLACE--->",
    "<---END--->", "<---END---> ", "<---END", "  <---RUN--->", "<---", "--->", "<---oops--->",
    '<write path="a">x</write>', "[[task]]", '{"tasks": []}',
]  # fmt: skip
LINES = st.sampled_from(PIECES).flatmap(lambda piece: st.sampled_from([piece, f"{piece}\n", f"{piece}\r\n"]))
DOCUMENTS = st.lists(LINES, max_size=25).map("".join)
WHOLE = "<---RUN--->\r\nls\r\n<---END--->\r\n"


@given(text=DOCUMENTS, data=st.data())
@example(text="\ufeff" + WHOLE, data=None)
@example(text="\ufeff\ufeff", data=None)
@example(text="a\r\n\n" + WHOLE, data=None)
@example(text="First:\n  <---RUN--->\n  ls\n  <---END--->\n", data=None)
@example(text=WHOLE + "\ud83d\ude00", data=None)
@example(text='<write path="a">x</write>\n', data=None)
@settings(max_examples=100, deadline=None)
def test_chunked_equals_whole(text: str, data: Any) -> None:
    """One character at a time, in two pieces at every cut, or in any pieces, some of them empty."""
    expected = clada.parse(text, "csl")
    assert _closed(list(text)) == expected
    for cut in range(len(text) + 1):
        assert _closed([text[:cut], text[cut:]]) == expected, cut
    if data:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert _closed(pieces) == expected, pieces


def _closed(pieces: list[str]) -> clada.Plan:
    """Return the plan of these pieces, of which the operations that were given out are a beginning."""
    reader = clada.Reader()
    given_out = [operation for piece in pieces for operation in reader.feed(piece)]
    plan = reader.close()
    if plan.fatal is None or plan.fatal.type != "invalid_utf8":
        operations = [operation for block in plan.blocks for operation in block.operations]
        assert given_out == operations[: len(given_out)]
    return plan


# Delimiters that occur in names, in values and among blanks.
CHARACTERS = "@EDNTORSW <>\"'=-\\\t"
DELIMITERS = st.text(CHARACTERS, min_size=1, max_size=3).filter(lambda text: text.strip(" \t"))


@given(start=DELIMITERS, end=DELIMITERS)
@example(start="@", end="E")
@example(start="E", end="END")
@settings(max_examples=100, deadline=None)
def test_a_blank_behind_a_marker_changes_nothing_whatever_the_delimiters(start: str, end: str) -> None:
    """Markers as they are usually written are read by a shorter way, with the same result."""
    markers = [
        'WRITE file="a b"',
        "END",
        'SEARCH file="c"',
        "REPLACE",
        "END",
        "TASKS",
        'RUN dir="d"',
        "END",
        "END",
    ]
    documents = [
        "".join(f"{start}{marker}{end}{blank}\nx\n" for marker in markers) for blank in ("", " ", "\t ")
    ]
    usual, *others = [_plan(document, start, end) for document in documents]
    assert [block["operations"][0]["operation"] for block in usual["blocks"]] == ["write", "edit", "run"]
    assert others == [usual, usual]


def _plan(text: str, start: str, end: str) -> dict[str, Any]:
    return clada.parse(text, "csl", start_delimiter=start, end_delimiter=end).to_dict()


def test_a_line_break_after_one_that_was_cut_in_two_is_kept() -> None:
    """CR and LF in two pieces are one line break; a LF in the next piece is another."""
    reader = clada.Reader()
    for piece in ('<---WRITE file="a"--->\r', "\n", "\nx\n<---END--->\n"):
        reader.feed(piece)
    assert reader.close().blocks[0].operations[0].values()["content"] == "\nx"


def test_lookalikes_are_reported_as_for_a_whole_text() -> None:
    """Where nothing else was found, it is fatal."""
    reader = clada.Reader()
    reader.feed("  <---RUN--->\n  ls\n  <---END--->\n")
    fatal = reader.close().fatal
    assert fatal is not None
    assert (
        fatal.message == "Line 1: This looks like an operation, but a marker must start at the first column"
    )


def test_a_lone_surrogate_is_named_by_its_offset_in_the_whole() -> None:
    """It comes from a program that feeds text, and has no place in UTF-8; nothing more is given out."""
    reader = clada.Reader()
    reader.feed("\ufeffé\r\n")
    assert reader.feed(WHOLE + "\ud800") == []
    assert reader.feed(WHOLE) == []
    fatal = reader.close().fatal
    assert fatal is not None
    assert fatal.message == f"Invalid UTF-8 at byte offset {3 + 4 + len(WHOLE)}"


def test_more_than_50_mb_is_refused() -> None:
    """However small the pieces; as in a whole text, bytes count as they came."""
    reader = clada.Reader()
    for _ in range(50):
        reader.feed("\r\n" * (1 << 19))
    assert reader.feed("x") == []
    assert reader.close() == clada.parse("\r\n" * (50 << 19) + "x", "csl")


@pytest.mark.parametrize("piece", [b"x", None, 1, bytearray(b"x")])
def test_feeding_anything_but_text_is_a_type_error(piece: Any) -> None:
    """It says what was given."""
    with pytest.raises(TypeError, match=rf"feed\(\) takes a str, not {type(piece).__name__}"):
        clada.Reader().feed(piece)


def test_a_piece_after_the_end_is_a_value_error() -> None:
    """To close once more is none: the plan is the same."""
    reader = clada.Reader()
    plan = reader.close()
    with pytest.raises(ValueError, match="the text has ended"):
        reader.feed("x")
    assert reader.close() is plan
