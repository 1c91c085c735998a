"""Finds the place in a file that is most similar to a search text which is not in it.

1. The file is scanned for a few exact pieces of the search text: its longest lines, halves of them, words.
   The scans have a budget. Rare pieces come first, since the many hits of a common one say little.
2. Around each hit, lines of the file are paired with lines of the search text, and the pairs are scored.
3. The best place, if it is similar enough to be worth pointing at, is then compared in full.

Here `w` is the index of a wanted line (of the search text), `f` that of a found line (of the file).
"""

from __future__ import annotations

from clada.text import differences
from clada.text.line_endings import CR, CRLF, LF
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Pair = tuple[int | None, int | None]  # w and f; None where the line is missing on that side
    Piece = tuple[int, bytes]  # the index of the wanted line that it is from, and its bytes

# Choosing between places; similarities are from 0 to 1.
GOOD_SIMILARITY = 0.75  # a place with this needs no competitor
MIN_SIMILARITY = 0.5  # a place with less is not worth pointing at
COMPARED_LINES = 12  # lines up and down from a hit that are compared to choose between places

# Scanning for pieces.
MAX_RARE_HITS = 8  # hits of a piece that counts as rare
SCANS = 4  # of the whole file for long pieces; fewer for short ones, which are found more slowly
SCANS_IGNORING_CASE = 2
FREE_BYTES = 5_000_000  # that may be scanned in any case, so that small files are searched thoroughly
SCAN_COSTS = ((24, 1), (10, 2), (0, 4))  # for a piece of at least so many bytes, a scan costs so much
MAX_LINES, MAX_HALVED, MAX_WORDS = 5, 2, 5  # pieces of each kind that are tried
MIN_PIECE, MIN_PIECE_OF_LINE = 4, 3  # bytes of a piece; the second where the search text is one line
MAX_SEARCH_LINES = 2_000  # of a search text from which pieces are taken
_NOT_IN_WORDS = bytes(byte for byte in range(128) if not (chr(byte).isalnum() or chr(byte) == "_"))
_WORDS_ONLY = bytes.maketrans(_NOT_IN_WORDS, b" " * len(_NOT_IN_WORDS))

# Pairing lines.
NEARBY = 200  # bytes on each side of a hit that are looked at, and more for long lines
LOOK_AHEAD = 8  # lines that may be missing or added before the next pair
NEXT = 2  # skipped lines at most before a pair of short lines, such as brackets
MIN_DISTINCTIVE = 4  # characters of a line that may be paired after more skipped lines than that

# Scoring pairs.
FORM_SIMILARITY = 0.95  # of two lines that differ in form only
TEXT_SIMILARITY = 0.7  # at most, of two lines with different texts
EXTRA_LINE_WEIGHT = 0.3  # of a found line that is not wanted, against that of a wanted one
MIN_EDGE_SIMILARITY = 0.3  # below this, lines at the edge of a place are not a pair


class WantedLines(Value):
    """The lines of a search text. The first and last may be parts of lines, unless a line break is there."""

    lines: Sequence[str]
    starts_line: bool
    ends_line: bool

    def fit(self, w: int) -> differences.Fit:
        """Return the test that a line of the file must pass to match this one."""
        from_start = w > 0 or self.starts_line
        to_end = w < len(self.lines) - 1 or self.ends_line
        return _FITS[from_start, to_end]


_FITS = {
    (True, True): differences.whole,
    (True, False): differences.at_start,
    (False, True): differences.at_end,
    (False, False): differences.within,
}


def wanted_lines(search: bytes) -> WantedLines:
    """Split a search text with LF; a line break at its start or end belongs to the line beside it."""
    lines = search.decode().split("\n")
    starts_line = len(lines) > 1 and not lines[0]
    ends_line = len(lines) > 1 + starts_line and not lines[-1]
    return WantedLines(lines[starts_line : len(lines) - ends_line], starts_line, ends_line)


class Place(Value):
    """A place in a file, compared with a search text."""

    similarity: float
    pairs: Sequence[Pair]  # in the order of the lines
    found: Sequence[str]  # the lines of the file that were looked at
    anchor: int  # the f of the line with the hit
    offset: int  # the byte at which that line starts


def most_similar(data: bytes, wanted: WantedLines) -> Place | None:
    """Return the place that is most similar to the search text, or None where nothing is similar enough."""
    pieces = list(_pieces(wanted))
    if not pieces:
        return None
    place = _best(data, wanted, _hits(data, pieces, SCANS))
    if place:
        return place
    lowered = [(w, piece.lower()) for w, piece in pieces]
    return _best(data, wanted, _hits(data.lower(), lowered, SCANS_IGNORING_CASE))


