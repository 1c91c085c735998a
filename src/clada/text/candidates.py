"""Places in a file that may be what a search text means: found by its rarest lines, parts and words.

The whole file is only ever scanned for a few exact pieces, within a budget; what stands around the hits is
then compared line by line, for a few of them. Rare pieces come first: the many hits of a common one
say little, and are looked at only if nothing else is there.
"""

from __future__ import annotations

from clada.text.alignment import Place, Wanted, placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Piece = tuple[int, bytes]  # the line of the search text that it is from, and what it is

GOOD = 0.75  # the likeness of a place that needs no competitor
ENOUGH = 0.5  # the likeness of a place that is worth pointing at
REACH = 12  # lines up and down that are compared to choose between places
FEW = 8  # hits of a piece that is rare
BUDGET = 4  # scans of the file for long pieces, or fewer for short ones, which are found more slowly
BUDGET_LOWERED = 2  # and where letter case makes no difference
FREE = 5_000_000  # bytes that may be scanned in any case: small files are searched thoroughly
SPEED = ((24, 1), (10, 2), (0, 4))  # from so many bytes on, a scan for a piece costs so much
LINES, HALVED, WORDS = 5, 2, 5  # pieces of each kind that are tried
SHORTEST, SHORTEST_OF_LINE = 4, 3  # bytes of a piece, and of one where a line is the whole search text
MOST_LINES = 2_000  # lines of a search text from which pieces are taken
_NOT_IN_WORDS = bytes(byte for byte in range(128) if not (chr(byte).isalnum() or chr(byte) == "_"))
_WORDS_ONLY = bytes.maketrans(_NOT_IN_WORDS, b" " * len(_NOT_IN_WORDS))


def best_place(data: bytes, wanted: Wanted) -> Place | None:
    """Return the place that is most like the search text, or None where nothing is like it."""
    pieces = list(_pieces(wanted))
    if not pieces:
        return None
    place = _best(data, wanted, _hits(data, pieces, BUDGET))
    return place or _best(data, wanted, _hits(data.lower(), _lowered(pieces), BUDGET_LOWERED))


def _best(data: bytes, wanted: Wanted, groups: Iterable[tuple[int, list[int]]]) -> Place | None:
    """Return the best place around the hits, compared as a whole."""
    likeness, at = 0.0, (0, 0)
    for line, hits in groups:
        for hit in hits:
            here = placed(data, wanted, line, hit, REACH).likeness
            if here > likeness:
                likeness, at = here, (line, hit)
        if likeness >= GOOD:
            break
    return placed(data, wanted, *at, reach=len(wanted.lines)) if likeness >= ENOUGH else None


def _hits(scanned: bytes, pieces: Iterable[Piece], scans: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the pieces' lines and hits, rare pieces first, as far as the budget goes."""
    budget = scans * len(scanned) + FREE
    common = []
    for line, piece in pieces:
        cost = next(cost for size, cost in SPEED if len(piece) >= size)
        if cost * len(scanned) > budget:
            continue
        hits, passed = _first_hits(scanned, piece)
        budget -= cost * passed
        if len(hits) > FEW:
            common.append((line, hits))
        else:
            yield line, hits
    yield from common


def _first_hits(scanned: bytes, piece: bytes) -> tuple[list[int], int]:
    """Return the first hits of a piece, one more than a rare one has, and how many bytes were passed."""
    hits: list[int] = []
    hit = scanned.find(piece)
    while hit >= 0:
        hits.append(hit)
        if len(hits) > FEW:
            return hits, hit
        hit = scanned.find(piece, hit + len(piece))
    return hits, len(scanned)


def _pieces(wanted: Wanted) -> Iterator[Piece]:
    """Yield what to look for, the most telling first: whole lines, halves of lines, words."""
    lines = [(number, line.strip().encode()) for number, line in enumerate(wanted.lines[:MOST_LINES])]
    longest_line = max(len(line) for _, line in lines)
    # However short the lines of a text are, together they mean something.
    shortest = min(SHORTEST, longest_line) if len(lines) > 1 else SHORTEST_OF_LINE
    longest = _longest(lines, LINES, shortest)
    yield from longest
    for number, line in longest[:HALVED]:
        yield from ((number, half) for half in _halves(line) if len(half) >= shortest)
    words = [(number, word) for number, line in lines for word in _words(line)]
    yield from _longest(words, WORDS, shortest)


def _halves(line: bytes) -> tuple[bytes, bytes]:
    """Return both halves of a line, with its middle in both."""
    half = (len(line) + 1) // 2
    return line[:half], line[-half:]


def _longest(pieces: list[Piece], number: int, shortest: int) -> list[Piece]:
    """Return the longest pieces, each once, that are long enough to mean something."""
    first = {piece: line for line, piece in reversed(pieces) if len(piece) >= shortest}
    longest = sorted(first, key=len, reverse=True)[:number]
    return [(first[piece], piece) for piece in longest]


def _words(line: bytes) -> list[bytes]:
    return line.translate(_WORDS_ONLY).split()


def _lowered(pieces: list[Piece]) -> Iterator[Piece]:
    return ((line, piece.lower()) for line, piece in pieces)
