"""Finds and replaces text in a file's bytes: exactly but for line endings, in linear time.

Search text with LF matches LF, CRLF and CR alike, and a match never splits a CRLF:

1. where a file has one kind of line ending, the search text gets that ending and is searched for;
2. where they are mixed, a copy of the file with LF only is searched, and its offsets are converted back.

Valid UTF-8 is matched as bytes: no character's bytes occur inside another's, or across two.
"""

from __future__ import annotations

from itertools import islice

from clada.text.line_endings import (
    CRLF,
    ENDINGS,
    LF,
    count_breaks,
    endings_at,
    single_ending,
    to_lf,
)
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Matches(Value):
    """Where a search text was found, in order, and how often: byte offsets."""

    starts: Sequence[int]
    ends: Sequence[int]
    count: int  # more than there are starts, where only the first few were asked for
    unfinished: int | None = None  # of a range: a start text that no end text follows


class Text:
    """A file's bytes. It remembers its line endings, so that several edits in a row look for them once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._ending: bytes | None = b""  # not known yet

    @property
    def ending(self) -> bytes | None:
        """The line ending that all lines have, LF if there is none yet; None if they are mixed."""
        if self._ending == b"":
            self._ending = single_ending(self.data)
        return self._ending

    def locate(self, search: bytes, limit: int | None = None) -> Matches:
        """Find the search text: case-sensitive, not overlapping, from left to right.

        After `limit` matches the others are only counted: a single letter has millions.
        """
        return self._find(_occurrences, limit, to_lf(search))

    def locate_range(self, start: bytes, end: bytes, limit: int | None = None) -> Matches:
        """Find each range that begins with the start text and ends with the nearest end text after it."""
        return self._find(_ranges, limit, to_lf(start), to_lf(end))

    def _find(self, find: Callable[..., Matches], limit: int | None, *texts: bytes) -> Matches:
        limit = len(self.data) if limit is None else limit
        if not any(LF in text for text in texts):
            return find(self.data, limit, *texts)
        if self.ending is None:
            return _to_file_offsets(self.data, find(to_lf(self.data), limit, *texts))
        return find(self.data, limit, *(text.replace(LF, self.ending) for text in texts))

    def lines(self, offsets: Sequence[int]) -> list[int]:
        """Return the line of each offset, counted from 1; the offsets must be in order."""
        lines, position, line = [], 0, 1
        for offset in offsets:
            line += count_breaks(self.data, position, offset, self.ending)
            position = offset
            lines.append(line)
        return lines

    def replaced(self, found: Matches, replacement: bytes) -> Text:
        """Return the text with each match replaced; the replacement gets the line endings in use there.

        If that changes nothing, it is this very text.
        """
        edited = self._join(found, self._replacements(found, to_lf(replacement)))
        return self if edited.data == self.data else edited

    def spliced(self, spans: Sequence[tuple[int, int]], texts: Sequence[bytes]) -> Text:
        """Return the text with each span replaced by its text, which gets the line endings in use there.

        The spans are in order, and the offsets of a copy of this text with LF only.
        """
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        found = Matches(starts, ends, len(spans))
        if self.ending in (None, CRLF):
            found = _to_file_offsets(self.data, found)
        if self.ending is None:
            endings = endings_at(self.data, found.starts)
            texts = [text.replace(LF, ending) for text, ending in zip(texts, endings, strict=True)]
        elif self.ending != LF:
            texts = [text.replace(LF, self.ending) for text in texts]
        return self._join(found, texts)

    def _join(self, found: Matches, replacements: Sequence[bytes]) -> Text:
        """Return the text with each match replaced by its own text."""
        if not found.starts:
            return self
        view = memoryview(self.data)  # a slice of it copies nothing
        parts: list[bytes | memoryview] = []
        position = 0
        for start, end, new in zip(found.starts, found.ends, replacements, strict=True):
            parts += (view[position:start], new)
            position = end
        parts.append(view[position:])
        edited = Text(b"".join(parts))
        # A replacement brings in no new kind of line ending, but the only one may be gone.
        if not self._ending or edited.data.find(self._ending) >= 0:
            edited._ending = self._ending
        return edited

    def _replacements(self, found: Matches, replacement: bytes) -> Sequence[bytes]:
        """Return the replacement for each match, with its line endings."""
        if LF not in replacement:
            return [replacement] * len(found.starts)
        if self.ending is not None:
            return [replacement.replace(LF, self.ending)] * len(found.starts)
        forms = {ending: replacement.replace(LF, ending) for ending in ENDINGS}
        return [forms[ending] for ending in endings_at(self.data, found.starts)]


def find_all(data: bytes, text: bytes, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield the offsets of a text between two others: not overlapping, from left to right."""
    at = data.find(text, start, end) if text else -1
    while at >= 0:
        yield at
        at = data.find(text, at + len(text), end)


def _occurrences(data: bytes, limit: int, search: bytes) -> Matches:
    starts, size = list(islice(find_all(data, search), limit)), len(search)
    rest = data.count(search, starts[-1] + size if starts else 0) if len(starts) == limit and size else 0
    return Matches(starts, [start + size for start in starts], len(starts) + rest)


def _ranges(data: bytes, limit: int, first: bytes, last: bytes) -> Matches:
    """Find ranges, up to a start text without an end text: no range can follow it."""
    starts: list[int] = []
    ends: list[int] = []
    count = 0
    start = data.find(first) if first and last else -1
    while start >= 0:
        found = data.find(last, start + len(first))
        if found < 0:
            return Matches(starts, ends, count, unfinished=start)
        count += 1
        end = found + len(last)
        if count <= limit:
            starts.append(start)
            ends.append(end)
        start = data.find(first, end)
    return Matches(starts, ends, count)


def _to_file_offsets(data: bytes, found: Matches) -> Matches:
    """Return offsets in the copy with LF only as offsets in the data itself, in one pass."""
    offsets = [offset for span in zip(found.starts, found.ends, strict=True) for offset in span]
    if found.unfinished is not None:
        offsets.append(found.unfinished)
    converted = []
    position = passed = 0  # the same place in the data and in the copy
    for offset in offsets:
        position, passed = _advance(data, position, offset - passed), offset
        converted.append(position)
    unfinished = None if found.unfinished is None else converted.pop()
    return Matches(converted[::2], converted[1::2], found.count, unfinished)


def _advance(data: bytes, position: int, length: int) -> int:
    """Return the position `length` bytes further, where each CRLF counts as one byte."""
    end = position + length
    pairs = data.count(CRLF, position, end)
    while pairs:  # one byte more for each CRLF passed, which may pass more of them
        begin, end = end, end + pairs
        pairs = data.count(CRLF, begin - 1, end)
    return end + 1 if length and data[end - 1 : end + 1] == CRLF else end
