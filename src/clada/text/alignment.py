"""A search text laid beside the lines of a file: which line stands for which, and how alike they are."""

from __future__ import annotations

from clada.text import differences
from clada.text.lines import CR, CRLF, LF
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Pair = tuple[int | None, int | None]  # a line of the search text, and a line of the file

NEARBY = 200  # bytes on each side of a hit that are looked at, and more for long lines
LOOK_AHEAD = 8  # lines that may be missing or added before two texts count as out of step
TELLING = 4  # characters of a line that bring two texts back into step from afar
ALMOST = 0.95  # the likeness of lines that differ in form only
LIKE = 0.7  # what the likeness of lines with a different text counts at most
NEXT = 2  # lines skipped at most for one with few characters
EXTRA = 0.3  # what a found line that is not wanted counts against a place
UNLIKE = 0.3  # below it, a pair at the edge of a place is not a pair


class Wanted(Value):
    """The lines of a search text; the first and last are parts of lines, unless line breaks are around."""

    lines: Sequence[str]
    starts_line: bool
    ends_line: bool

    def fit(self, line: int) -> differences.Fit:
        """Return what makes a line of a file fit this one."""
        from_start = line > 0 or self.starts_line
        to_end = line < len(self.lines) - 1 or self.ends_line
        return _FITS[from_start, to_end]


_FITS = {
    (True, True): differences.whole,
    (True, False): differences.at_start,
    (False, True): differences.at_end,
    (False, False): differences.within,
}


def wanted_lines(search: bytes) -> Wanted:
    """Take a search text with LF apart; the breaks at its ends belong to its first and last line."""
    lines = search.decode().split("\n")
    starts_line = len(lines) > 1 and not lines[0]
    ends_line = len(lines) > 1 + starts_line and not lines[-1]
    return Wanted(lines[starts_line : len(lines) - ends_line], starts_line, ends_line)


class Place(Value):
    """A place in a file beside a search text."""

    likeness: float
    pairs: Sequence[Pair]  # in the order of the lines
    found: Sequence[str]  # lines of the file, around it too
    anchor: int  # which of them is at
    offset: int  # this byte


def placed(data: bytes, wanted: Wanted, line: int, hit: int, reach: int) -> Place:
    """Lay the search text out so that its line is on the hit, as far as so many lines up and down."""
    first, last = max(line - reach, 0), min(line + reach + 1, len(wanted.lines))
    start, end = _line_around(data, hit, NEARBY + 2 * len(wanted.lines[line]))
    above = _lines_above(data, start, wanted.lines[first:line])
    found = [*above, _text(data[start:end]), *_lines_below(data, end, wanted.lines[line + 1 : last])]
    beside = _Beside(wanted, found)
    pairs = beside.paired(range(first, last), line, len(above))
    return Place(beside.likeness(pairs), pairs, found, len(above), start)


def _line_around(data: bytes, hit: int, most: int) -> tuple[int, int]:
    """Return where the line at the hit starts and ends; one much longer than the wanted one is cut."""
    low, high = max(hit - most, 0), min(hit + most, len(data))
    start = max(data.rfind(LF, low, hit), data.rfind(CR, low, hit))
    ends = [end for end in (data.find(LF, hit, high), data.find(CR, hit, high)) if end >= 0]
    return (low if start < 0 else start + 1), min(ends, default=high)


def _lines_above(data: bytes, start: int, wanted: Sequence[str]) -> list[str]:
    size = _room(wanted)
    lines = data[max(start - size, 0) : start].splitlines()
    if size < start:
        del lines[:1]  # cut in two
    return [_text(line) for line in lines[-len(wanted) - LOOK_AHEAD :]]


def _lines_below(data: bytes, end: int, wanted: Sequence[str]) -> list[str]:
    size = _room(wanted)
    start = end + (2 if data[end : end + 2] == CRLF else 1)
    lines = data[start : start + size].splitlines()
    if start + size < len(data):
        del lines[-1:]
    return [_text(line) for line in lines[: len(wanted) + LOOK_AHEAD]]


def _room(wanted: Sequence[str]) -> int:
    """Return how many bytes of a file are looked at for these lines: there may be more than in the lines."""
    return 10 * NEARBY + 2 * sum(map(len, wanted))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removeprefix("\ufeff")


