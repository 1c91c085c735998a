"""Finds blocks of lines in a text by a form of its lines, in linear time for any number of blocks."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import accumulate

from clada.text.tiers import equal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from clada.text.tiers import Form

    Numbers = array[int]
    Fits = Callable[[Sequence[bytes]], object]  # whether these lines, of equal forms, are those of a block

LF = b"\n"
MOST_COMPARED = 20_000_000  # lines, for one edit: a search text that repeats as often has no single place
NONE: Numbers = array("q")
FIT = 10  # lines that are compared as quickly by their forms as one by more than that


class Lines:
    """A text whose line breaks are all LF, and which ends in one unless it is empty.

    With `many`, its lines are indexed, at once for all the lines that are `expected` in blocks: a block then
    costs as much as its rarest line is frequent, and not a scan of the text. A place is the offsets where it
    starts and ends.
    """

    def __init__(self, data: bytes, expected: Collection[bytes], *, many: bool) -> None:
        self.data, self._expected, self._many = data, expected, many
        self._lines: list[bytes] = []
        self._starts: Sequence[int] = ()
        self._views: dict[Form, _View] = {}
        self._left = MOST_COMPARED

    def places(
        self, form: Form, block: Sequence[bytes], since: int, most: int, fits: Fits | None = None
    ) -> list[tuple[int, int]]:
        """Return where lines are that have the same forms as those of the block, from the line at `since`.

        Only the first few are, `most` of them; and, in a text that is not indexed, of those that overlap two.
        """
        if form is equal and not self._many:
            return self._scan(LF.join(block) + LF, since, most)
        starts = self.starts
        view = self._views.get(form)
        if view is None:
            view = self._views[form] = _View(self._lines, form, self._expected)
        found: list[tuple[int, int]] = []
        for index in view.find([form(line) for line in block], bisect_left(starts, since)):
            self._left -= len(block) * (FIT if fits else 1)
            if self._left < 0:
                return found if len(found) > 1 else []  # it is not known whether it is the only one
            if index is not None and (not fits or fits(self._lines[index : index + len(block)])):
                found.append((starts[index], starts[index + len(block)]))
                if len(found) == most:
                    break
        return found

    @property
    def starts(self) -> Sequence[int]:
        """Where each line starts, and where the last one ends."""
        if not self._starts:
            self._lines = self.data.split(LF)[:-1]
            lengths = map((1).__add__, map(len, self._lines))  # with their breaks; without a step of Python
            self._starts = array("q", accumulate(lengths, initial=0))
        return self._starts

    def _scan(self, block: bytes, since: int, most: int) -> list[tuple[int, int]]:
        """Find a block by its bytes, each at the start of a line."""
        found = [since] if self.data.startswith(block, since) else []
        needle = LF + block
        at = since + len(block) - 1 if found else max(since - 1, 0)
        while len(found) < most and (at := self.data.find(needle, at)) >= 0:
            found.append(at + 1)
            at += len(block)  # at the line break that ends it, which may come before another
        if len(found) == 1 < most:  # another one may begin inside of it
            overlapping = self.data.find(needle, found[0], found[0] + 2 * len(block))
            if overlapping >= 0:
                found.append(overlapping + 1)
        return [(start, start + len(block)) for start in found]


class _View:
    """Lines in one form, with the numbers of the expected ones; of all, once others are searched for."""

    def __init__(self, lines: Sequence[bytes], form: Form, expected: Iterable[bytes]) -> None:
        self._keys: Sequence[bytes] = lines if form is equal else list(map(form, lines))
        self._numbers: dict[bytes, Numbers] = {form(line): array("q") for line in expected}
        self._has_all = False
        numbers = self._numbers
        for number in [number for number, key in enumerate(self._keys) if key in numbers]:
            numbers[self._keys[number]].append(number)

    def find(self, block: list[bytes], since: int) -> Iterator[int | None]:
        """Yield the line numbers, from 0 and not before `since`, at which the block may start.

        Those at which it does not are None.
        """
        if not self._has_all and any(key not in self._numbers for key in block):
            self._index_all()
        numbers = [self._numbers.get(key, NONE) for key in block]
        rarest = min(range(len(block)), key=lambda index: len(numbers[index]))
        candidates, size = numbers[rarest], len(block)
        for index in range(bisect_left(candidates, since + rarest), len(candidates)):
            at = candidates[index] - rarest
            yield at if self._keys[at : at + size] == block else None

    def _index_all(self) -> None:
        self._numbers, self._has_all = {}, True
        for number, key in enumerate(self._keys):
            found = self._numbers.get(key)
            if found is None:
                found = self._numbers[key] = array("q")
            found.append(number)
