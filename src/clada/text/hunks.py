"""Locates the hunks of an edit in one text, in order, and says what to splice where.

1. A hunk is searched for from the end of the one before it, behind its anchors, at one tier after the other
   (see `tiers`). What is found there must be one place, unless an anchor leads to it: then it is the first,
   if the anchor does not stand again, before another such place; of several anchors, each is the first one.
2. If nothing is found from there on, the whole text is searched for one place.
3. If that fails too, the search text is tried without artifacts of copying (see `forms`), and
   around its lines of dots, if the replacement has the same.
4. Lines that a search text and its replacement share stay as the text has them.

All texts here have LF, and end in one unless they are empty; offsets are those of such a text.
"""

from __future__ import annotations

from itertools import accumulate, islice

from clada.text.diff import LineChange, common_ends, line_changes
from clada.text.differences import shorten_line
from clada.text.forms import NUMBERS, around_dots, without_copied
from clada.text.match import find_all
from clada.text.tiers import EDGES, LF, T0, TIERS, Lines, without_edges
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.text.tiers import Block, Tier

    Place = tuple[int, int]  # where it starts and ends

MOST_STARTS = 1000  # places of one hunk that are reported
LEFT_OUT = "the lines that its dots stand for"
ANCHORS = "its anchor stands above each of them: give another one before it"
NOWHERE = "an insertion needs a line of the file before or after it"


class Subject(Value):
    """The text that is edited, with its path and other facts about its file."""

    data: bytes
    size: int  # without a line break at its end that the file does not have
    path: bytes = b""
    mixed_endings: bool = False


class Wanted(Value):
    """A hunk to be located: the lines to be found, those that replace them, and what helps to find them."""

    old: Block
    new: Block
    text: bytes = b""  # to be found within lines, before anything else is tried
    text_new: bytes = b""
    anchors: Block = ()
    near: int | None = None
    at_end: bool = False
    after_line: int | None = None
    through_line: int | None = None


class Splice(Value):
    """A part of the text, and what takes its place."""

    start: int
    end: int
    new: bytes


class Found(Value):
    """The place of a hunk, its new text, and the differences that were forgiven to find it."""

    start: int
    end: int
    splices: tuple[Splice, ...]
    forgiven: tuple[str, ...] = ()
    out_of_order: bool = False


class Missing(Value):
    """Why a hunk has no place: it is nowhere, or in several places, or another reason."""

    starts: Sequence[int] = ()
    reason: str = ""
    hint: str = ""

    @property
    def final(self) -> bool:
        """Whether nothing more is to be tried."""
        return bool(self.starts or self.reason or self.hint)


NOT_FOUND = Missing()


