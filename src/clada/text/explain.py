"""Explains why a search text was not found: where the file has something similar, and what differs.

1. The search text may match but for an artifact of copying (line numbers, a code fence, an ellipsis in place
   of lines): with that removed, it is found exactly.
2. Otherwise the most similar place is searched for, and compared with it line by line.
3. Where nothing is similar enough, no place is named: a wrong pointer is worse than none.
"""

from __future__ import annotations

from clada.errors import Nearest
from clada.text.differences import (
    LEGEND,
    TEXT,
    difference,
    from_match,
    line_for_listing,
    shorten_line,
    show_blanks,
)
from clada.text.forms import ARTIFACTS, around_ellipsis
from clada.text.line_endings import LF, to_lf
from clada.text.similarity import (
    compare_in_full,
    line_around,
    lines_above,
    lines_below,
    most_similar,
    wanted_lines,
)
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.text.alignment import WantedLines
    from clada.text.match import Matches, Text
    from clada.text.similarity import NearPlace

MAX_WHOLE_FILE = 1_000  # bytes of a file that is listed in full where nothing in it is similar
MIN_MEANINGFUL = 4  # characters of a text that is hardly there by chance
MIN_TELLING = 15  # characters of a replacement that is hardly there for another reason than this edit
MAX_PLACES = 3  # where such a text may be
MAX_ELLIPSES = 3  # that are tried
LONG_LINE = 200  # characters that a found line has more than the wanted one, if it is cut
MAX_LISTED = 12  # lines of the file that are shown
BEYOND_BYTES = 1_000  # of the file in which those are searched for
BEYOND = 3  # lines before and after a place that are shown with it

ALREADY_THERE = "the replacement is already there at"  # before the line numbers
# Kinds of gaps, besides the names of differences between two lines.
MISSING, EXTRA, LEFT_OUT = "missing line", "additional line", "lines left out"
BLANK_LINES, BREAK_BEFORE, BREAK_AFTER = "blank lines", "line break before it", "line break after it"
NOT_FORM_ONLY = (TEXT, MISSING, EXTRA, LEFT_OUT)  # all other kinds are differences in form


class Explanation(Value):
    """Why a search text was not found: in one clause, in several lines, and the nearest place as a value."""

    hint: str
    details: str
    nearest: Nearest | None = None


class Gap(Value):
    """A line that differs: how, its number in the file, the wanted line and the one found there."""

    kind: str
    line: int
    wanted: str | None = None
    found: str | None = None


class Region(Value):
    """Lines of a file that nearly match a search text, and the gaps in which they do not."""

    first: int  # line number
    lines: Sequence[str]
    gaps: Sequence[Gap]
    above: Sequence[str] = ()  # lines of the file before it
    below: Sequence[str] = ()  # and after it

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.first + len(self.lines) - 1

    @property
    def gap(self) -> Gap:
        """The gap to tell about: the first; of lines that one side has more, the first that is not blank."""
        first = self.gaps[0]
        extra = first.wanted is None  # then each has a line number of its own
        for number, gap in enumerate(self.gaps):
            if gap.line != first.line + number * extra or gap.kind not in (EXTRA, MISSING, BLANK_LINES):
                break
            if gap.kind == (EXTRA if extra else MISSING):
                return gap
        return first

    @property
    def kinds(self) -> list[str]:
        """The kinds of its gaps, each once."""
        return list(dict.fromkeys(gap.kind for gap in self.gaps))

    @property
    def form_only(self) -> bool:
        """Whether all gaps are differences in form."""
        return not any(kind in NOT_FORM_ONLY for kind in self.kinds)

    @property
    def name(self) -> str:
        """`line 3` or `lines 3-5`."""
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"

    @property
    def listing(self) -> list[str]:
        """Its lines with their numbers, around the first gap, and a few lines beyond its edges."""
        above, below = self.above[-BEYOND:], self.below[:BEYOND]
        return _listing([*above, *self.lines, *below], self.first - len(above), self.gap.line)

    def explanation(self, hint: str, others: Sequence[Region] = ()) -> Explanation:
        """Return the explanation: the hint, the first gap with its blanks visible, the lines of the file."""
        gap = self.gap
        wanted, found = gap.wanted or "", gap.found or ""
        if gap.wanted is None or gap.found is None:
            wanted = found = wanted or found  # there is nothing to compare it with
        elif not (wanted[:1].isspace() or "indentation" in gap.kind):
            found = found.lstrip()  # the search text starts inside the line
        shown = [
            *([f"  wanted: {show_blanks(wanted, found)}"] if gap.wanted is not None else []),
            *([f"  found:  {show_blanks(found, wanted)}"] if gap.found is not None else []),
        ]
        legend = [f"  ({LEGEND})"] if any(mark in line for mark in "·→" for line in shown) else []
        lines = [hint, *shown, *legend, *self.listing]
        for other in others:
            lines += [f"  {other.name}:", *other.listing]
        spans = tuple((other.first, other.last) for other in others)
        nearest = Nearest(
            self.first, self.last, gap.line, gap.wanted, gap.found, gap.kind, self.form_only, spans
        )
        return Explanation(hint, "\n".join(lines), nearest)


