"""Locating and replacing text in a file's bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clada.text.match import Matches, Text

BREAK = rb"(?:\r\n|\r(?!\n)|(?<!\r)\n)"  # a CRLF is never read as two
# Few different characters, so that matches, repeats and every mix of line endings are common.
files = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", "ü".encode()])).map(b"".join)
searches = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n"]), min_size=1, max_size=4).map(b"".join)
replacements = st.lists(st.sampled_from([b"x", b"a", b"\n", b"\r\n", rb"\1"]), max_size=4).map(b"".join)


def pattern_of(text: bytes) -> bytes:
    """Return the regular expression that says what a search text means."""
    return BREAK.join(re.escape(part) for part in re.split(BREAK, text))


def spans_of(pattern: bytes, data: bytes) -> list[tuple[int, int]]:
    """Return where the expression matches."""
    return [found.span() for found in re.finditer(pattern, data)]


def spans(found: Matches) -> list[tuple[int, int]]:
    """Return the matches as spans, of which there are as many as it says."""
    assert found.count == len(found.starts)
    return list(zip(found.starts, found.ends, strict=True))


def line_of(data: bytes, offset: int) -> int:
    """Return the line of an offset, which never is inside a CRLF."""
    return 1 + len(re.findall(BREAK, data[:offset]))


def replaced(data: bytes, matches: list[tuple[int, int]], replacement: bytes) -> bytes:
    """Replace from the last to the first, each with the ending the specification says."""
    result = data
    for start, end in reversed(matches):
        inside, after, before = (
            re.findall(BREAK, part) for part in (data[start:end], data[end:], data[:start])
        )
        ending = (inside[:1] or after[:1] or before[-1:] or [b"\n"])[0]
        result = result[:start] + re.sub(BREAK, lambda _, e=ending: e, replacement) + result[end:]  # type: ignore[misc]
    return result


@pytest.mark.parametrize(
    ("data", "search", "expected"),
    [
        (b"abcabc", b"abc", [(0, 3), (3, 6)]),
        (b"aaaaa", b"aa", [(0, 2), (2, 4)]),
        (b"Abc", b"abc", []),
        (b"", b"a", []),
        (b"abc", b"", []),
        (b"a\r\nb", b"a\n", [(0, 3)]),
        (b"a\r\nb", b"\nb", [(1, 4)]),
        (b"a\r\nb", b"\n", [(1, 3)]),
        (b"a\r\nb", b"a", [(0, 1)]),
        (b"a\r\nb", b"\n\n", []),
        (b"a\rb", b"a\nb", [(0, 3)]),
        (b"a\r\nb\na\rb", b"a\nb", [(0, 4), (5, 8)]),
        (b"a\nb", b"a\r\nb", [(0, 3)]),
        (b"a\nb", b"a\rb", [(0, 3)]),
        (b"\r\r\n\n", b"\n", [(0, 1), (1, 3), (3, 4)]),
        (b"\xef\xbb\xbfab", b"a", [(3, 4)]),
    ],
)
def test_a_search_text_is_found_exactly_but_for_line_endings(
    data: bytes, search: bytes, expected: list[tuple[int, int]]
) -> None:
    """LF stands for any line ending, whole; all else is literal."""
    assert spans(Text(data).locate(search)) == expected


@pytest.mark.parametrize(
    ("data", "expected", "unfinished"),
    [
        (b"<1>", [(0, 3)], None),
        (b"<1><2>", [(0, 3), (3, 6)], None),
        (b"<1<2>3>", [(0, 5)], None),
        (b"><1", [], 1),
        (b"<1><2<3", [(0, 3)], 3),
        (b"1>", [], None),
    ],
)
def test_a_range_ends_with_the_nearest_end_text(
    data: bytes, expected: list[tuple[int, int]], unfinished: int | None
) -> None:
    """A start text without an end text is no match, and is told apart from none."""
    found = Text(data).locate_range(b"<", b">")
    assert (spans(found), found.unfinished) == (expected, unfinished)


def test_an_end_text_begins_after_the_start_text() -> None:
    """The same text can be start and end; one occurrence is not both."""
    assert Text(b"--a--b--").locate_range(b"--", b"--") == Matches([0], [5], 1, unfinished=6)


@pytest.mark.parametrize(("start", "end"), [(b"", b">"), (b"<", b""), (b"", b"")])
def test_an_empty_start_or_end_text_is_nowhere(start: bytes, end: bytes) -> None:
    """It would be everywhere."""
    assert Text(b"<1>").locate_range(start, end) == Matches([], [], 0)


def test_past_a_limit_ranges_are_only_counted() -> None:
    """The first ones are enough to name."""
    assert Text(b"<1><2><3>").locate_range(b"<", b">", limit=2) == Matches([0, 3], [3, 6], 3)


def test_an_edit_may_leave_one_kind_of_line_ending_where_there_were_two() -> None:
    """The next one takes that kind, and the other way round."""
    text = Text(b"1\r\n2\nX")
    assert text.ending is None
    text = text.replaced(text.locate(b"\n2\n"), b"-")
    assert text.data == b"1-X"
    assert text.replaced(text.locate(b"X"), b"a\nb").data == b"1-a\nb"
    text = Text(b"1\r\nX")
    assert text.ending == b"\r\n"
    text = text.replaced(text.locate(b"1\n"), b"")
    assert text.ending == b"\n"


def test_an_unfinished_range_is_counted_in_the_files_own_bytes() -> None:
    """Mixed line endings before it do not shift it."""
    found = Text(b"\r\n\r\n\na\nb\n").locate_range(b"a\n", b"c\n")
    assert found == Matches([], [], 0, unfinished=5)


@pytest.mark.parametrize(
    ("data", "replacement", "result"),
    [
        (b"1\nX\n2\n", b"a\nb", b"1\na\nb\n2\n"),
        (b"1\r\nX\r\n2\r\n", b"a\nb", b"1\r\na\r\nb\r\n2\r\n"),
        (b"1\rX\r2", b"a\r\nb", b"1\ra\rb\r2"),
        (b"1\r\nX\n2", b"a\nb", b"1\r\na\nb\n2"),
        (b"1\nX\r\n2", b"a\nb", b"1\na\r\nb\r\n2"),
        (b"1\n2\r\nX", b"a\nb", b"1\n2\r\na\r\nb"),
        (b"X", b"a\nb", b"a\nb"),
        (b"X", b"a\r\nb", b"a\nb"),
        (b"\xef\xbb\xbfX\r\n", b"", b"\xef\xbb\xbf\r\n"),
        (b"X", rb"\1\g<0>$1&", rb"\1\g<0>$1&"),
        (b"1\nX\n2\r\nX\r\n3\rX", b"\n", b"1\n\n\n2\r\n\r\n\r\n3\r\r"),
    ],
)
def test_a_replacement_is_literal_and_takes_the_line_ending_in_use(
    data: bytes, replacement: bytes, result: bytes
) -> None:
    """At each match its own: the next line ending, else the last one before, else LF."""
    text = Text(data)
    assert text.replaced(text.locate(b"X"), replacement).data == result


@given(files, searches)
def test_what_is_found_is_what_the_expression_says(data: bytes, search: bytes) -> None:
    """The search equals a regular expression in which LF stands for any line ending."""
    assert spans(Text(data).locate(search)) == spans_of(pattern_of(search), data)


@given(files, searches, searches)
def test_ranges_are_what_the_expression_says(data: bytes, start: bytes, end: bytes) -> None:
    """A range is start text, as little as possible, end text; both whole line endings."""
    between = b"(?:" + BREAK + rb"|[^\r\n])*?"
    expected = spans_of(pattern_of(start) + between + pattern_of(end), data)
    assert spans(Text(data).locate_range(start, end)) == expected


@given(files, searches, searches, st.integers(0, 3))
def test_past_a_limit_matches_are_only_counted(data: bytes, search: bytes, end: bytes, limit: int) -> None:
    """The first ones and the number are the same."""
    text = Text(data)
    for whole, first in (
        (text.locate(search), text.locate(search, limit)),
        (text.locate_range(search, end), text.locate_range(search, end, limit)),
    ):
        assert first == whole.replace(starts=whole.starts[:limit], ends=whole.ends[:limit])


@given(files, searches, replacements)
def test_only_the_matches_change(data: bytes, search: bytes, replacement: bytes) -> None:
    """The result is the file with each match replaced, all other bytes as they were."""
    text = Text(data)
    found = text.locate(search)
    assert text.replaced(found, replacement).data == replaced(data, spans(found), replacement)


@given(files, searches)
def test_lines_are_counted_by_any_line_ending(data: bytes, search: bytes) -> None:
    """LF, CRLF and CR each end one line."""
    text = Text(data)
    starts = text.locate(search).starts
    assert text.lines(starts) == [line_of(data, start) for start in starts]


@given(files, st.lists(st.tuples(searches, replacements, st.booleans()), max_size=8))
def test_edits_in_a_row_are_as_edits_one_by_one(data: bytes, edits: list[tuple[bytes, bytes, bool]]) -> None:
    """What a text remembers from before an edit changes nothing that it answers after it."""
    text = Text(data)
    for search, replacement, every in edits:
        fresh = Text(text.data)
        found = text.locate(search)
        assert found == fresh.locate(search)
        assert text.lines(found.starts) == fresh.lines(found.starts)
        assert text.lines([len(text.data)]) == [line_of(text.data, len(text.data))]
        if not every:
            found = text.locate(search, limit=1)
        text = text.replaced(found, replacement)
        assert text.data == fresh.replaced(found, replacement).data


@given(st.lists(st.tuples(searches, replacements), max_size=4), files)
def test_line_numbers_stay_right_through_edits_in_a_row(
    edits: list[tuple[bytes, bytes]], start: bytes
) -> None:
    """Wherever it is edited, and whatever its line endings are."""
    text = Text(start)
    for search, replacement in edits:
        text = text.replaced(text.locate(search), replacement)
    offsets = range(len(text.data) + 1)
    counted = [_counted(text.data, offset) for offset in offsets]
    assert [text.lines([offset])[0] for offset in offsets] == text.lines(offsets) == counted


def _counted(data: bytes, offset: int) -> int:
    """Count lines as plainly as it goes: a line has ended after its last byte."""
    head = data[:offset]
    if head.endswith(b"\r") and data[offset : offset + 1] == b"\n":
        head = head[:-1]
    return 1 + head.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n")
