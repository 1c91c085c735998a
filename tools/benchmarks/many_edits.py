"""What many edits of one large file cost, against splicing it once by hand where the places are known."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

from tools.benchmarks.editing import execute
from tools.benchmarks.measuring import PROCESSOR, Row, ratio

LINES = 230_000
EDITS = 1_000
# Each shape: how an edit is written, how often its text is in the file, and the line ending there.
EDIT = '<---SEARCH file="large.py"{count}--->\n{first}\n{to}<---REPLACE--->\n{new}\n<---END--->\n'
SHAPES = {
    "one by one": ("", 1, "\n", 6.0),
    "ranges": ("", 1, "\n", 8.0),
    "all of three": (' count="all"', 3, "\n", 8.0),
    "CRLF": ("", 1, "\r\n", 8.0),
}


def rows(part: int) -> list[Row]:
    """Return what was measured."""
    what = "1,000 edits of one 11 MB file, {} / reading, splicing and writing it once"
    compared = [Row(what.format(shape), _compared(part, shape), row[-1]) for shape, row in SHAPES.items()]
    return [*compared, Row("4,000 such edits / 1,000", _growth(part), 4.5)]


class _Work:
    """A file of many lines, edits of some of them, and the same edits by hand; both there and back again."""

    def __init__(self, part: int, shape: str, edits: int) -> None:
        chance = random.Random(4)  # noqa: S311 (the same file each time)
        self.shape, (_count, times, self.ending, _most) = shape, SHAPES[shape]
        lines = [
            f"    value_{number} = call_{chance.randrange(10**9)}(value, {number})"
            for number in range(LINES // part)
        ]
        chosen = chance.sample(range(0, len(lines) - 1, 2), edits // part)
        for at in chosen:
            for copy in range(1, times):  # put elsewhere, too
                lines[(at + copy * 101 * 2 + 1) % len(lines)] = lines[at]
        self.old = [lines[at] for at in chosen]
        self.ends = [lines[at + 1] for at in chosen]
        self.data = (self.ending.join(lines) + self.ending).encode()
        self.there = [f"{line}  # edited" for line in self.old]

    def document(self, old: list[str], new: list[str]) -> str:
        """Return the edits as a document."""
        is_range = self.shape == "ranges"
        return "".join(
            EDIT.format(
                count=SHAPES[self.shape][0],
                first=first,
                to=f"<---TO--->\n{end}\n" if is_range else "",
                new=f"{second}\n{end}" if is_range else second,
            )
            for first, second, end in zip(old, new, self.ends, strict=True)
        )

    def places(self, data: bytes, old: list[str], new: list[str]) -> list[tuple[int, int, bytes]]:
        """Return where each text is in the data, and what replaces it, in order."""
        found = []
        for first, second in zip(old, new, strict=True):
            text, at = f"{first}{self.ending}".encode(), 0
            while (at := data.find(text, at)) >= 0:
                found.append((at, at + len(text), f"{second}{self.ending}".encode()))
                at += len(text)
        return sorted(found)


def _splice(path: str, places: list[tuple[int, int, bytes]]) -> None:
    """Do by hand what the edits do."""
    with open(path, "rb") as file:
        data = file.read()
    parts: list[bytes] = []
    at = 0
    for start, end, new in places:
        parts += (data[at:start], new)
        at = end
    with open(f"{path}.tmp", "wb") as file:
        file.write(b"".join([*parts, data[at:]]))
    os.rename(f"{path}.tmp", path)


def _compared(part: int, shape: str) -> float:
    work = _Work(part, shape, EDITS)
    documents = [work.document(work.old, work.there), work.document(work.there, work.old)]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/large.py"
        Path(path).write_bytes(work.data)
        there = work.places(work.data, work.old, work.there)
        _splice(path, there)
        both = [there, work.places(Path(path).read_bytes(), work.there, work.old)]
        Path(path).write_bytes(work.data)

        def edit() -> None:
            for document in documents:
                execute(document, folder)

        def by_hand() -> None:
            for places in both:
                _splice(path, places)

        return ratio(5, edit, by_hand, PROCESSOR)


def _growth(part: int) -> float:
    few, many = (_Work(part, "one by one", edits) for edits in (EDITS, 4 * EDITS))
    with tempfile.TemporaryDirectory() as folder:
        for name, work in (("few", few), ("many", many)):
            Path(folder, name).mkdir()
            Path(folder, name, "large.py").write_bytes(work.data)

        def edit(name: str, work: _Work) -> None:
            for pair in ((work.old, work.there), (work.there, work.old)):
                execute(work.document(*pair), f"{folder}/{name}")

        return ratio(3, lambda: edit("many", many), lambda: edit("few", few), PROCESSOR)
