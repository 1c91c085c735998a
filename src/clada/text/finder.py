"""Finds many texts in one pass over a large one: a piece of each, by an automaton, and then the rest of it.

A piece should tell its text from the others, and be rare in what is searched: one behind a byte that all
texts have is found fastest; else the first one will often do, else one where the text begins to differ from
those most like it, else the one of some that fewest share.
"""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from typing import Any

PIECE = 12  # bytes of a search text that are looked for, before the rest is compared
SHORTEST = 6  # bytes of a piece, unless its text has no more
LEAD, REST = 2, 4  # bytes of it, at least, before and after its search text begins to differ from others
CANDIDATES = 16  # pieces of a search text of which one is chosen
MOST = 8  # of so many search texts, all but one should have a telling piece behind the same byte
SAMPLE = 16  # search texts by which it is judged what byte is rare
SHORT = 4  # bytes of a search text below which it is looked for by itself, when its turn comes
LONG = 1 << 12  # bytes of a search text above which the same is done, if there are only a few of these
FEW = 8
FREQUENT = 1000  # places of a piece above which another one is chosen
ROUNDS = 3  # of choosing pieces; what is frequent then is looked for by itself, too
CHUNK = 1 << 18  # bytes that are searched at a time: where a piece is everywhere, the list would be long


class Finder:
    """Finds all of some texts in one pass: a piece of each, by an automaton, and then the rest of it."""

    def __init__(self, searches: Counter[bytes], automaton: Callable[[list[bytes]], Any]) -> None:
        longest = sorted(searches, key=len, reverse=True)
        few = [search for search in longest[: FEW + 1] if len(search) > LONG]
        self.left = dict(searches)  # how often each is still to be looked for
        self.alone = {search for search in searches if len(search) < SHORT}  # which it does not find
        self.alone.update(few if len(few) <= FEW else ())
        self._found = [search for search in searches if search not in self.alone]
        # Bytes that a match may have beyond any byte of it.
        self.reach = max((len(search) for search in self._found), default=1) - 1
        self._automaton_of, self._frequent = automaton, set[bytes]()  # and pieces that are
        self._choose_pieces(self._found)

    @classmethod
    def of(cls, searches: Counter[bytes]) -> Finder | None:
        """Return what finds these; None where there is nothing to look for, or nothing to do it with."""
        try:
            from ahocorasick_rs import BytesAhoCorasick, Implementation
        except ImportError:
            return None
        finder = cls(searches, lambda pieces: BytesAhoCorasick(pieces, implementation=Implementation.DFA))
        return finder if finder._found else None

    def _choose_pieces(self, searches: Sequence[bytes]) -> None:
        self._by_piece: dict[bytes, list[tuple[int, bytes]]] = {}  # in which texts a piece is, and where
        for search, at in _telling_pieces(searches, self._frequent):
            self._by_piece.setdefault(search[at : at + PIECE], []).append((at, search))
        self._pieces, self._texts = list(self._by_piece), list(self._by_piece.values())
        self._matches: Callable[..., list[tuple[int, int, int]]] = self._automaton_of(
            self._pieces
        ).find_matches_as_indexes

    def find_all(self, data: bytes) -> dict[bytes, list[int] | None]:
        """Return where each text is, in order, if it is somewhere; None where it may be too often.

        The pieces that tell most in this text are those that are looked for from now on.
        """
        found = dict(self.find(data))
        for _ in range(ROUNDS - 1):
            others = [search for search, places in found.items() if places is None]
            if others:
                self._choose_pieces(others)
                found = {search: places for search, places in found.items() if places is not None}
                found.update(self.find(data))
        if self._frequent:
            self._choose_pieces(self._found)
        return found

    def find(self, data: bytes) -> Mapping[bytes, list[int] | None]:
        """Return where each text is, in order, if it is somewhere; None where it may be too often."""
        if len(data) > CHUNK:
            return self._find_by_piece(data, self._hits_by_chunk(memoryview(data)))
        hits = self._matches(data, overlapping=True)
        if len(hits) > FREQUENT:
            return self._find_by_piece(data, hits)
        found: dict[bytes, list[int]] = {}
        left, texts = self.left, self._texts
        for number, start, _end in hits:
            for at, search in texts[number]:
                if left[search] and start >= at and data.startswith(search, start - at):
                    found.setdefault(search, []).append(start - at)
        return found

    def _find_by_piece(
        self, data: bytes, hits: Iterable[tuple[int, int, int]]
    ) -> dict[bytes, list[int] | None]:
        """Do the same where a piece may be frequent."""
        places: dict[int, list[int]] = {}
        for number, start, _end in hits:
            places.setdefault(number, []).append(start)
        found: dict[bytes, list[int] | None] = {}
        for number, starts in places.items():
            piece = self._pieces[number]
            if len(starts) > FREQUENT:
                self._frequent.add(piece)
                found.update(dict.fromkeys(search for _at, search in self._by_piece[piece]))
                continue
            for at, search in self._by_piece[piece]:
                if self.left[search]:
                    found[search] = [
                        start - at for start in starts if start >= at and data.startswith(search, start - at)
                    ]
        return found

    def _hits_by_chunk(self, data: memoryview) -> Iterator[tuple[int, int, int]]:
        """Yield the number, the start and the end of each piece in the data."""
        for begin in range(0, len(data), CHUNK):
            chunk = data[begin : begin + CHUNK + PIECE - 1]
            for number, start, end in self._matches(chunk, overlapping=True):
                if start < CHUNK:  # else it is one of the next chunk
                    yield number, begin + start, begin + end


