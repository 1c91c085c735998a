"""Tiers: how a search text is compared with the lines of a file, from exact to look-alike.

Each tier compares lines by a form of theirs, and is only tried where the one before it found nothing. What
is found must be one place: several places, at any tier, are refused. Nothing is ever compared by similarity.
`Lines` finds blocks of lines by a form, in linear time for any number of blocks.

| tier | equal lines | the replacement |
|---|---|---|
| T0 | equal bytes | as it is |
| T1 | equal but for blanks at their ends | as it is |
| T2 | the same blanks added to, or removed from, every line that is not blank | shifted alike |
| T3 | T0 to T2, without blank lines around the search text | loses as many |
| T4 | T2, and dashes, quotes and spaces that look alike are the same | shifted alike |
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import accumulate

from clada.text.forms import TYPOGRAPHIC
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    Block = Sequence[bytes]  # lines, without their breaks
    Form = Callable[[bytes], bytes]
    Fits = Callable[[Block], object]  # whether these lines, of equal forms, are those of a block
    Numbers = array[int]

BLANKS = b" \t"
LF = b"\n"
MOST_COMPARED = 20_000_000  # lines, for one edit: a search text that repeats as often has no single place
NONE: Numbers = array("q")
FIT = 10  # lines that are compared as quickly by their forms as one by more than that


class Shift(Value):
    """Blanks that the lines of a file have in front and those of a search text do not, or the reverse."""

    added: bytes = b""
    removed: bytes = b""

    def of(self, line: bytes) -> bytes | None:
        """Return a line of the replacement shifted alike; None if it lacks the blanks to be removed."""
        if not line.strip(BLANKS):
            return line.removeprefix(self.removed)
        if not line.startswith(self.removed):
            return None
        return self.added + line.removeprefix(self.removed)


NO_SHIFT = Shift()


def equal(line: bytes) -> bytes:
    """T0: a line is its bytes."""
    return line


def plain(line: bytes) -> bytes:
    """T4: as T2, and signs that look alike are one."""
    if not line.isascii():
        line = line.decode(errors="replace").translate(TYPOGRAPHIC).encode()
    return line.strip(BLANKS)


def even_shift(wanted: Block, found: Block) -> Shift | None:
    """Return the one shift between all lines that are not blank; None if they differ unevenly."""
    shift: Shift | None = None
    for line, other in zip(wanted, found, strict=True):
        ours, theirs = _indentation(line), _indentation(other)
        if ours is None or theirs is None:
            continue
        if theirs.endswith(ours):
            this = Shift(added=theirs[: len(theirs) - len(ours)])
        elif ours.endswith(theirs):
            this = Shift(removed=ours[: len(ours) - len(theirs)])
        else:
            return None
        if shift not in (None, this):
            return None
        shift = this
    return shift or NO_SHIFT


def _indentation(line: bytes) -> bytes | None:
    """Return the blanks in front of a line; None if it has nothing else."""
    rest = line.lstrip(BLANKS)
    return line[: len(line) - len(rest)] if rest else None


class Tier(Value):
    """A way of comparing lines: what it forgives, in words; their form; and how far they are shifted, if so.

    Block of equal forms that have no shift are not equal.
    """

    forgives: str
    form: Form
    shift: Callable[[Block, Block], Shift | None] | None = None
    without_edges: bool = False  # blank lines around the search text are left out first

    def fits(self, wanted: Block) -> Fits | None:
        """Return the further test that lines of equal forms must pass, if there is one."""
        shift = self.shift
        return (lambda found: shift(wanted, found)) if shift else None


T0 = Tier("", equal)
T1 = Tier("trailing blanks", lambda line: line.rstrip(BLANKS))
T2 = Tier("indentation", lambda line: line.strip(BLANKS), even_shift)
T4 = Tier("typographic signs", plain, even_shift)
T3 = tuple(tier.replace(without_edges=True) for tier in (T0, T1, T2))
TIERS = {
    "exact": (T0,),
    "blanks": (T0, T1, T2, *T3),
    "typographic": (T0, T1, T2, *T3, T4, T4.replace(without_edges=True)),
}
EDGES = "blank lines around it"


def without_edges(wanted: Block, replacement: Block) -> tuple[Block, Block] | None:
    """Return both without the blank lines around the wanted ones; None if there are none, or only such."""
    above = _blank_above(wanted)
    below = _blank_above(wanted[::-1])
    if above == len(wanted) or not above + below:
        return None
    first = min(above, _blank_above(replacement))
    last = min(below, _blank_above(replacement[first:][::-1]))
    return wanted[above : len(wanted) - below], replacement[first : len(replacement) - last]


def _blank_above(lines: Block) -> int:
    return next((number for number, line in enumerate(lines) if line.strip(BLANKS)), len(lines))


class Lines:
    """A text whose line breaks are all LF, and which ends in one unless it is empty.

    Its lines are indexed, at once for all the lines that are `expected` in blocks: a block then costs as much
    as its rarest line is frequent, and not a scan of the text. A place is the offsets where it starts and
    ends.
    """

    def __init__(self, data: bytes, expected: Collection[bytes]) -> None:
        self.data, self._expected = data, expected
        self._lines = data.split(LF)[:-1]
        # Where each line starts, and where the last one ends.
        self.starts: Sequence[int] = array(
            "q", accumulate((len(line) + 1 for line in self._lines), initial=0)
        )
        self._views: dict[Form, _View] = {}
        self._left = MOST_COMPARED

    def places(
        self, form: Form, block: Block, since: int, most: int, fits: Fits | None = None
    ) -> list[tuple[int, int]]:
        """Return where lines are that have the same forms as those of the block, from the line at `since`.

        Only the first few are, `most` of them.
        """
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


class _View:
    """Lines in one form, with the numbers of the expected ones; of all, once others are searched for."""

    def __init__(self, lines: Block, form: Form, expected: Iterable[bytes]) -> None:
        self._keys: Block = lines if form is equal else list(map(form, lines))
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
