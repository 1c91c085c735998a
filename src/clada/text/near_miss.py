"""Why a search text was not found, for whoever will try again: where it nearly is, and what differs.

1. The search text may be right but for a habit of its writer (line numbers copied along, entities, an
   ellipsis in place of lines): with that undone, it is found exactly.
2. Else the place that is most like it is looked for, and laid beside it line by line.
3. Where nothing is like it, no place is named: a wrong pointer is worse than none.
"""

from __future__ import annotations

from clada.text.alignment import wanted_lines
from clada.text.candidates import best_place
from clada.text.differences import brief
from clada.text.gaps import LEFT_OUT, Gap, Region, clause, details, listing, region_of
from clada.text.habits import HABITS, around_ellipsis
from clada.text.lines import LF, unified
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.errors import Nearest
    from clada.text.match import Found, Text

SMALL = 1_000  # bytes of a file that is shown as a whole where nothing in it is like the search text
TELLING, ELSEWHERE = 4, 3  # characters at least, and places at most, of a text that is not there by chance
MOST_ELLIPSES = 3  # that are tried


class Explanation(Value):
    """What is known about a failed match: in one clause, in several lines, and as a value."""

    clause: str
    whole: str
    nearest: Nearest | None = None


def explain(text: Text, search: bytes, replacement: bytes) -> Explanation:
    """Explain why the search text is nowhere in the file."""
    search, replacement = unified(search), unified(replacement)
    closest = _closest(text, search)
    there = _already_there(text, search, replacement)
    if not there:
        return closest
    told = f"the replacement is already there at {_lines(there)}"
    nearest = closest.nearest
    if nearest is None or _overlap(nearest, there, replacement.count(LF)):
        return Explanation(told, told)
    if nearest.form_only:
        return closest.replace(whole=f"{closest.whole}\n{told}")
    return closest.replace(clause=told, whole=f"{told}\n{closest.whole}")


def explain_range(text: Text, start: bytes, end: bytes, replacement: bytes, found: Found) -> Explanation:
    """Explain why fewer ranges were found than start texts, or no start text."""
    if found.unfinished is None:
        return _about("the start text is not there", explain(text, start, replacement))
    (line,) = text.lines([found.unfinished])
    told = f"the start text is at line {line} but the end text does not follow"
    if found.count:
        return Explanation(told, told)
    before = text.locate(end, limit=1)
    if before.count:
        earlier = f"{told}, it is at {_lines(text.lines(before.starts))}"
        return Explanation(earlier, earlier)
    return _about(told, explain(text, end, b""))


def _about(told: str, inner: Explanation) -> Explanation:
    return inner.replace(clause=f"{told}: {inner.clause}", whole=f"{told}: {inner.whole}")


def _closest(text: Text, search: bytes) -> Explanation:
    """Return the first explanation that holds."""
    if not text.data:
        return Explanation("the file is empty", "the file is empty")
    if not search.strip():
        return Explanation("the search text is only blanks", "the search text is only blanks")
    return (
        _by_habit(text, search) or _by_ellipsis(text, search) or _by_likeness(text, search) or _unlike(text)
    )


def _by_habit(text: Text, search: bytes) -> Explanation | None:
    """Look for the search text with one habit of its writer undone."""
    wanted = search.decode()
    for habit in HABITS:
        undone = habit.undone(wanted)
        if undone != wanted and len(undone.strip()) >= TELLING:
            region = _exact(text, text.locate(undone.encode(), limit=1), wanted, habit.name)
            if region:
                return _told(region, f"it would match at {region.name} {habit.remedy}")
    return None


def _by_ellipsis(text: Text, search: bytes) -> Explanation | None:
    """Look for a search text that leaves lines out as what begins before them and ends after them."""
    wanted = search.decode()
    for _, (before, line, after) in zip(range(MOST_ELLIPSES), around_ellipsis(wanted), strict=False):
        found = text.locate_range(before.encode(), after.encode(), limit=1)
        region = _exact(text, found, wanted, LEFT_OUT)
        if region:
            remedy = "quote every line, or use a start and an end text"
            return _told(region, f"`{brief(line)}` leaves out some of {region.name}: {remedy}")
    return None


def _exact(text: Text, found: Found, wanted: str, kind: str) -> Region | None:
    """Return the first match as a region that differs from what was wanted in one way."""
    if not 0 < found.count <= ELSEWHERE:
        return None
    start, end = found.starts[0], found.ends[0]
    (first,) = text.lines([start])
    lines = unified(text.data[start:end]).decode().removesuffix("\n").split("\n")
    pairs = enumerate(zip(wanted.split("\n"), lines, strict=False))
    number, (line, other) = next(
        (pair for pair in pairs if pair[1][0] != pair[1][1]), (0, (wanted, lines[0]))
    )
    return Region(first, lines, [Gap(kind, first + number, line, other)])


def _by_likeness(text: Text, search: bytes) -> Explanation | None:
    """Look for the place that is most like the search text."""
    wanted = wanted_lines(search)
    place = best_place(text.data, wanted)
    if place is None:
        return None
    (line,) = text.lines([place.offset])
    region = region_of(place, wanted, line)
    return _told(region, clause(region))


def _told(region: Region, told: str) -> Explanation:
    return Explanation(told, "\n".join([told, *details(region)]), region.nearest())


def _unlike(text: Text) -> Explanation:
    """Say that nothing is like the search text, and show the file if it is small."""
    told = "nothing like it is in the file"
    lines = unified(text.data).decode().removesuffix("\n").split("\n") if len(text.data) <= SMALL else []
    return Explanation(told, "\n".join([told, *listing(lines, 1, 1)]))


def _already_there(text: Text, search: bytes, replacement: bytes) -> list[int]:
    """Return the lines of the replacement, if it says something and is no part of the search text."""
    if len(replacement.strip()) < TELLING or replacement in search:
        return []
    found = text.locate(replacement, limit=ELSEWHERE)
    return text.lines(found.starts) if found.count <= ELSEWHERE else []


def _overlap(nearest: Nearest, lines: Sequence[int], more: int) -> bool:
    """Tell whether the replacement, which goes on for so many lines, is the closest place itself."""
    return any(line <= nearest.last_line and nearest.first_line <= line + more for line in lines)


def _lines(numbers: Sequence[int]) -> str:
    different = dict.fromkeys(numbers)
    return f"line{'s' if len(different) > 1 else ''} {', '.join(map(str, different))}"