class Locator:
    """Locates the hunks of one edit, one after the other."""

    def __init__(self, subject: Subject, wanted: Sequence[Wanted], way: str) -> None:
        expected = {line for hunk in wanted for line in (*hunk.old, *hunk.anchors)}
        self._subject, self._tiers = subject, TIERS[way]
        self.lines = Lines(subject.data, expected)
        self._alone = len(wanted) == 1
        self._since = self._last = 0  # the end and the start of the last hunk

    def locate(self, hunk: Wanted) -> Found | Missing:
        """Locate the next hunk."""
        blank = hunk.old and not any(hunk.old) and not hunk.text
        nothing = blank and not self.lines.data  # a blank line stands for an empty file
        found = self._insertion(hunk) if nothing or not (hunk.old or hunk.text) else self._replacement(hunk)
        if isinstance(found, Found):
            self._since, self._last = max(self._since, found.end), found.start
        return found

    def everywhere(self, hunk: Wanted) -> list[Found]:
        """Return all places where a hunk is exactly."""
        places, old, new = self._find_places(hunk, T0, 0, len(self.lines.data))
        found = [self._build_found(hunk, T0, place, old, new) for place in places]
        return [place for place in found if isinstance(place, Found)]

    def missing_anchor(self, hunk: Wanted) -> bytes | None:
        """Return the first anchor that is not there, behind those before it."""
        chains = (hunk.anchors[: number + 1] for number in range(len(hunk.anchors)))
        return next((chain[-1] for chain in chains if not self._find_anchors(chain, 0)), None)

    def _replacement(self, hunk: Wanted) -> Found | Missing:
        found = self._in_order(hunk, self._tiers)
        if isinstance(found, Found) or found.final or len(self._tiers) == 1:
            return found
        for old, new, what in without_copied(hunk.old, hunk.new, self._subject.path):
            tiers = (T0,) if what == NUMBERS else self._tiers
            cleaned = self._in_order(hunk.replace(old=old, new=new, text=b""), tiers)
            if isinstance(cleaned, Found):
                return cleaned.replace(forgiven=(*cleaned.forgiven, what))
            if cleaned.final:
                return cleaned
        return self._around_dots(hunk) or found

    def _in_order(self, hunk: Wanted, tiers: Sequence[Tier]) -> Found | Missing:
        """Find it behind the last hunk; else anywhere, once."""
        found = self._find_behind(hunk, tiers, self._since)
        if isinstance(found, Found) or found.final or not self._since:
            return found
        anywhere = self._find_behind(hunk, tiers, 0, first=False)
        if isinstance(anywhere, Found):
            return anywhere.replace(out_of_order=anywhere.start < self._last)
        return anywhere

    def _find_behind(
        self, hunk: Wanted, tiers: Sequence[Tier], since: int, *, first: bool = True
    ) -> Found | Missing:
        """Find it from an offset on, behind its anchors; with `first`, these make the first place count."""
        anchors = self._find_anchors(hunk.anchors, since, _most(hunk)) if hunk.anchors else []
        if anchors:
            since = anchors[0][0]  # a search text may begin with its anchor
        elif hunk.anchors:
            return NOT_FOUND
        for tier in tiers:
            places, old, new = self._find_places(hunk, tier, since, 1 if anchors and first else MOST_STARTS)
            again = next((start for start, _ in anchors if places and start >= places[0][1]), None)
            if first and again is not None:  # the anchor may be meant there
                places += self._find_places(hunk, tier, again, 1)[0]
            if len(places) > 1 and tier is T0 and hunk.near is not None:
                places = self._choose_near(hunk, old, places)
            if len(places) > 1:
                hint = ANCHORS if again is not None else ""
                hint = f"they match but for {_join_words(_forgives(tier))}" if tier is not T0 else hint
                return Missing([start for start, _ in places], hint=hint)
            if places:
                return self._build_found(hunk, tier, places[0], old, new)
        return NOT_FOUND

    def _choose_near(self, hunk: Wanted, old: Block, places: list[Place]) -> list[Place]:
        """Return the one of several exact places that is at the line where it should be; else all."""
        if hunk.text:
            return [place for place in places if self._line(place[0]) == hunk.near] or places
        starts, line = self.lines.starts, (hunk.near or 0) - 1
        there = self.lines.places(T0.form, old, starts[line], 1) if 0 <= line < len(starts) else []
        return there if there and there[0][0] == starts[line] >= places[0][0] else places

    def _find_anchors(self, anchors: Block, since: int, most: int = 1) -> list[Place]:
        """Return where the last anchor is, behind the first place of the one before it, and so on."""
        found = [(since, since)]
        for anchor in anchors:
            if found:
                tiers = (tier for tier in self._tiers if not tier.without_edges)
                each = (self.lines.places(tier.form, [anchor], found[0][1], most) for tier in tiers)
                found = next((places for places in each if places), [])
        return found

    def _find_places(
        self, hunk: Wanted, tier: Tier, since: int, most: int
    ) -> tuple[list[Place], Block, Block]:
        """Return where it is at one tier, and the lines that were searched for and replace them."""
        old, new = hunk.old, hunk.new
        if tier is T0 and hunk.text:
            found = find_all(self._subject.data, hunk.text, since, self._subject.size)
            places = [(start, start + len(hunk.text)) for start in islice(found, most)]
        else:
            edges = without_edges(old, new) if tier.without_edges else (old, new)
            if not edges or not old:
                return [], old, new
            old, new = edges
            if hunk.at_end:
                starts = self.lines.starts
                since = max(since, starts[max(len(starts) - 2 - len(old), 0)])  # one line more than needed
            places = self.lines.places(tier.form, old, since, most, tier.fits(old))
        if hunk.at_end:
            places = [place for place in places if not self._has_text_behind(place[1])]
        return places, old, new

    def _has_text_behind(self, end: int) -> bool:
        rest = self.lines.data[end : end + 1000]
        return bool(rest.strip()) or rest.count(LF) > 1

    def _line(self, offset: int) -> int:
        return self.lines.data.count(LF, 0, offset) + 1

    def _build_found(self, hunk: Wanted, tier: Tier, place: Place, old: Block, new: Block) -> Found | Missing:
        start, end = place
        if tier is T0 and hunk.text:
            return Found(start, end, (Splice(start, end, hunk.text_new),))
        lines = self.lines.data[start : end - 1].split(LF)
        shift = tier.shift(old, lines) if tier.shift else None
        starts = list(accumulate((len(line) + 1 for line in lines), initial=start))
        splices = []
        for change in _changes(old, new, inner=tier is not T0 or self._subject.mixed_endings):
            shifted = []
            for line in new[change.new_start : change.new_end]:
                moved = shift.of(line) if shift else line
                if moved is None:
                    return Missing(hint=self._cannot_shift(start, line))
                shifted.append(moved + LF)
            splices.append(Splice(starts[change.start], starts[change.end], b"".join(shifted)))
        return Found(start, end, tuple(splices), _forgives(tier))

    def _cannot_shift(self, start: int, line: bytes) -> str:
        return (
            f"line {self._line(start)} matches but for indentation, but `{shorten_line(line.decode())}` "
            "of the replacement is not indented enough to be moved like it"
        )

    def _insertion(self, hunk: Wanted) -> Found | Missing:
        """Find the place of lines that are inserted."""
        at: int | None = None
        if hunk.after_line is not None:
            starts = self.lines.starts
            last = hunk.through_line or hunk.after_line
            if last >= len(starts):
                return Missing(reason=f"there is no line {last}: the last one is {len(starts) - 1}")
            at = starts[hunk.after_line]
            if hunk.through_line:
                return _insertion_at(hunk, at, starts[last])
        elif hunk.anchors:
            return self._behind_anchor(hunk)
        elif hunk.at_end or not self.lines.data or (hunk.near or 0) >= len(self.lines.starts) - 1:
            at = len(self.lines.data)
        return Missing(reason=NOWHERE) if at is None else _insertion_at(hunk, at)

    def _behind_anchor(self, hunk: Wanted) -> Found | Missing:
        """Insert behind the last anchor: the first one behind the others; one that is alone stands once."""
        most = _most(hunk)
        places = self._find_anchors(hunk.anchors, self._since, most) or self._find_anchors(
            hunk.anchors, 0, most
        )
        if not places:
            return NOT_FOUND
        if len(places) > 1:
            return Missing([start for start, _ in places])
        found = _insertion_at(hunk, places[0][1])
        return found.replace(out_of_order=found.start < self._last)

    def _around_dots(self, hunk: Wanted) -> Found | None:
        """Find the pieces of a search text between its lines of dots, one behind the other."""
        pieces = around_dots(hunk.old, hunk.new) if self._alone and not hunk.anchors else None
        found: list[Found] = []
        for old, new in pieces or ():
            piece = self._find_behind(Wanted(old, new), self._tiers, found[-1].end if found else 0)
            if not isinstance(piece, Found):
                return None
            found.append(piece)
        if not found:
            return None
        forgiven = dict.fromkeys(what for piece in found for what in piece.forgiven)
        splices = tuple(splice for piece in found for splice in piece.splices)
        return Found(found[0].start, found[-1].end, splices, (*forgiven, LEFT_OUT))


