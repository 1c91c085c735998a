"""A large text that many edits go through: found in one pass, and looked at only around what is changed.

All search texts that are to come are found at once in the text as it was, its base. Edits are not applied to
it, but kept as patches: stretches of the base with what stands there now. A search text then is

1. where it was in the base, if no patch touches that place;
2. around a patch, where it may have come to be: each patch is searched for all of them when it changes.

Patches that are so near to each other that a search text could reach from one into the next become one. So
each edit costs what it changes, whatever the size of the file, and each sees what the ones before it left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate, repeat

from clada.text.finder import CHUNK, FEW, Finder
from clada.text.line_endings import CR, LF, to_lf
from clada.text.match import Matches, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    # An offset in the base, and 0; or the start of a patch, and an offset in its new text. In order, they
    # are in the order of the text.
    Place = tuple[int, int]

WORTH_IT = 1 << 26  # bytes that edits would look through one by one, from which on there is an index
NOTHING: dict[bytes, list[tuple[Place, Place]]] = {}  # is found around most patches
PAGE = 1 << 15  # bytes, at most, between two places of the base whose line number is known


def indexed(text: Text, searches: Sequence[str]) -> Text | IndexedText:
    """Return a text that finds these faster than one by one, where that is worth it; else the same."""
    if len(text.data) * len(searches) < WORTH_IT or text.ending is None:
        return text
    finder = Finder.of(Counter(_form(search.encode(), text.ending) for search in searches))
    return IndexedText(_Patched(text, finder)) if finder else text


def _form(search: bytes, ending: bytes) -> bytes:
    """Return a search text with the line endings of the file."""
    if CR in search:
        search = to_lf(search)
    return search if ending == LF else search.replace(LF, ending)


class IndexedText:
    """A text as `Text` is one, for one edit: `replaced` returns the text for the next, and ends this one.

    What `locate` returns as starts and ends are places, which only this text understands.
    """

    def __init__(self, patched: _Patched) -> None:
        self._patched = patched

    @property
    def data(self) -> bytes:
        """The whole text."""
        return self._patched.data()

    @property
    def ending(self) -> bytes:
        """The line ending that all lines have."""
        return self._patched.ending

    def plain(self) -> Text:
        """Return it without an index."""
        return Text(self.data)

    def locate(self, search: bytes, limit: int | None = None) -> Matches:
        """Find the search text, as `Text` does."""
        patched = self._patched
        search = _form(search, patched.ending)
        spans = patched.spans(search)
        if spans is None or (limit is not None and len(spans) > limit):
            return patched.places(self.plain().locate(search, limit))
        if len(spans) == 1:  # as most
            start, end = spans[0]
            return Matches((start,), (end,), 1)
        taken = spans[:1]
        for start, end in spans[1:]:
            if start >= taken[-1][1]:  # they do not overlap, from left to right
                taken.append((start, end))
        return _matches(taken)

    def locate_range(self, start: bytes, end: bytes, limit: int | None = None) -> Matches:
        """Find each range that begins with the start text and ends with the nearest end text after it."""
        first, last = (_form(text, self.ending) for text in (start, end))
        starts, ends = self._patched.spans(first), self._patched.spans(last)
        if starts is None or ends is None or (limit is not None and len(starts) > limit):
            return self._patched.places(self.plain().locate_range(first, last, limit))
        taken: list[tuple[Place, Place]] = []
        for begin, after in starts:
            if taken and begin < taken[-1][1]:
                continue
            number = bisect_left(ends, (after, after))
            if number == len(ends):  # somebody will explain that
                return self._patched.places(self.plain().locate_range(first, last, limit))
            taken.append((begin, ends[number][1]))
        return _matches(taken)

    def locate_lines(self, search: bytes) -> Matches | None:
        """Find whole lines, each with its line break, in one place; None where that takes a closer look."""
        spans = self._patched.spans(_form(search, self.ending)) if search.endswith(LF) else None
        if not spans or not self._patched.ends_in_a_break():
            return None
        found = [span for span in spans if self._patched.begins_a_line(span[0])]
        return _matches(found) if len(found) == 1 else None

    def lines(self, starts: Sequence[Place]) -> list[int]:
        """Return the line of each place, counted from 1."""
        return self._patched.lines(starts)

    def replaced_once(self, _search: bytes, _new: bytes) -> None:
        """Replace a text in one step: not here, where `locate` knows its places."""

    def replaced(self, found: Matches, replacement: bytes) -> Text | IndexedText:
        """Return the text with each match replaced; this very text, if that changes nothing."""
        patched = self._patched
        if not patched.replace(found, _form(replacement, patched.ending)):
            return self
        if not patched.breaks and patched.ending != LF:
            return self.plain()  # its only line break is gone
        return IndexedText(patched.again() if patched.is_worn() else patched)


def _matches(spans: Sequence[tuple[Place, Place]]) -> Matches:
    starts, ends = zip(*spans, strict=True) if spans else ((), ())
    return Matches(starts, ends, len(spans))


class _Stretch:
    """A stretch of the base, what stands there now, and what is found around it."""

    __slots__ = ("end", "found", "new", "start")

    def __init__(self, start: int, end: int, new: bytes) -> None:
        self.start, self.end, self.new = start, end, new
        self.found = NOTHING


class _Patched:
    """The base with its patches, in order; two of them are never within reach of one search text."""

    def __init__(self, text: Text, finder: Finder) -> None:
        self.base, self.ending = text.data, text.ending or LF
        self._finder = finder
        self._occurrences = finder.find_all(self.base)
        self._unknown = finder.alone.union(
            each for each, places in self._occurrences.items() if places is None
        )
        self._starts: list[int] = []
        self._patches: list[_Stretch] = []
        self._more_breaks: list[int] = []  # that each has than the base there
        self._near: dict[bytes, set[int]] = {}  # by search text, the starts of patches around which it is
        self._looked_at = 0  # bytes, since there is this base
        self._data: bytes | None = self.base
        self._sign = self.ending[-1:]  # counted once for each line break
        first = (place for places in self._occurrences.values() if places for place in places[:FEW])
        self._marks = sorted({*range(0, len(self.base) + 1, PAGE), *first})
        between = map(self.base.count, repeat(self._sign), self._marks, [*self._marks[1:], len(self.base)])
        self._breaks_before = list(accumulate(between, initial=0))  # each mark
        self.breaks = self._breaks_before[-1]
        self._uneven = False  # whether any patch has more line breaks than the base there, or fewer
        self._known = (0, 0)  # a number of patches, and how many line breaks they have more than the base

    def is_worn(self) -> bool:
        """Whether as much was looked at around patches as there is in all: time for a new base."""
        return self._looked_at > len(self.base) + CHUNK

    def again(self) -> _Patched:
        """Return the same, with the text as it is now for a base."""
        return _Patched(Text(self.data()), self._finder)

    def data(self) -> bytes:
        """Return the whole text."""
        if self._data is None:
            view, at = memoryview(self.base), 0
            parts: list[bytes | memoryview] = []
            for patch in self._patches:
                parts += (view[at : patch.start], patch.new)
                at = patch.end
            self._data = b"".join([*parts, view[at:]])
        return self._data

    # Finding.

    def spans(self, search: bytes) -> list[tuple[Place, Place]] | None:
        """Return where a text begins and ends, overlapping matches too, in order; None if that is unknown."""
        left = self._finder.left
        if search in self._unknown or not left.get(search):
            return None
        left[search] -= 1
        size, starts, patches = len(search), self._starts, self._patches
        spans: list[tuple[Place, Place]] = []
        for start in self._occurrences.get(search) or ():
            before = bisect_left(starts, start + size)
            if not before or patches[before - 1].end <= start:  # no patch touches it
                spans.append(((start, 0), (start + size, 0)))
        near = self._near.get(search)
        if not near:
            return spans  # which are in order
        for start in near:
            spans += patches[bisect_left(starts, start)].found[search]
        return sorted(spans)

    def places(self, found: Matches) -> Matches:
        """Return matches whose offsets are those of the whole text with places instead."""
        offsets = sorted({*found.starts, *found.ends})
        places: dict[int, Place] = {}
        patches, at, more = iter(self._patches), 0, 0  # `more` bytes than in the base up to here
        patch = next(patches, None)
        for offset in offsets:
            while patch and offset - more >= patch.start + len(patch.new):
                more += len(patch.new) - (patch.end - patch.start)
                patch = next(patches, None)
            at = offset - more
            inside = patch is not None and at >= patch.start
            places[offset] = (patch.start, at - patch.start) if patch and inside else (at, 0)
        starts, ends = ([places[each] for each in offsets] for offsets in (found.starts, found.ends))
        return found.replace(starts=starts, ends=ends)

    def part(self, start: Place, end: Place) -> bytes:
        """Return the text between two places."""
        lo, hi = bisect_left(self._starts, start[0]), bisect_right(self._starts, end[0])
        if lo == hi:
            return self.base[start[0] : end[0]]
        parts: list[bytes] = []
        at = start[0]
        for patch in self._patches[lo:hi]:
            first = start[1] if patch.start == start[0] else 0
            last = end[1] if patch.start == end[0] else len(patch.new)
            parts += (self.base[at : patch.start], patch.new[first:last])
            at = patch.end
        return b"".join([*parts, self.base[at : end[0]]])

    def begins_a_line(self, place: Place) -> bool:
        """Whether nothing, or a line break, is right before a place."""
        offset, inside = place
        number = bisect_left(self._starts, offset)
        if inside:
            return self._patches[number].new.startswith(self._sign, inside - 1)
        before = self._patches[number - 1] if number else None
        if before and before.end == offset:
            if before.new:
                return before.new.endswith(self._sign)
            offset = before.start
        return not offset or self.base.startswith(self._sign, offset - 1)

    def ends_in_a_break(self) -> bool:
        """Whether its last line has a line break."""
        return self.begins_a_line((len(self.base), 0))

    def lines(self, places: Sequence[Place]) -> list[int]:
        """Return the line of each place, counted from 1."""
        lines = []
        for offset, inside in places:
            mark = bisect_right(self._marks, offset) - 1
            line = 1 + self._breaks_before[mark]
            known = self._marks[mark]
            if known < offset:
                line += self.base.count(self._sign, known, offset)
            if inside or self._uneven:
                number = bisect_left(self._starts, offset)
                line += self._more_breaks_before(number)
                line += self._patches[number].new.count(self._sign, 0, inside) if inside else 0
            lines.append(line)
        return lines

    def _more_breaks_before(self, number: int) -> int:
        """Return how many line breaks so many patches have more than the base: edits are mostly in order."""
        known, more = self._known
        if known <= number:
            more += sum(self._more_breaks[known:number])
        else:
            more -= sum(self._more_breaks[number:known])
        self._known = number, more
        return more

    # Changing.

    def replace(self, found: Matches, new: bytes) -> bool:
        """Put a text in place of each match; return whether that changes anything."""
        if len(found.starts) == 1:  # as most
            return self._replace_one(found.starts[0], found.ends[0], new)
        spans: Iterable[tuple[Place, Place]] = zip(found.starts, found.ends, strict=True)
        changed = [(start, end) for start, end in spans if self.part(start, end) != new]
        for start, end in reversed(changed):  # what is left of a splice stays
            self._splice(start, end, new)
        for start, _end in changed:
            self._look_around(start[0])
        return bool(changed)

    def _replace_one(self, start: Place, end: Place, new: bytes) -> bool:
        """Put a text in place of a single match; return whether that changes anything."""
        (first, _), (last, _) = start, end
        starts, reach, at = self._starts, self._finder.reach, bisect_left(self._starts, first)
        follows = at > 0 and first - self._patches[at - 1].end < reach
        if follows or (at < len(starts) and starts[at] - last < reach):
            if self.part(start, end) == new:
                return False
            self._splice(start, end, new)
            self._look_around(first)
            return True
        if self.base[first:last] == new:  # as no patch is near
            return False
        patch = _Stretch(first, last, new)
        self._put(at, at, patch)
        self._search_around(patch)
        return True

    def _splice(self, start: Place, end: Place, new: bytes) -> None:
        """Make one patch of all from one place to another."""
        lo = bisect_left(self._starts, start[0])
        hi = bisect_right(self._starts, end[0]) if end[1] else bisect_left(self._starts, end[0])
        first, last = start[0], end[0]
        if lo < hi and self._starts[lo] == first:
            new = self._patches[lo].new[: start[1]] + new
        if end[1]:
            new, last = new + self._patches[hi - 1].new[end[1] :], self._patches[hi - 1].end
        self._put(lo, hi, _Stretch(first, last, new))

    def _put(self, lo: int, hi: int, patch: _Stretch) -> None:
        """Put a patch in place of some."""
        more = patch.new.count(self._sign) - self.base.count(self._sign, patch.start, patch.end)
        self.breaks += more
        if more and not self._uneven:
            self._uneven, self._known = True, (0, 0)
        elif self._uneven and self._known[0] > lo:
            self._more_breaks_before(lo)
        if lo < hi:
            self.breaks -= sum(self._more_breaks[lo:hi])
            for old in self._patches[lo:hi]:
                for search in old.found:
                    self._near[search].discard(old.start)
            del self._starts[lo:hi], self._patches[lo:hi], self._more_breaks[lo:hi]
        self._starts.insert(lo, patch.start)
        self._patches.insert(lo, patch)
        self._more_breaks.insert(lo, more)
        self._data = None

    def _look_around(self, start: int) -> None:
        """Find what has come to be in the patch that is there, or reaches into it."""
        at = bisect_right(self._starts, start) - 1
        self._search_around(self._joined_to_neighbours(at, self._finder.reach))

    def _search_around(self, patch: _Stretch) -> None:
        """Find what has come to be in a patch that has no other within reach."""
        base, reach = self.base, self._finder.reach
        lead = base[max(patch.start - reach, 0) : patch.start]
        around = lead + patch.new + base[patch.end : patch.end + reach]
        self._looked_at += len(around)
        found = self._finder.find(around)
        if found:
            self._keep_found(patch, found, len(lead), len(lead) + len(patch.new))

    def _keep_found(
        self, patch: _Stretch, found: Mapping[bytes, list[int] | None], before: int, after: int
    ) -> None:
        """Keep what was found around a patch, as far as it is in what begins and ends at these offsets."""
        if patch.found is NOTHING:
            patch.found = {}
        for search, offsets in found.items():
            if offsets is None:
                self._unknown.add(search)
                continue
            spans = [
                (self._place(patch, offset - before), self._place(patch, offset - before + len(search)))
                for offset in offsets
                if offset < after and offset + len(search) > before
            ]
            if spans:
                patch.found[search] = spans
                self._near.setdefault(search, set()).add(patch.start)

    def _joined_to_neighbours(self, at: int, reach: int) -> _Stretch:
        """Join a patch with those that a search text may reach from it; return the whole."""
        starts, patches, lo, hi = self._starts, self._patches, at, at + 1
        while lo and starts[lo] - patches[lo - 1].end < reach:
            lo -= 1
        while hi < len(starts) and starts[hi] - patches[hi - 1].end < reach:
            hi += 1
        if hi - lo > 1:
            first, last = patches[lo], patches[hi - 1]
            new = self.part((first.start, 0), (last.start, len(last.new)))
            self._put(lo, hi, _Stretch(first.start, last.end, new))
        return patches[lo]

    def _place(self, patch: _Stretch, offset: int) -> Place:
        """Return the place that is so many bytes after, or before, the start of a patch."""
        if 0 <= offset < len(patch.new):
            return patch.start, offset
        return (patch.start + offset if offset < 0 else patch.end + offset - len(patch.new)), 0