def _telling_pieces(searches: Sequence[bytes], frequent: set[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield each search text with the place of a piece that few others have, and that is not frequent."""
    behind = _behind_one_byte(searches)
    others = (yield from _telling(behind, frequent)) if behind else searches
    # The first one will often do. It does not begin with blanks, where an automaton would stop each time.
    indented = {search: len(search) - len(search.lstrip(b" \t")) for search in others}
    others = yield from _telling(indented, frequent)
    # Else one where it begins to differ from those that are most like it.
    others = yield from _telling(_differences(others), frequent)
    places = {search: _candidates(len(search) - PIECE) for search in others}
    shared = Counter(search[at : at + PIECE] for search, offsets in places.items() for at in offsets)
    shared.update(dict.fromkeys(frequent, len(searches)))
    for search, offsets in places.items():
        yield search, min(offsets, key=lambda at: shared[search[at : at + PIECE]])


def _telling(
    places: Mapping[bytes, int], frequent: set[bytes]
) -> Generator[tuple[bytes, int], None, list[bytes]]:
    """Yield the search texts of whose piece at this place there is no other; return the others."""
    pieces = {search: search[at : at + PIECE] for search, at in places.items()}
    shared = Counter(pieces.values())
    others = []
    for search, piece in pieces.items():
        if len(piece) >= SHORTEST and shared[piece] == 1 and piece not in frequent:
            yield search, places[search]
        else:
            others.append(search)
    return others


def _behind_one_byte(searches: Sequence[bytes]) -> dict[bytes, int]:
    """Return for each search text where a piece begins: all with the same byte, if most are telling then.

    To look for one byte is far quicker than for any of many. It should be rare, and followed soon by what
    tells: at each place where it is, the automaton goes on until no text can be there.
    """
    sample = searches[:SAMPLE]
    counts = Counter(b"".join(sample))
    ways: list[tuple[int, int, Callable[[bytes, int], int]]] = []
    for byte in set(b"".join(sample[:1])).intersection(*sample):
        for find in (bytes.find, bytes.rfind):
            pieces = [search[(at := find(search, byte)) : at + PIECE] for search in sample]
            if len(set(pieces)) == len(sample) and min(map(len, pieces)) >= SHORTEST:
                ways.append((counts[byte] * (REST + _common(min(pieces), max(pieces))), byte, find))
    if not ways:
        return {}
    _cost, byte, place_of = min(ways, key=lambda way: way[0])
    places = {search: place_of(search, byte) for search in searches}  # one without it has no piece there
    telling = {search[at : at + PIECE] for search, at in places.items()}
    return places if len(telling) * MOST >= len(searches) * (MOST - 1) else {}


def _differences(searches: Sequence[bytes]) -> dict[bytes, int]:
    """Return for each search text where a piece begins in which it differs from those most like it.

    If they can, all begin with the same byte, and a rare one: that is found far faster than one of many.
    """
    sample = searches[:SAMPLE]
    counts, in_all = Counter(b"".join(sample)), set(b"".join(sample)).intersection(*sample)
    by_rarity = sorted(range(256), key=lambda byte: (byte not in in_all, counts[byte]))
    rarity = bytes.maketrans(bytes(by_rarity), bytes(range(256)))
    in_order = sorted(searches)
    common = [0, *map(_common, in_order, in_order[1:]), 0]
    places = {}
    for number, search in enumerate(in_order):
        differs = max(common[number], common[number + 1])
        last = max(min(differs - LEAD, len(search) - PIECE), 0)
        first = min(max(differs - PIECE + REST, 0), last)
        ranks = search[first : last + 1].translate(rarity)
        places[search] = first + ranks.index(min(ranks))
    return places


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their beginnings."""
    size = min(len(one), len(other))
    difference = int.from_bytes(one[:size]) ^ int.from_bytes(other[:size])  # far quicker than byte by byte
    return size - (difference.bit_length() + 7) // 8


def _candidates(last: int) -> Sequence[int]:
    """Return offsets up to the last one, evenly."""
    return (*range(0, last, max(last // CANDIDATES, 1)), last) if last > 0 else (0,)
