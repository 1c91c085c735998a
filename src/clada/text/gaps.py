"""What differs at a place in a file: the gaps between it and a search text, in order, and in words."""

from __future__ import annotations

from clada.errors import Nearest
from clada.text.differences import LEGEND, TEXT, brief, difference, lined_up, listed, visible
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.text.alignment import Place, Wanted

MISSING, EXTRA, LEFT_OUT = "missing line", "additional line", "lines left out"
BLANK_LINES, BREAK_BEFORE, BREAK_AFTER = "blank lines", "line break before it", "line break after it"
MEANT = (TEXT, MISSING, EXTRA, LEFT_OUT)  # differences in what is said; all others are in form only
LONGER = 200  # characters beyond the wanted ones that make a line long
LISTED = 12  # lines of a file that are shown


class Gap(Value):
    """A line that differs: how, where in the file, what is wanted and what was found there."""

    kind: str
    line: int
    wanted: str | None = None
    found: str | None = None


class Region(Value):
    """Lines of a file that are nearly a search text, by their numbers."""

    first: int
    lines: Sequence[str]
    gaps: Sequence[Gap]

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.first + len(self.lines) - 1

    @property
    def kinds(self) -> list[str]:
        """How it differs, each way once."""
        return list(dict.fromkeys(gap.kind for gap in self.gaps))

    @property
    def form_only(self) -> bool:
        """Whether nothing differs in what it says."""
        return not any(kind in MEANT for kind in self.kinds)

    @property
    def name(self) -> str:
        """Its line numbers in words."""
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"

    def nearest(self) -> Nearest:
        """Return what a report says of it."""
        gap = self.gaps[0]
        return Nearest(self.first, self.last, gap.line, gap.wanted, gap.found, gap.kind, self.form_only)


def region_of(place: Place, wanted: Wanted, anchor_line: int) -> Region:
    """Return the lines of a place that have a counterpart, or are between such; and what differs in them."""
    top = anchor_line - place.anchor  # the number of the first line that was looked at
    used = [f for w, f in place.pairs if w is not None and f is not None]
    first, last = min(used), max(used)
    gaps = list(_gaps(place, wanted, top)) or [_line_break(wanted, top + first, top + last)]
    return Region(top + first, place.found[first : last + 1], gaps)


def _line_break(wanted: Wanted, first: int, last: int) -> Gap:
    """Return the gap at a place where all lines fit: it is at the very start or end of the file."""
    return Gap(BREAK_BEFORE, first) if wanted.starts_line and first == 1 else Gap(BREAK_AFTER, last)


def _gaps(place: Place, wanted: Wanted, top: int) -> Iterator[Gap]:
    line = top + min(f for _, f in place.pairs if f is not None)
    for w, f in place.pairs:
        line = line if f is None else top + f
        gap = _gap(wanted, w, None if f is None else place.found[f], line)
        if gap:
            yield gap
        line += f is not None


def _gap(wanted: Wanted, w: int | None, found: str | None, line: int) -> Gap | None:
    text = None if w is None else wanted.lines[w]
    if w is not None and text is not None and found is not None:
        kind = difference(text, found, wanted.fit(w))
        found = lined_up(text, found) if len(found) > len(text) + LONGER else found
    elif not (text or found or "").strip():
        kind = BLANK_LINES
    else:
        kind = EXTRA if text is None else MISSING
    return Gap(kind, line, text, found) if kind else None


def clause(region: Region) -> str:
    """Say in one clause where the closest place is, and what differs."""
    gap, number = region.gaps[0], len(region.gaps)
    closest = f"closest is {region.name}"
    if gap.kind in (BREAK_BEFORE, BREAK_AFTER):
        return f"{closest}: there is no {gap.kind}"
    if region.kinds == [BLANK_LINES]:
        return f"{closest}: only blank lines differ, first at line {gap.line}"
    if len(region.lines) == number == 1 and gap.wanted is not None and gap.found is not None:
        return f"{closest}, which {_does(gap, region.form_only)}"
    if region.form_only and number > 1:
        return f"{closest}: {number} lines differ only in {' and '.join(region.kinds)}, first line {gap.line}"
    more = "" if number == 1 else f" ({number} lines differ)"
    return f"{closest}: {_first(gap, region.form_only)}{more}"


def _first(gap: Gap, only: bool) -> str:
    """Say what is different first."""
    if gap.kind == MISSING:
        return f"`{brief(gap.wanted or '')}` is not there, before line {gap.line}"
    if gap.kind == EXTRA:
        return f"line {gap.line}, `{brief(gap.found or '')}`, is not in the search text"
    if gap.kind == BLANK_LINES:
        return (
            f"line {gap.line} is blank"
            if gap.found is not None
            else f"no blank line is before line {gap.line}"
        )
    return f"line {gap.line} {_does(gap, only)}"


def _does(gap: Gap, only: bool) -> str:
    if gap.kind == TEXT and not (gap.found or "").strip():
        return "is blank"
    if gap.kind == TEXT:
        return f"reads `{brief(gap.found or '', gap.wanted or '')}`"
    return f"differs {'only ' if only else ''}in {gap.kind}"


def details(region: Region) -> list[str]:
    """Show the first difference with its blanks visible, then the lines of the file as they are."""
    gap = region.gaps[0]
    wanted, found = gap.wanted or "", gap.found or ""
    if not (wanted[:1].isspace() or "indentation" in gap.kind):
        found = found.lstrip()  # the search text starts inside the line
    shown = [
        *([f"  wanted: {visible(wanted, found)}"] if gap.wanted is not None else []),
        *([f"  found:  {visible(found, wanted)}"] if gap.found is not None else []),
    ]
    legend = [f"  ({LEGEND})"] if any(mark in line for mark in "·→" for line in shown) else []
    return [*shown, *legend, *listing(region.lines, region.first, gap.line)]


def listing(lines: Sequence[str], first: int, around: int) -> list[str]:
    """Show numbered lines of a file, a few around the one that matters."""
    begin = max(0, min(around - first - LISTED // 2, len(lines) - LISTED))
    part = lines[begin : begin + LISTED]
    numbered = [f"  {first + begin + i:5} | {listed(line)}" for i, line in enumerate(part)]
    above = ["        …"] if begin else []
    return [*above, *numbered, *(["        …"] if begin + LISTED < len(lines) else [])]
