"""Locating text in a file's bytes, and replacing it: exact but for line endings, linear, and pure.

Search text with LF matches LF, CRLF and CR alike, and a match never splits a CRLF:

1. where a file has one kind of line ending, the search text is given that ending and simply found;
2. where they are mixed, a copy of the file with LF only is searched, and the places are counted back.

Valid UTF-8 is matched as bytes: no character's bytes occur inside another's, or across two.
"""

from __future__ import annotations

from clada.text.lines import CRLF, ENDINGS, LF, breaks, endings_from, only_ending, unified
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MARK_EVERY = 65_536  # bytes between two line numbers that a text remembers


class Found(Value):
    """Where a search text is, in bytes and in order; how often; and a start text that no end text follows."""

    starts: Sequence[int]
    ends: Sequence[int]
    count: int  # more than there are starts, where only the first few were asked for
    unfinished: int | None = None


class Text:
    """A file's bytes. It remembers what it learns about them, so that edits in a row cost one scan each."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._ending: bytes | None = b""  # not known yet
        self._marks = [(0, 1)]  # offsets with their line numbers, in order

    @property
    def ending(self) -> bytes | None:
        """The one line ending in use, LF where there is none yet; None where they are mixed."""
        if self._ending == b"":
            self._ending = only_ending(self.data)
        return self._ending

    def locate(self, search: bytes, limit: int | None = None) -> Found:
        """Find the search text: case-sensitive, not overlapping, from left to right.

        Past the limit, matches are only counted: a letter has millions of them.
        """
        return self._find(_occurrences, limit, unified(search))

    def locate_range(self, start: bytes, end: bytes, limit: int | None = None) -> Found:
        """Find what begins with the start text and ends with the nearest end text after it."""
        return self._find(_ranges, limit, unified(start), unified(end))

    def _find(self, find: Callable[..., Found], limit: int | None, *texts: bytes) -> Found:
        limit = len(self.data) if limit is None else limit
        if not any(LF in text for text in texts):
            return find(self.data, limit, *texts)
        if self.ending is None:
            return _counted_back(self.data, find(unified(self.data), limit, *texts))
        return find(self.data, limit, *(text.replace(LF, self.ending) for text in texts))

    def lines(self, offsets: Sequence[int]) -> list[int]:
        """Return the 1-based line of each offset; they must be in order."""
        if not offsets:
            return []
        position, line = self._mark_before(offsets[0])
        lines = []
        for offset in offsets:
            line += breaks(self.data, position, offset, self.ending)
            position = offset
            lines.append(line)
        return lines

    def _mark_before(self, offset: int) -> tuple[int, int]:
        """Return the last mark at or before the offset, after making those that are missing up to it."""
        marks = self._marks
        while marks[-1][0] + MARK_EVERY <= offset:
            position, line = marks[-1]
            there = position + MARK_EVERY
            marks.append((there, line + breaks(self.data, position, there, self.ending)))
        return next(mark for mark in reversed(marks) if mark[0] <= offset)

    def spliced(self, found: Found, replacement: bytes) -> Text:
        """Return the text with each match replaced, literally but for line endings: those in use there."""
        if not found.starts:
            return self
        edited = Text(_joined(self.data, found, self._replacements(found, unified(replacement))))
        edited._ending = self._ending_after(edited.data)
        edited._marks = self._marks_after(found, edited.data)
        return edited

    def _replacements(self, found: Found, replacement: bytes) -> Sequence[bytes]:
        if LF not in replacement:
            return [replacement] * len(found.starts)
        if self.ending is not None:
            return [replacement.replace(LF, self.ending)] * len(found.starts)
        forms = {ending: replacement.replace(LF, ending) for ending in ENDINGS}
        return [forms[ending] for ending in endings_from(self.data, found.starts)]

    def _ending_after(self, data: bytes) -> bytes | None:
        """Return what is known of the endings after a splice, which brings in no new kind of them."""
        return self._ending if not self._ending or self._ending in data else b""

    def _marks_after(self, found: Found, data: bytes) -> list[tuple[int, int]]:
        """Return the marks that still hold: those before the matches, and after it if there is only one."""
        start, end = found.starts[0], found.ends[0]
        before = [mark for mark in self._marks if mark[0] < start] or [(0, 1)]
        if len(found.starts) > 1 or self._marks[-1][0] < end:
            return before
        grown = len(data) - len(self.data)
        window = max(start - 1, 0)  # a CR just before the match counts or not by what follows it
        more = breaks(data, window, end + grown, self.ending) - breaks(self.data, window, end, self.ending)
        return before + [(offset + grown, line + more) for offset, line in self._marks if offset >= end]


def _occurrences(data: bytes, limit: int, search: bytes) -> Found:
    starts: list[int] = []
    size = len(search)
    start = data.find(search) if size else -1
    while start >= 0 and len(starts) < limit:
        starts.append(start)
        start = data.find(search, start + size)
    rest = data.count(search, start) if start >= 0 else 0
    return Found(starts, [start + size for start in starts], len(starts) + rest)


def _ranges(data: bytes, limit: int, first: bytes, last: bytes) -> Found:
    """Find ranges; after a start text without an end text there can be no more of them."""
    starts: list[int] = []
    ends: list[int] = []
    count = 0
    start = data.find(first) if first and last else -1
    while start >= 0:
        found = data.find(last, start + len(first))
        if found < 0:
            return Found(starts, ends, count, unfinished=start)
        count += 1
        end = found + len(last)
        if count <= limit:
            starts.append(start)
            ends.append(end)
        start = data.find(first, end)
    return Found(starts, ends, count)


def _counted_back(data: bytes, found: Found) -> Found:
    """Return places in the unified copy of the data as places in the data itself."""
    offsets = [offset for span in zip(found.starts, found.ends, strict=True) for offset in span]
    if found.unfinished is not None:
        offsets.append(found.unfinished)
    places = list(_places(data, offsets))
    unfinished = None if found.unfinished is None else places.pop()
    return Found(places[::2], places[1::2], found.count, unfinished)


def _places(data: bytes, offsets: Sequence[int]) -> Iterator[int]:
    """Yield where each offset of the unified copy is in the data, in one pass; they must be in order."""
    place = passed = 0
    for offset in offsets:
        place = _advanced(data, place, offset - passed)
        passed = offset
        yield place


def _advanced(data: bytes, place: int, length: int) -> int:
    """Return the place so many bytes further where a CRLF counts as one: as far again for each one passed."""
    end = place + length
    pairs = data.count(CRLF, place, end)
    while pairs:
        begin, end = end, end + pairs
        pairs = data.count(CRLF, begin - 1, end)
    return end + 1 if length and data[end - 1 : end + 1] == CRLF else end


def _joined(data: bytes, found: Found, replacements: Sequence[bytes]) -> bytes:
    view = memoryview(data)  # a slice of it copies nothing
    parts: list[bytes | memoryview] = []
    position = 0
    for start, end, replacement in zip(found.starts, found.ends, replacements, strict=True):
        parts += (view[position:start], replacement)
        position = end
    parts.append(view[position:])
    return b"".join(parts)
