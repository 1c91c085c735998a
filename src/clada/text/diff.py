"""Line diffs: a patience diff, near-linear in the size of any file, and the hunks of unified diffs.

1. Equal lines at both ends are left out, by comparing bytes.
2. Lines that are unique in both versions are paired.
3. Between two pairs, short runs of lines are compared by difflib; long ones count as replaced as a whole.
"""

from __future__ import annotations

from bisect import bisect_left

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeVar

    Line = TypeVar("Line", bytes, str)

CONTEXT = 3  # lines around a change that are shown
NO_BREAK = "\\ No newline at end of file"
WHOLE = 1 << 15  # bytes of both versions below which nothing is left out
SHORT = 40_000  # old lines times new lines that difflib compares between two pairs


class LineChange(Value):
    """Lines that are replaced by others, counted from 0: old[start:end] by new[new_start:new_end]."""

    start: int
    end: int
    new_start: int
    new_end: int


class DiffHunk(Value):
    """One hunk of a unified diff: the changes that are close together, with the lines around them."""

    start: int  # lines of the old version before it
    new_start: int  # lines of the new version before it
    header: str
    lines: tuple[tuple[str, bytes], ...]  # each with its sign: blank, - or +
    old: bytes
    new: bytes


class DifferingPart(Value):
    """Two versions of a file without the equal lines at their start and end, but for the context."""

    skipped: int  # lines before it
    old: bytes
    new: bytes


def differing_part(old: bytes, new: bytes) -> DifferingPart:
    """Return the part in which two versions differ, with the context lines around it; of short ones, all.

    Among equal lines, a change may be told further down than it begins: then less context is left below it.
    """
    if len(old) + len(new) < WHOLE:
        return DifferingPart(0, old, new)
    start = old.rfind(b"\n", 0, common_start(old, new)) + 1
    old_rest, new_rest = old[start:], new[start:]
    end = old_rest.find(b"\n", len(old_rest) - common_start(old_rest[::-1], new_rest[::-1]))
    for _ in range(CONTEXT):
        start = old.rfind(b"\n", 0, max(start - 1, 0)) + 1
        end = old_rest.find(b"\n", end + 1) if end >= 0 else end
    tail = len(old_rest) - end - 1 if end >= 0 else 0  # bytes of equal lines that are left out at the end
    return DifferingPart(
        old.count(b"\n", 0, start), old[start : len(old) - tail], new[start : len(new) - tail]
    )


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of equal characters, or lines, at the start, by bisection: there can be many."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return the number of equal characters, or lines, at the start, and of those after them at the end."""
    start = common_start(one, other)
    return start, common_start(one[start:][::-1], other[start:][::-1])


def split_lines(text: Line) -> list[Line]:
    """Return the lines of a text, each with its LF, which the last may lack."""
    lf: Any = {bytes: b"\n", str: "\n"}[type(text)]
    *whole, last = text.split(lf)
    return [line + lf for line in whole] + ([last] if last else [])


def line_changes(old: Sequence[Line], new: Sequence[Line]) -> Iterator[LineChange]:
    """Yield the changes between two versions, in order."""
    start = new_start = 0
    for end, new_end in [*_unique_pairs(old, new), (len(old), len(new))]:
        yield from _changes_between_pairs(old, new, LineChange(start, end, new_start, new_end))
        start, new_start = end + 1, new_end + 1


def _unique_pairs(old: Sequence[Line], new: Sequence[Line]) -> list[tuple[int, int]]:
    """Return the longest series of lines that are unique in both versions and in the same order.

    It is the longest increasing subsequence of their places in the new version.
    """
    places = _unique_lines(new)
    both = [(line, places[text]) for text, line in _unique_lines(old).items() if text in places]
    ends: list[int] = []  # by length of a series less one: the earliest place at which one can end
    last_pairs: list[int] = []  # the index of the pair that ends that series
    before: list[int] = []  # for each pair: the index of the pair before it in its series
    for number, (_line, place) in enumerate(both):
        length = bisect_left(ends, place)
        ends[length : length + 1], last_pairs[length : length + 1] = [place], [number]
        before.append(last_pairs[length - 1] if length else -1)
    series, number = [], last_pairs[-1] if last_pairs else -1
    while number >= 0:
        series.append(both[number])
        number = before[number]
    return series[::-1]


def _unique_lines(texts: Sequence[Line]) -> dict[Line, int]:
    """Return the index of each line that occurs once, in order."""
    places: dict[Line, int] = {}
    for line, text in enumerate(texts):
        places[text] = -1 if text in places else line
    return {text: line for text, line in places.items() if line >= 0}


def _changes_between_pairs(old: Sequence[Line], new: Sequence[Line], gap: LineChange) -> Iterator[LineChange]:
    """Yield the changes in the lines between two pairs."""
    start, end, new_start, new_end = gap.start, gap.end, gap.new_start, gap.new_end
    top, bottom = common_ends(old[start:end], new[new_start:new_end])
    start, new_start, end, new_end = start + top, new_start + top, end - bottom, new_end - bottom
    if start == end and new_start == new_end:
        return
    if start == end or new_start == new_end or (end - start) * (new_end - new_start) > SHORT:
        yield LineChange(start, end, new_start, new_end)
        return
    from difflib import SequenceMatcher  # late, because a plain edit compares no lines

    matcher = SequenceMatcher(None, old[start:end], new[new_start:new_end], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind != "equal":
            yield LineChange(start + i1, start + i2, new_start + j1, new_start + j2)


def diff_hunks(
    old: Sequence[bytes],
    new: Sequence[bytes],
    changes: Iterable[LineChange],
    before: tuple[int, int] = (0, 0),
) -> Iterator[DiffHunk]:
    """Yield the hunks of a unified diff; `before` has the number of lines before the old and the new text."""
    group: list[LineChange] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * CONTEXT:  # their context lines do not touch
            yield _hunk(old, new, group, before)
            group = []
        group.append(change)
    if group:
        yield _hunk(old, new, group, before)


def _hunk(
    old: Sequence[bytes], new: Sequence[bytes], group: list[LineChange], before: tuple[int, int]
) -> DiffHunk:
    start, end = max(0, group[0].start - CONTEXT), min(len(old), group[-1].end + CONTEXT)
    new_start = group[0].new_start - (group[0].start - start)
    new_end = group[-1].new_end + (end - group[-1].end)
    lines: list[tuple[str, bytes]] = []
    at = start
    for change in group:
        lines += ((" ", line) for line in old[at : change.start])
        lines += (("-", line) for line in old[change.start : change.end])
        lines += (("+", line) for line in new[change.new_start : change.new_end])
        at = change.end
    lines += ((" ", line) for line in old[at:end])
    starts = start + before[0], new_start + before[1]
    header = hunk_header(starts, (end - start, new_end - new_start))
    texts = b"".join(old[start:end]), b"".join(new[new_start:new_end])
    return DiffHunk(*starts, header, tuple(lines), *texts)


def hunk_header(starts: tuple[int, int], sizes: tuple[int, int]) -> str:
    """Return the header of a hunk: lines before it, and its lines, in the old and the new version."""
    # Counted from 1; an empty side has the number of the line before it.
    sides = [
        f"{start + bool(size)}" if size == 1 else f"{start + bool(size)},{size}"
        for start, size in zip(starts, sizes, strict=True)
    ]
    return f"@@ -{sides[0]} +{sides[1]} @@"