def _best(data: bytes, wanted: WantedLines, groups: Iterable[tuple[int, list[int]]]) -> Place | None:
    """Return the best place around the hits, compared in full."""
    similarity, at = 0.0, (0, 0)
    for w, hits in groups:
        for hit in hits:
            here = _compare(data, wanted, w, hit, COMPARED_LINES).similarity
            if here > similarity:
                similarity, at = here, (w, hit)
        if similarity >= GOOD_SIMILARITY:
            break
    return _compare(data, wanted, *at, reach=len(wanted.lines)) if similarity >= MIN_SIMILARITY else None


def _hits(scanned: bytes, pieces: Iterable[Piece], scans: int) -> Iterator[tuple[int, list[int]]]:
    """Yield each piece's wanted line and its hits, rare pieces first, as far as the budget goes."""
    budget = scans * len(scanned) + FREE_BYTES
    common = []
    for w, piece in pieces:
        cost = next(cost for size, cost in SCAN_COSTS if len(piece) >= size)
        if cost * len(scanned) > budget:
            continue
        hits, passed = _first_hits(scanned, piece)
        budget -= cost * passed
        if len(hits) > MAX_RARE_HITS:
            common.append((w, hits))
        else:
            yield w, hits
    yield from common


def _first_hits(scanned: bytes, piece: bytes) -> tuple[list[int], int]:
    """Return the hits of a piece, one more than a rare one has at most, and how many bytes were scanned."""
    hits: list[int] = []
    hit = scanned.find(piece)
    while hit >= 0:
        hits.append(hit)
        if len(hits) > MAX_RARE_HITS:
            return hits, hit
        hit = scanned.find(piece, hit + len(piece))
    return hits, len(scanned)


def _pieces(wanted: WantedLines) -> Iterator[Piece]:
    """Yield what to scan for, the most distinctive first: whole lines, halves of lines, words."""
    lines = [(w, line.strip().encode()) for w, line in enumerate(wanted.lines[:MAX_SEARCH_LINES])]
    longest_line = max(len(line) for _, line in lines)
    # However short the lines of a text are, together they mean something.
    shortest = min(MIN_PIECE, longest_line) if len(lines) > 1 else MIN_PIECE_OF_LINE
    longest = _longest(lines, MAX_LINES, shortest)
    yield from longest
    for w, line in longest[:MAX_HALVED]:
        half = (len(line) + 1) // 2  # with the middle character in both
        if half >= shortest:
            yield w, line[:half]
            yield w, line[-half:]
    words = [(w, word) for w, line in lines for word in line.translate(_WORDS_ONLY).split()]
    yield from _longest(words, MAX_WORDS, shortest)


def _longest(pieces: list[Piece], number: int, shortest: int) -> list[Piece]:
    """Return the longest pieces, each once, without those that are too short."""
    first = {piece: w for w, piece in reversed(pieces) if len(piece) >= shortest}
    longest = sorted(first, key=len, reverse=True)[:number]
    return [(first[piece], piece) for piece in longest]


def _compare(data: bytes, wanted: WantedLines, w: int, hit: int, reach: int) -> Place:
    """Compare the lines around a hit of wanted line `w` with those around `w`, `reach` lines up and down."""
    first, last = max(w - reach, 0), min(w + reach + 1, len(wanted.lines))
    start, end = _line_around(data, hit, NEARBY + 2 * len(wanted.lines[w]))
    above = _lines_above(data, start, wanted.lines[first:w])
    found = [*above, _decode(data[start:end]), *_lines_below(data, end, wanted.lines[w + 1 : last])]
    pairing = _Pairing(wanted, found)
    pairs = pairing.pairs(range(first, last), w, len(above))
    return Place(pairing.similarity(pairs), pairs, found, len(above), start)


def _line_around(data: bytes, hit: int, reach: int) -> tuple[int, int]:
    """Return where the line with the hit starts and ends, cut to `reach` bytes on each side."""
    low, high = max(hit - reach, 0), min(hit + reach, len(data))
    start = max(data.rfind(LF, low, hit), data.rfind(CR, low, hit))
    ends = [end for end in (data.find(LF, hit, high), data.find(CR, hit, high)) if end >= 0]
    return (low if start < 0 else start + 1), min(ends, default=high)


def _lines_above(data: bytes, start: int, wanted: Sequence[str]) -> list[str]:
    size = _bytes_for(wanted)
    lines = data[max(start - size, 0) : start].splitlines()
    if size < start:
        del lines[:1]  # its start is cut off
    return [_decode(line) for line in lines[-len(wanted) - LOOK_AHEAD :]]


def _lines_below(data: bytes, end: int, wanted: Sequence[str]) -> list[str]:
    size = _bytes_for(wanted)
    start = end + (2 if data[end : end + 2] == CRLF else 1)
    lines = data[start : start + size].splitlines()
    if start + size < len(data):
        del lines[-1:]  # its end is cut off
    return [_decode(line) for line in lines[: len(wanted) + LOOK_AHEAD]]


