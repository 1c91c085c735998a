"""Speed of an edit of many hunks, and of explaining why a search text was not found in a large file."""

from __future__ import annotations

import random

from tools.benchmarks.measuring import PROCESSOR, Row, ratio

from clada.operations.edit import Edit, Hunk
from clada.operations.hunks import replace_hunks
from clada.text.explain import explain
from clada.text.match import Text

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
        *_hunks(data, 20 if quick else 1_000, 1 if quick else 5),
        *(
            Row(f"explaining {what} in 10 MB / one scan", _explaining(data, search, 1 if quick else 5), 20.0)
            for what, search in searches.items()
        ),
    ]


def _hunks(data: bytes, number: int, rounds: int) -> list[Row]:
    """Compare an edit of many hunks, as they are and indented otherwise, with splicing at known places."""
    lines = data.decode().split("\n")
    data += b"\n"
    step = len(lines) // number
    olds = [lines[at : at + 7] for at in range(0, step * number, step)]
    pairs = [("\n".join(old), "\n".join([*old[:3], "new", *old[4:]])) for old in olds]
    starts = [data.find(old.encode()) for old, _ in pairs]
    spans = [(start, start + len(old)) for start, (old, _) in zip(starts, pairs, strict=True)]
    news = [new.encode() for _, new in pairs]
    ways = {
        "1,000 hunks in one 10 MB file / splicing at known places": ("", 80.0),
        "1,000 hunks indented otherwise in one 10 MB file / the same": ("  ", 200.0),
    }
    rows = []
    for name, (blanks, goal) in ways.items():
        hunks = tuple(Hunk(_indented(old, blanks), _indented(new, blanks)) for old, new in pairs)
        edit = Edit(1, (0, 0), {}, "file", hunks, match="blanks", whole_lines=True)
        rows.append(Row(name, _editing(edit, data, (spans, news), rounds), goal))
    return rows


def _indented(text: str, blanks: str) -> str:
    return blanks + text.replace("\n", f"\n{blanks}")


def _editing(edit: Edit, data: bytes, known: tuple[list[tuple[int, int]], list[bytes]], rounds: int) -> float:
    return ratio(
        rounds,
        lambda: replace_hunks(edit, Text(data), edit.match),
        lambda: Text(data).spliced(*known),
        PROCESSOR,
    )


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
