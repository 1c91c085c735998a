"""Line endings: which is in use where, and how many there are."""

from __future__ import annotations

import pytest

from clada.text.line_endings import count_breaks, endings_at, single_ending, to_lf


@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (b"", b"\n"),
        (b"a\nb", b"\n"),
        (b"a\rb", b"\r"),
        (b"a\r\nb", b"\r\n"),
        (b"a\r\nb\n", None),
        (b"a\r\nb\r", None),
        (b"a\rb\n", None),
    ],
)
def test_a_file_has_one_kind_of_line_ending_or_mixed_ones(data: bytes, ending: bytes | None) -> None:
    """Without any, LF is what it would get."""
    assert single_ending(data) == ending


@pytest.mark.parametrize(
    ("data", "offset", "ending"),
    [
        (b"\nX\rY", 0, b"\n"),
        (b"\rX\nY", 0, b"\r"),
        (b"\r\nX\nY", 0, b"\r\n"),
        (b"\r\nX\nY", 1, b"\r\n"),
        (b"\r\nX\nY", 2, b"\n"),
        (b"1\n2\r3\nX", 6, b"\n"),
        (b"1\n2\r3\r\nX", 7, b"\r\n"),
        (b"1\n2\rX", 4, b"\r"),
        (b"X", 0, b"\n"),
    ],
)
def test_the_ending_in_use_is_the_next_one_else_the_last_one(data: bytes, offset: int, ending: bytes) -> None:
    """LF where there is none at all."""
    assert endings_at(data, [offset]) == [ending]


def test_each_of_several_places_has_its_own_ending() -> None:
    """A place in front of an ending that is known already shares it."""
    data = b"a\nb\r\nc\rd\n"
    assert endings_at(data, [0, 1, 2, 3, 5, 7]) == [b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"\n"]


def test_breaks_are_counted_where_they_end() -> None:
    """So two stretches that meet inside a CRLF count it once."""
    data = b"a\r\nb\rc\n"
    for middle in range(len(data) + 1):
        assert count_breaks(data, 0, middle, None) + count_breaks(data, middle, len(data), None) == 3


def test_unified_text_has_lf_only() -> None:
    """Each ending becomes one LF."""
    assert to_lf(b"a\r\nb\rc\n\r\n") == b"a\nb\nc\n\n"