def explain(text: Text, search: bytes, replacement: bytes) -> Explanation:
    """Explain why the search text is nowhere in the file."""
    search, replacement = to_lf(search), to_lf(replacement)
    closest = _explain_closest(text, search)
    places = _replacement_lines(text, search, replacement)
    if not places:
        return closest
    already = f"{ALREADY_THERE} {_line_numbers(places)}"
    nearest, size = closest.nearest, replacement.removesuffix(LF).count(LF)
    if nearest is None:
        by_chance = len(b"".join(replacement.split())) < MIN_TELLING
        return closest if by_chance else Explanation(already, already)
    if any(line <= nearest.first_line and nearest.last_line <= line + size for line in places):
        return Explanation(already, already)  # the closest place is the replacement itself
    elsewhere = f"the replacement is in the file too, elsewhere: at {_line_numbers(places)}"
    return closest.replace(details=f"{closest.details}\n{elsewhere}")


def explain_range(text: Text, start: bytes, end: bytes, replacement: bytes, found: Matches) -> Explanation:
    """Explain why no start text was found, or a start text without an end text."""
    if found.unfinished is None:
        return _with_intro("the start text is not there", explain(text, start, replacement))
    (line,) = text.lines([found.unfinished])
    intro = f"the start text is at line {line} but the end text does not follow"
    if found.count:
        return Explanation(intro, intro)
    before = text.locate(end, limit=1)
    if before.count:
        hint = f"{intro}, it is at {_line_numbers(text.lines(before.starts))}"
        return Explanation(hint, hint)
    return _with_intro(intro, explain(text, end, b""))


def _with_intro(intro: str, inner: Explanation) -> Explanation:
    return inner.replace(hint=f"{intro}: {inner.hint}", details=f"{intro}: {inner.details}")


def _line_numbers(numbers: Sequence[int]) -> str:
    different = dict.fromkeys(numbers)
    return f"line{'s' if len(different) > 1 else ''} {', '.join(map(str, different))}"


def _replacement_lines(text: Text, search: bytes, replacement: bytes) -> list[int]:
    """Return the lines where the replacement is already, unless it may be there by chance."""
    if len(replacement.strip()) < MIN_MEANINGFUL or replacement in search:
        return []
    found = text.locate(replacement, limit=MAX_PLACES)
    return text.lines(found.starts) if found.count <= MAX_PLACES else []


def _explain_closest(text: Text, search: bytes) -> Explanation:
    """Return the first explanation that applies."""
    if not text.data:
        return Explanation("the file is empty", "the file is empty")
    if not search.strip():
        return Explanation("the search text is only blanks", "the search text is only blanks")
    explanation = (
        _explain_artifact(text, search) or _explain_ellipsis(text, search) or _explain_similar(text, search)
    )
    if explanation:
        return explanation
    nothing = "nothing like it is in the file"
    if len(text.data) > MAX_WHOLE_FILE:
        return Explanation(nothing, nothing)
    lines = to_lf(text.data).decode().removesuffix("\n").split("\n")
    return Explanation(nothing, "\n".join([nothing, *_listing(lines, 1, 1)]))


def _explain_artifact(text: Text, search: bytes) -> Explanation | None:
    """Look for the search text without one artifact of copying."""
    wanted = search.decode()
    for artifact in ARTIFACTS:
        cleaned = artifact.remove(wanted)
        if cleaned != wanted and len(cleaned.strip()) >= MIN_MEANINGFUL:
            region = _exact_region(text, text.locate(cleaned.encode(), limit=1), wanted, artifact.name)
            if region:
                return region.explanation(f"it would match at {region.name} {artifact.remedy}")
    return None


def _explain_ellipsis(text: Text, search: bytes) -> Explanation | None:
    """Look for a search text that leaves lines out, as a range from before them to after them."""
    wanted = search.decode()
    for _, (before, line, after) in zip(range(MAX_ELLIPSES), around_ellipsis(wanted), strict=False):
        found = text.locate_range(before.encode(), after.encode(), limit=1)
        region = _exact_region(text, found, wanted, LEFT_OUT)
        if region:
            remedy = "quote every line, or use a start and an end text"
            return region.explanation(f"`{shorten_line(line)}` leaves out some of {region.name}: {remedy}")
    return None


def _exact_region(text: Text, found: Matches, wanted: str, kind: str) -> Region | None:
    """Return the first match as a region with one gap: its first line that differs from the wanted one."""
    if not 0 < found.count <= MAX_PLACES:
        return None
    start, end = found.starts[0], found.ends[0]
    (first,) = text.lines([start])
    lines = to_lf(text.data[start:end]).decode().removesuffix("\n").split("\n")
    pairs = enumerate(zip(wanted.split("\n"), lines, strict=False))
    number, (line, other) = next(
        (pair for pair in pairs if pair[1][0] != pair[1][1]), (0, (wanted, lines[0]))
    )
    (top, _), (_, bottom) = (line_around(text.data, at, BEYOND_BYTES) for at in (start, max(start, end - 1)))
    above, below = (lines_above(text.data, top, BEYOND_BYTES), lines_below(text.data, bottom, BEYOND_BYTES))
    return Region(first, lines, [Gap(kind, first + number, line, other)], above, below)