def _most(hunk: Wanted) -> int:
    """Return how many places of its last anchor to find: of several anchors each leads to the next."""
    return MOST_STARTS if len(hunk.anchors) == 1 else 1


def _forgives(tier: Tier) -> tuple[str, ...]:
    return (*([EDGES] if tier.without_edges else []), *([tier.forgives] if tier.forgives else []))


def matched_but_for(forgiven: Sequence[str]) -> str:
    """Return a clause on the forgiven differences."""
    return f"matched but for {_join_words(forgiven)}"


def _join_words(words: Sequence[str]) -> str:
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} and {last}" if others else last


def _insertion_at(hunk: Wanted, at: int, end: int | None = None) -> Found:
    """Return the lines of a hunk at a place, or in place of what goes from there to an end."""
    end = at if end is None else end
    return Found(at, end, (Splice(at, end, b"".join(line + LF for line in hunk.new)),))


def _changes(old: Block, new: Block, *, inner: bool) -> Iterator[LineChange]:
    """Yield the parts in which the two differ.

    With `inner`, lines that both have between their first and last differences are none of them.
    """
    if inner:
        yield from line_changes(old, new)
        return
    top, bottom = common_ends(old, new)
    if old != new:
        yield LineChange(top, len(old) - bottom, top, len(new) - bottom)