class _Beside:
    """The lines of a search text beside lines of a file."""

    def __init__(self, wanted: Wanted, found: Sequence[str]) -> None:
        self.wanted = wanted
        self.found = found

    def paired(self, lines: range, line: int, anchor: int) -> list[Pair]:
        """Pair the wanted lines with found ones: one is known, the others follow from it up and down."""
        down = self._in_step(range(line + 1, lines.stop), range(anchor + 1, len(self.found)))
        up = self._in_step(range(line - 1, lines.start - 1, -1), range(anchor - 1, -1, -1))
        return [*reversed(up), (line, anchor), *down]

    def _in_step(self, ws: range, fs: range) -> list[Pair]:
        """Pair two runs of lines one by one; out of step, go on at the nearest lines that agree."""
        pairs: list[Pair] = []
        w = f = 0
        while w < len(ws) and f < len(fs):
            if self._agree(ws[w], fs[f]):
                pairs.append((ws[w], fs[f]))
                w, f = w + 1, f + 1
            else:
                skip_w, skip_f = self._out_of_step(ws[w:], fs[f:])
                pairs += _skipped(ws[w : w + skip_w], fs[f : f + skip_f])
                w, f = w + skip_w, f + skip_f
        return self._without_edge([*pairs, *_skipped(ws[w:], range(0))])

    def _out_of_step(self, ws: range, fs: range) -> tuple[int, int]:
        """Return how many lines of each to skip so that they agree again; one of each, if they never do."""
        if len(ws) > 1 and len(fs) > 1 and self._meet(ws[1], fs[1], NEXT):
            return 1, 1
        if not self.found[fs[0]].strip():
            return 0, 1
        if not self.wanted.lines[ws[0]].strip():
            return 1, 0
        for skipped in range(1, LOOK_AHEAD + 1):
            for skip_w in range(max(skipped - len(fs) + 1, 0), min(skipped, len(ws) - 1) + 1):
                if self._meet(ws[skip_w], fs[skipped - skip_w], skipped):
                    return skip_w, skipped - skip_w
        return 1, 1

    def _meet(self, w: int, f: int, skipped: int) -> bool:
        """Tell whether two lines agree and mean something: a bracket brings nothing back into step."""
        telling = len(self.wanted.lines[w].strip()) >= (TELLING if skipped > NEXT else 1)
        return telling and self._agree(w, f)

    def _agree(self, w: int, f: int) -> bool:
        """Tell whether the found line fits the wanted one, or would if form made no difference."""
        wanted, found = self.wanted.lines[w], self.found[f]
        if wanted.strip() == found.strip():
            return True
        if not wanted.strip():
            return False
        fit = self.wanted.fit(w)
        return fit(wanted, found) or fit(differences.folded(wanted), differences.folded(found))

    def _without_edge(self, pairs: list[Pair]) -> list[Pair]:
        """Return the pairs without found lines at the far end that are like nothing wanted."""
        lost: list[Pair] = []
        while pairs and self._alike(*pairs[-1]) < UNLIKE:
            w, _ = pairs.pop()
            lost += [(w, None)] if w is not None else []
        return [*pairs, *reversed(lost)]

    def _alike(self, w: int | None, f: int | None) -> float:
        """Return from 0 to 1 how alike two lines of a pair are."""
        if w is None or f is None:
            return 0.0
        wanted, found, fit = self.wanted.lines[w], self.found[f], self.wanted.fit(w)
        if fit(wanted, found):
            return 1.0
        if self._agree(w, f):
            return ALMOST
        return LIKE * differences.similarity(wanted, found, partly=fit is not differences.whole)

    def likeness(self, pairs: Sequence[Pair]) -> float:
        """Return from 0 to 1 how alike the texts are, by the length of their lines."""
        got = total = 0.0
        for w, f in pairs:
            weight = _weight(self.found[f or 0] if w is None else self.wanted.lines[w])
            got += weight * self._alike(w, f)
            total += weight * (EXTRA if w is None else 1)
        return got / total if total else 0.0


def _skipped(ws: range, fs: range) -> Iterator[Pair]:
    """Yield lines that do not agree: in pairs as far as there are two, then alone."""
    both = min(len(ws), len(fs))
    yield from zip(ws[:both], fs[:both], strict=True)
    yield from ((w, None) for w in ws[both:])
    yield from ((None, f) for f in fs[both:])


def _weight(line: str) -> int:
    return min(len(line.strip()), 80) + 1