def _explain_similar(text: Text, search: bytes) -> Explanation | None:
    """Look for the places that are most similar to the search text."""
    wanted = wanted_lines(search)
    regions: list[Region] = []
    for place in most_similar(text.data, wanted):
        (line,) = text.lines([place.offset])
        if any(region.first <= line <= region.last for region in regions):
            continue  # the same place, found by something else
        region = _region(compare_in_full(text.data, wanted, place), wanted, line)
        if not any(other.first <= region.last and region.first <= other.last for other in regions):
            regions.append(region)
        if len(regions) > MAX_PLACES:
            break
    if not regions:
        return None
    closest, *others = regions
    return closest.explanation(_closest_clause(closest, others), others[: MAX_PLACES - 1])


def _region(place: NearPlace, wanted: WantedLines, line: int) -> Region:
    """Return the lines of a place, whose anchor is in this line, and how they differ."""
    top = line - place.anchor  # the line number of place.found[0]
    paired = [f for w, f in place.pairs if w is not None and f is not None]
    first, last = min(paired), max(paired)
    gaps = list(_gaps(place, wanted, top))
    if not gaps:  # all lines fit: a line break is missing at the very start or end of the file
        at_start = wanted.starts_line and top + first == 1
        gaps = [Gap(BREAK_BEFORE, top + first) if at_start else Gap(BREAK_AFTER, top + last)]
    found = place.found
    return Region(top + first, found[first : last + 1], gaps, found[:first], found[last + 1 :])


def _gaps(place: NearPlace, wanted: WantedLines, top: int) -> Iterator[Gap]:
    """Yield the pairs of a place that differ."""
    line = top + min(f for _, f in place.pairs if f is not None)
    for w, f in place.pairs:
        line = line if f is None else top + f
        text = None if w is None else wanted.lines[w]
        found = None if f is None else place.found[f]
        kind: str | None
        if w is not None and text is not None and found is not None:
            kind = difference(text, found, wanted.fit(w))
            found = from_match(text, found) if len(found) > len(text) + LONG_LINE else found
        elif not (text or found or "").strip():
            kind = BLANK_LINES
        else:
            kind = EXTRA if text is None else MISSING
        if kind:
            yield Gap(kind, line, text, found)
        line += f is not None


def _closest_clause(region: Region, others: Sequence[Region]) -> str:
    """Say in one clause where the closest place is, and what differs."""
    gap, number = region.gap, len(region.gaps)
    closest = f"closest is {region.name}"
    if others:
        more = " and more" if others[MAX_PLACES - 1 :] else ""
        closest += f" (just as close: {', '.join(other.name for other in others[: MAX_PLACES - 1])}{more})"
    if gap.kind in (BREAK_BEFORE, BREAK_AFTER):
        return f"{closest}: there is no {gap.kind}"
    if region.kinds == [BLANK_LINES]:
        return f"{closest}: only blank lines differ, first at line {gap.line}"
    if len(region.lines) == number == 1 and gap.wanted is not None and gap.found is not None:
        return f"{closest}, which {_line_clause(gap, region.form_only)}"
    if region.form_only and number > 1:
        return f"{closest}: {number} lines differ only in {' and '.join(region.kinds)}, first line {gap.line}"
    more = "" if number == 1 else f" ({number} lines differ)"
    return f"{closest}: {_gap_clause(gap, region.form_only)}{more}"


def _gap_clause(gap: Gap, only: bool) -> str:
    """Describe the difference in a gap."""
    if gap.kind == MISSING:
        return f"`{shorten_line(gap.wanted or '')}` is not there, before line {gap.line}"
    if gap.kind == EXTRA:
        return f"line {gap.line}, `{shorten_line(gap.found or '')}`, is not in the search text"
    if gap.kind == BLANK_LINES:
        return (
            f"line {gap.line} is blank"
            if gap.found is not None
            else f"no blank line is before line {gap.line}"
        )
    return f"line {gap.line} {_line_clause(gap, only)}"


def _line_clause(gap: Gap, only: bool) -> str:
    """Describe the difference of a found line; `only` if nothing but form differs anywhere."""
    if gap.kind == TEXT and not (gap.found or "").strip():
        return "is blank"
    if gap.kind == TEXT:
        return f"reads `{shorten_line(gap.found or '', gap.wanted or '')}`"
    return f"differs {'only ' if only else ''}in {gap.kind}"


def _listing(lines: Sequence[str], first: int, around: int) -> list[str]:
    """Show some of these lines with their numbers, which start at `first`, around the line that matters."""
    begin = max(0, min(around - first - MAX_LISTED // 2, len(lines) - MAX_LISTED))
    part = lines[begin : begin + MAX_LISTED]
    numbered = [f"  {first + begin + i:5} | {line_for_listing(line)}" for i, line in enumerate(part)]
    above = ["        …"] if begin else []
    return [*above, *numbered, *(["        …"] if begin + MAX_LISTED < len(lines) else [])]
