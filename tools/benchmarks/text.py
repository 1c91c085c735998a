"""Speed of explaining why a search text was not found in a large file, as ratios to scanning it once."""

from __future__ import annotations

import random

from tools.benchmarks.measuring import PROCESSOR, Row, ratio

from clada.text.match import Text
from clada.text.near_miss import explain

PLACE = 0.4  # of the file's lines: where the text that was meant stands


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    data = _file(100_000 if quick else 10_000_000)
    lines = data.split(b"\n")
    at = int(len(lines) * PLACE)
    place = lines[at : at + 8]
    searches = {
        "a changed line": b"\n".join([*place[:3], b"    something_else(entirely)", *place[4:]]),
        "indentation": b"\n".join(b"  " + line for line in place),
        "what is nowhere": b"SELECT name, address\n  FROM customers\n WHERE customers.id = :customer\n",
    }
    return [
        Row(f"explaining {what} in 10 MB / one scan", _explaining(data, search, 1 if quick else 5), 20.0)
        for what, search in searches.items()
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


def _explaining(data: bytes, search: bytes, rounds: int) -> float:
    """Compare the explanation of a search that failed with the scan that found nothing."""
    return ratio(
        rounds,
        lambda: explain(Text(data), search, b"the new text,\nwhich is not there"),
        lambda: data.count(search),
        PROCESSOR,
    )