def _bytes_for(wanted: Sequence[str]) -> int:
    """Return how many bytes of the file to look at for these lines: those in the file may be longer."""
    return 10 * NEARBY + 2 * sum(map(len, wanted))


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").removeprefix("\ufeff")


class _Pairing:
    """Pairs the lines of a search text with lines of a file, and scores the pairs."""

    def __init__(self, wanted: WantedLines, found: Sequence[str]) -> None:
        self.wanted = wanted
        self.found = found

    def pairs(self, lines: range, w: int, anchor: int) -> list[Pair]:
        """Pair these wanted lines with found ones, from the known pair of `w` and `anchor` up and down."""
        down = self._pair_runs(range(w + 1, lines.stop), range(anchor + 1, len(self.found)))
        up = self._pair_runs(range(w - 1, lines.start - 1, -1), range(anchor - 1, -1, -1))
        return [*reversed(up), (w, anchor), *down]

    def _pair_runs(self, ws: range, fs: range) -> list[Pair]:
        """Pair two runs of lines one by one; where they do not agree, go on at the nearest lines that do."""
        pairs: list[Pair] = []
        w = f = 0
        while w < len(ws) and f < len(fs):
            if self._agree(ws[w], fs[f]):
                pairs.append((ws[w], fs[f]))
                w, f = w + 1, f + 1
            else:
                skip_w, skip_f = self._lines_to_skip(ws[w:], fs[f:])
                pairs += _pair_skipped(ws[w : w + skip_w], fs[f : f + skip_f])
                w, f = w + skip_w, f + skip_f
        pairs += _pair_skipped(ws[w:], range(0))
        # Found lines at the far end that are like nothing wanted are no part of the place.
        unpaired: list[Pair] = []
        while pairs and self._pair_similarity(*pairs[-1]) < MIN_EDGE_SIMILARITY:
            last_w, _ = pairs.pop()
            unpaired += [(last_w, None)] if last_w is not None else []
        return [*pairs, *reversed(unpaired)]

    def _lines_to_skip(self, ws: range, fs: range) -> tuple[int, int]:
        """Return how many lines of each to skip until they agree again; one of each, if they never do."""
        if len(ws) > 1 and len(fs) > 1 and self._agree_after(ws[1], fs[1], NEXT):
            return 1, 1
        if not self.found[fs[0]].strip():
            return 0, 1
        if not self.wanted.lines[ws[0]].strip():
            return 1, 0
        for skipped in range(1, LOOK_AHEAD + 1):
            for skip_w in range(max(skipped - len(fs) + 1, 0), min(skipped, len(ws) - 1) + 1):
                if self._agree_after(ws[skip_w], fs[skipped - skip_w], skipped):
                    return skip_w, skipped - skip_w
        return 1, 1

    def _agree_after(self, w: int, f: int, skipped: int) -> bool:
        """Tell whether two lines agree and are long enough for that to mean something: a bracket is not."""
        shortest = MIN_DISTINCTIVE if skipped > NEXT else 1
        return len(self.wanted.lines[w].strip()) >= shortest and self._agree(w, f)

    def _agree(self, w: int, f: int) -> bool:
        """Tell whether the found line fits the wanted one, exactly or but for its form."""
        wanted, found = self.wanted.lines[w], self.found[f]
        if wanted.strip() == found.strip():
            return True
        if not wanted.strip():
            return False
        fit = self.wanted.fit(w)
        return fit(wanted, found) or fit(differences.folded(wanted), differences.folded(found))

    def _pair_similarity(self, w: int | None, f: int | None) -> float:
        """Return from 0 to 1 how similar the two lines of a pair are."""
        if w is None or f is None:
            return 0.0
        wanted, found, fit = self.wanted.lines[w], self.found[f], self.wanted.fit(w)
        if fit(wanted, found):
            return 1.0
        if self._agree(w, f):
            return FORM_SIMILARITY
        return TEXT_SIMILARITY * differences.line_similarity(
            wanted, found, partly=fit is not differences.whole
        )

    def similarity(self, pairs: Sequence[Pair]) -> float:
        """Return from 0 to 1 how similar all pairs are, weighted by the length of their lines."""
        got = total = 0.0
        for w, f in pairs:
            line = self.found[f or 0] if w is None else self.wanted.lines[w]
            weight = min(len(line.strip()), 80) + 1
            got += weight * self._pair_similarity(w, f)
            total += weight * (EXTRA_LINE_WEIGHT if w is None else 1)
        return got / total if total else 0.0


def _pair_skipped(ws: range, fs: range) -> Iterator[Pair]:
    """Yield lines that do not agree: as pairs as long as both runs last, then alone."""
    both = min(len(ws), len(fs))
    yield from zip(ws[:both], fs[:both], strict=True)
    yield from ((w, None) for w in ws[both:])
    yield from ((None, f) for f in fs[both:])
