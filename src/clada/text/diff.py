"""Which lines of a file change: near-linear in its size, whatever stands in it.

Equal lines at both ends are left out, by bytes. Lines that are unique in both versions are then paired, as
patience diffs do; what lies between two pairs is compared line by line where it is short, and else counts as
replaced whole.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTEXT = 3  # lines around a change that are shown
SHORT = 40_000  # pairs of lines that are compared with each other


class Change(Value):
    """Lines that are replaced by others, from 0: old[start:end] by new[new_start:new_end]."""

    start: int
    end: int
    new_start: int
    new_end: int


class Middle(Value):
    """What is left of two versions without equal lines at their ends, up to the context of a change."""

    skipped: int  # lines before it
    old: bytes
    new: bytes


def middle(old: bytes, new: bytes) -> Middle:
    """Return the part of two versions in which they differ, and the lines around it."""
    start = old.rfind(b"\n", 0, _equal_start(old, new)) + 1
    tail = _equal_tail(old[start:], new[start:])
    for _ in range(CONTEXT):
        start = old.rfind(b"\n", 0, max(start - 1, 0)) + 1
    skipped = old.count(b"\n", 0, start)
    return Middle(skipped, old[start : len(old) - tail], new[start : len(new) - tail])


def _equal_tail(old: bytes, new: bytes) -> int:
    """Return how many bytes at the end are equal lines, less those that are shown around a change."""
    end = old.find(b"\n", len(old) - _equal_start(old[::-1], new[::-1]))
    for _ in range(CONTEXT):
        end = old.find(b"\n", end + 1) if end >= 0 else end
    return len(old) - end - 1 if end >= 0 else 0


def _equal_start(old: bytes, new: bytes) -> int:
    """Return how many bytes are equal at the start."""
    at, step = 0, min(len(old), len(new))
    while step:
        if at + step <= len(old) and old[at : at + step] == new[at : at + step]:
            at += step
        else:
            step //= 2
    return at


def lines(data: bytes) -> list[bytes]:
    """Return the lines of a text, each with its line break."""
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def changes(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Change]:
    """Yield what changes between two versions, in order."""
    at = new_at = 0
    for line, new_line in [*_pairs(old, new), (len(old), len(new))]:
        yield from _between(old, new, Change(at, line, new_at, new_line))
        at, new_at = line + 1, new_line + 1


def _pairs(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the longest series of lines that are unique in both versions and in the same order."""
    from bisect import bisect_left

    places = _unique(new)
    both = [(line, places[text]) for text, line in _unique(old).items() if text in places]
    ends: list[int] = []  # the place in the new version at which a series of each length can end earliest
    tops: list[int] = []  # the number of the pair that ends it
    before: list[int] = []  # the number of the pair that comes before each
    for number, (_line, place) in enumerate(both):
        length = bisect_left(ends, place)
        ends[length : length + 1], tops[length : length + 1] = [place], [number]
        before.append(tops[length - 1] if length else -1)
    series, number = [], tops[-1] if tops else -1
    while number >= 0:
        series.append(both[number])
        number = before[number]
    return series[::-1]


def _unique(texts: Sequence[bytes]) -> dict[bytes, int]:
    """Return where each line stands that is there once, in their order."""
    places: dict[bytes, int] = {}
    for line, text in enumerate(texts):
        places[text] = -1 if text in places else line
    return {text: line for text, line in places.items() if line >= 0}


def _between(old: Sequence[bytes], new: Sequence[bytes], gap: Change) -> Iterator[Change]:
    """Yield what changes between two pairs."""
    start, end, new_start, new_end = gap.start, gap.end, gap.new_start, gap.new_end
    while start < end and new_start < new_end and old[start] == new[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    if start == end and new_start == new_end:
        return
    if start == end or new_start == new_end or (end - start) * (new_end - new_start) > SHORT:
        yield Change(start, end, new_start, new_end)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind != "equal":
            yield Change(start + i1, start + i2, new_start + j1, new_start + j2)
