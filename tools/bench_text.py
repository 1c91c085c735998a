"""Speed of finding, replacing and explaining in large files, as ratios to scanning them once."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from clada.text.match import Text
from clada.text.nearest import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EDITS, ROUNDS = 400, 5


def rows() -> list[tuple[str, float, float]]:
    """Return what was measured: its name, the ratio, and the most it may be."""
    file = _file(7_000_000)
    large = _file(10_000_000)
    lines = large.split(b"\n")
    place = lines[120_000:120_008]
    changed = b"\n".join([*place[:3], b"    something_else(entirely)", *place[4:]])
    indented = b"\n".join(b"  " + line for line in place)
    absent = b"SELECT name, address\n  FROM customers\n WHERE customers.id = :customer\n"
    return [
        (f"{EDITS} edits of one 7 MB file / the counting alone", _edits(file), 2.0),
        (f"{EDITS} edits of one 7 MB file with CRLF / the same", _edits(file.replace(b"\n", b"\r\n")), 2.0),
        ("explaining a changed line in 10 MB / one scan", _explaining(large, changed), 20.0),
        ("explaining indentation in 10 MB / one scan", _explaining(large, indented), 20.0),
        ("explaining what is nowhere in 10 MB / one scan", _explaining(large, absent), 20.0),
    ]


def _file(size: int) -> bytes:
    """Return something like source code, every line a little different."""
    chance = random.Random(1)  # noqa: S311 (the same file each time)
    names = [
        f"{a}_{b}" for a in "load save find sort merge".split() for b in "user item page list node".split()
    ]
    lines = []
    while size > 0:
        one, two = chance.choices(names, k=2)
        lines.append(b"%s%s(%s, %d)" % (b"    " * chance.randint(0, 4), one.encode(), two.encode(), size))
        size -= len(lines[-1]) + 1
    return b"\n".join(lines)


def _edits(data: bytes) -> float:
    """Compare many edits in a row, each found, counted, placed and replaced, with counting the same texts."""
    ending = b"\r\n" if b"\r" in data else b"\n"
    lines = data.split(ending)
    starts = random.Random(2).sample(range(len(lines) - 2), EDITS)  # noqa: S311 (the same edits each time)
    searches = [b"\n".join(lines[start : start + 2]) for start in starts]

    def count() -> None:
        for search in searches:
            data.count(search.replace(b"\n", ending))

    def edit() -> None:
        text = Text(data)
        for search in searches:
            found = text.locate(search)
            text.lines(found.starts)
            text = text.spliced(found, search + b"  # edited\n")

    return _ratio(edit, count, rounds=2)


def _explaining(data: bytes, search: bytes) -> float:
    """Compare the explanation of a search that failed with the scan that found nothing."""

    def explained() -> None:
        explain(Text(data), search, b"the new text,\nwhich is not there")

    return _ratio(explained, lambda: data.count(search), rounds=ROUNDS)


def _ratio(one: Callable[[], object], other: Callable[[], object], rounds: int) -> float:
    """Return the ratio of the fastest rounds, which are interleaved so that noise meets both."""
    times = [(_seconds(one), _seconds(other)) for _ in range(rounds)]
    return min(first for first, _ in times) / min(second for _, second in times)


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor's time: what else runs on the machine would count against the longer work."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    for name, ratio, goal in rows():
        print(f"{name:55} {ratio:6.2f}  (at most {goal})")
