"""Finds the place in a file that is most similar to a search text which is not in it.

1. The file is scanned for a few exact pieces of the search text: its longest lines, halves of them, words.
   The scans have a budget. Rare pieces come first, since the many hits of a common one say little.
2. Where that finds nothing good in a small file, lines that share rare words with the search text are next.
3. Around each hit, lines of the file are paired with lines of the search text, and the pairs are scored.
4. The best place, if it is similar enough to be worth naming, is then compared in full; so are others that
   are as good.

Here `w` is the index of a wanted line (of the search text), `f` that of a found line (of the file).
"""

from __future__ import annotations

from itertools import accumulate, islice

from clada.text.alignment import Alignment, WantedLines
from clada.text.line_endings import CR, CRLF, LF
from clada.text.match import find_all
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clada.text.alignment import Pair

    Hit = tuple[int, int]  # the index of a wanted line, and where something of it is in the file
    Piece = tuple[int, bytes]  # the index of the wanted line that it is from, and its bytes

# Choosing between places; similarities are from 0 to 1.
GOOD_SIMILARITY = 0.75  # a place with this needs no competitor
MIN_SIMILARITY = 0.5  # a place with less is not worth naming
MIN_SIMILARITY_OF_RUN = 0.15  # unless it has lines in a row that are as wanted, and this
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

# Looking at lines with rare words.
SMALL = 200_000  # bytes of a file whose words are examined
MOST_VOTING = 200  # lines of a search text
MOST_OCCURRENCES = 50  # lines of the file with a word that is not too common to say something
MOST_SHIFTS = 6  # places that are compared

NEARBY = 200  # bytes on each side of a hit that are examined, and more for long lines
MORE_LINES = 40  # of the file that may be between those of the search text
AS_GOOD = 0.01  # less similar than the best place, at most


def wanted_lines(search: bytes) -> WantedLines:
    """Split a search text with LF; a line break at its start or end belongs to the line beside it."""
    lines = search.decode().split("\n")
    starts_line = len(lines) > 1 and not lines[0]
    ends_line = len(lines) > 1 + starts_line and not lines[-1]
    return WantedLines(lines[starts_line : len(lines) - ends_line], starts_line, ends_line)


class NearPlace(Value):
    """A place in a file, compared with a search text."""

    hit: Hit
    similarity: float
    worth_naming: bool
    pairs: Sequence[Pair]  # in the order of the lines
    found: Sequence[str]  # the lines of the file that were examined
    anchor: int  # the f of the line with the hit
    offset: int  # the byte at which that line starts


def most_similar(data: bytes, wanted: WantedLines) -> list[NearPlace]:
    """Return the places that are worth naming and as similar as the best; some may overlap."""
    pieces = list(_pieces(wanted))
    if not pieces:
        return []
    compared: set[tuple[int, int, int]] = set()
    places = list(_compare_groups(data, wanted, _hits(data, pieces, SCANS), compared))
    if not any(place.similarity >= GOOD_SIMILARITY for place in places) and len(data) <= SMALL:
        places += _compare_groups(data, wanted, [_hits_by_words(data, wanted)], compared)
    if not any(place.worth_naming for place in places):
        lowered = [(w, piece.lower()) for w, piece in pieces]
        places += _compare_groups(data, wanted, _hits(data.lower(), lowered, SCANS_IGNORING_CASE), compared)
    named = [place for place in places if place.worth_naming]
    named.sort(key=lambda place: (-place.similarity, place.offset))
    return [place for place in named if place.similarity >= named[0].similarity - AS_GOOD]


def compare_in_full(data: bytes, wanted: WantedLines, place: NearPlace) -> NearPlace:
    """Return the place with all lines of the search text compared, not only those around its hit."""
    if len(wanted.lines) <= COMPARED_LINES:
        return place
    return _compare(data, wanted, place.hit, reach=len(wanted.lines))


def _compare_groups(
    data: bytes, wanted: WantedLines, groups: Iterable[Iterable[Hit]], compared: set[tuple[int, int, int]]
) -> Iterator[NearPlace]:
    """Yield the places around the hits, up to a group of hits with one that needs no competitor.

    `compared` has the lines, each with the wanted one, that were examined: several pieces of a wanted line
    are found in the same one.
    """
    for hits in groups:
        places = []
        for w, offset in hits:
            lines = (w, *line_around(data, offset, _reach(wanted, w)))
            if lines not in compared:
                compared.add(lines)
                places.append(_compare(data, wanted, (w, offset), COMPARED_LINES))
        yield from places
        if any(place.similarity >= GOOD_SIMILARITY for place in places):
            return


