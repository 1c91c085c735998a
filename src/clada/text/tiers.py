"""Tiers: how a search text is compared with the lines of a file, from exact to look-alike.

Each tier compares lines by a form of theirs, and is only tried where the one before it found nothing. What
is found must be one place: several places, at any tier, are refused. Nothing is ever compared by similarity.

| tier | equal lines | the replacement |
|---|---|---|
| T0 | equal bytes | as it is |
| T1 | equal but for blanks at their ends | as it is |
| T2 | the same blanks added to, or removed from, every line that is not blank | shifted alike |
| T3 | T0 to T2, without blank lines around the search text | loses as many |
| T4 | T2, and dashes, quotes and spaces that look alike are the same | shifted alike |
"""

from __future__ import annotations

from clada.text.forms import TYPOGRAPHIC
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Lines = Sequence[bytes]  # without their line breaks
    Form = Callable[[bytes], bytes]

BLANKS = b" \t"


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


def even_shift(wanted: Lines, found: Lines) -> Shift | None:
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

    Lines of equal forms that have no shift are not equal.
    """

    forgives: str
    form: Form
    shift: Callable[[Lines, Lines], Shift | None] | None = None
    without_edges: bool = False  # blank lines around the search text are left out first

    def fits(self, wanted: Lines) -> Callable[[Lines], object] | None:
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


def without_edges(wanted: Lines, replacement: Lines) -> tuple[Lines, Lines] | None:
    """Return both without the blank lines around the wanted ones; None if there are none, or only such."""
    above = _blank_above(wanted)
    below = _blank_above(wanted[::-1])
    if above == len(wanted) or not above + below:
        return None
    first = min(above, _blank_above(replacement))
    last = min(below, _blank_above(replacement[first:][::-1]))
    return wanted[above : len(wanted) - below], replacement[first : len(replacement) - last]


def _blank_above(lines: Lines) -> int:
    return next((number for number, line in enumerate(lines) if line.strip(BLANKS)), len(lines))