def _hits_by_words(data: bytes, wanted: WantedLines) -> Iterator[Hit]:
    """Yield the lines that share the most words with the search text, rare ones above all.

    Each word that a wanted and a found line share is a vote for the shift from the one to the other.
    """
    lines = data.splitlines(keepends=True)
    having: dict[bytes, list[int]] = {}  # the lines with a word
    for f, line in enumerate(lines):
        for word in _words(line.lower()):
            having.setdefault(word, []).append(f)
    votes: dict[int, dict[int, float]] = {}  # by shift, then by wanted line
    for w, wanted_line in enumerate(wanted.lines[:MOST_VOTING]):
        for word in _words(wanted_line.lower().encode()):
            fs = having.get(word, ())
            for f in fs if len(fs) <= MOST_OCCURRENCES else ():
                of_shift = votes.setdefault(f - w, {})
                of_shift[w] = of_shift.get(w, 0.0) + 1 / len(fs)
    offsets = [0, *accumulate(map(len, lines))]
    best = sorted(votes, key=lambda shift: -sum(votes[shift].values()))[:MOST_SHIFTS]
    for shift in best:
        w = max(votes[shift], key=votes[shift].__getitem__)
        yield w, offsets[w + shift]


def _words(line: bytes) -> set[bytes]:
    return set(line.translate(_WORDS_ONLY).split())


def _hits(scanned: bytes, pieces: Iterable[Piece], scans: int) -> Iterator[list[Hit]]:
    """Yield the hits of each piece, rare pieces first, as far as the budget goes."""
    budget = scans * len(scanned) + FREE_BYTES
    common = []
    for w, piece in pieces:
        cost = next(cost for size, cost in SCAN_COSTS if len(piece) >= size)
        if cost * len(scanned) > budget:
            continue
        hits = [(w, offset) for offset in islice(find_all(scanned, piece), MAX_RARE_HITS + 1)]
        budget -= cost * (hits[-1][1] if len(hits) > MAX_RARE_HITS else len(scanned))
        if len(hits) > MAX_RARE_HITS:
            common.append(hits)
        else:
            yield hits
    yield from common


def _pieces(wanted: WantedLines) -> Iterator[Piece]:
    """Yield pieces to scan for, the most distinctive first: whole lines, halves of lines, words."""
    lines = [(w, line.strip().encode()) for w, line in enumerate(wanted.lines[:MAX_SEARCH_LINES])]
    longest_line = max(len(line) for _, line in lines)
    # Even the shortest lines of a text mean something together.
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


def _compare(data: bytes, wanted: WantedLines, hit: Hit, reach: int) -> NearPlace:
    """Compare the lines around a hit with those around its wanted line, `reach` lines up and down."""
    w, offset = hit
    first, last = max(w - reach, 0), min(w + reach + 1, len(wanted.lines))
    start, end = line_around(data, offset, _reach(wanted, w))
    # Lines in the file may be longer than those of the search text, and there may be others between them.
    sizes = [
        20 * NEARBY + 2 * sum(map(len, lines))
        for lines in (wanted.lines[first:w], wanted.lines[w + 1 : last])
    ]
    above = lines_above(data, start, sizes[0])[-(w - first) - MORE_LINES :]
    below = lines_below(data, end, sizes[1])[: last - w - 1 + MORE_LINES]
    found = [*above, _decode(data[start:end]), *below]
    aligned = Alignment(wanted, found, range(first, last), (w, len(above)))
    similarity = aligned.similarity
    worth_naming = similarity >= MIN_SIMILARITY or (
        similarity >= MIN_SIMILARITY_OF_RUN and aligned.has_matching_run
    )
    return NearPlace(hit, similarity, worth_naming, aligned.pairs, found, len(above), start)


def _reach(wanted: WantedLines, w: int) -> int:
    """Return the number of bytes of a line that are examined on each side of a hit."""
    return NEARBY + 2 * len(wanted.lines[w])


def line_around(data: bytes, hit: int, reach: int) -> tuple[int, int]:
    """Return where the line with the hit starts and ends, cut to `reach` bytes on each side."""
    low, high = max(hit - reach, 0), min(hit + reach, len(data))
    start = max(data.rfind(LF, low, hit), data.rfind(CR, low, hit))
    ends = [end for end in (data.find(LF, hit, high), data.find(CR, hit, high)) if end >= 0]
    return (low if start < 0 else start + 1), min(ends, default=high)


def lines_above(data: bytes, start: int, size: int) -> list[str]:
    """Return the whole lines in so many bytes above a line that starts here."""
    lines = data[max(start - size, 0) : start].splitlines()
    return [_decode(line) for line in lines[size < start :]]  # the start of the first one may be cut off


def lines_below(data: bytes, end: int, size: int) -> list[str]:
    """Return the whole lines in so many bytes below a line whose line break is here."""
    start = end + (2 if data[end : end + 2] == CRLF else 1)
    lines = data[start : start + size].splitlines()
    is_cut = start + size < len(data)
    return [_decode(line) for line in lines[: len(lines) - is_cut]]


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace").removeprefix("\ufeff")
