"""What many edits of one large file cost, against splicing it once by hand where the places are known."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.benchmarks.editing import execute, search
from tools.benchmarks.measuring import PROCESSOR, Row, least, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "large.py"
LINES = 230_000  # 11 MB
EDITS = 1_000
METHOD = """\
    @decorated_with_the_usual_checks(level=3, strict=True)
    def handle_request(self, request, response, context):
        value = {} * self.factor
        return self.finish_the_response_as_usual(response)"""
METHODS = 58_000  # 11 MB, too


class File(NamedTuple):
    """A text, and what is to be replaced in it."""

    text: str
    edits: list[tuple[str, str]]


def _statements(part: int, edits: int = EDITS, *, copies: int = 1, lines: int = 1, between: int = 0) -> File:
    """Return a file of many different lines.

    Of each that is edited there may be copies, or more than one line; others may stand between all of them.
    """
    chance = random.Random(4)  # noqa: S311 (the same file each time)
    all_lines = [
        f"    value_{number} = call_{chance.randrange(10**9)}(value, {number})"
        for number in range(LINES // part)
    ]
    chosen = chance.sample(range(0, len(all_lines) - 1, 2), edits // part)
    for at in chosen:
        for copy in range(1, copies):
            all_lines[(at + copy * 101 * 2 + 1) % len(all_lines)] = all_lines[at]
    olds = ["\n".join(all_lines[at : at + lines]) for at in chosen]
    others = [f"    other_{number} = call_{number:09}(other, {number})" for number in range(len(all_lines))]
    mixed = (
        all_lines if not between else [line for pair in zip(all_lines, others, strict=True) for line in pair]
    )
    return File("\n".join([*mixed, ""]), [(old, f"{old}  # edited") for old in olds])


def _methods(part: int) -> File:
    """Return a file of methods that differ only in the middle, and are edited as a whole."""
    methods = [METHOD.format(number) for number in range(METHODS // part)]
    chosen = random.Random(1).sample(methods, EDITS // part)  # noqa: S311
    edits = [(method, method.replace("self.factor", "factor")) for method in chosen]
    return File("".join(f"{method}\n\n" for method in methods), edits)


def _all(old: str, new: str) -> str:
    return search(NAME, old, new).replace("--->", ' count="all"--->', 1)


def _range(old: str, new: str) -> str:
    return search(NAME, old.replace("\n", "\n<---TO--->\n"), new)


def _block(old: str, new: str) -> str:
    return f"{NAME}\n```python\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n\n"


class Shape(NamedTuple):
    """How a file is made, how an edit of it is written, the line ending, and the most that it may cost."""

    make: Callable[[int], File]
    write: Callable[[str, str], str]
    goal: float
    ending: str = "\n"


ONE_BY_ONE = Shape(_statements, partial(search, NAME), 6.0)
SHAPES = {
    "one by one": ONE_BY_ONE,
    "ranges": Shape(partial(_statements, lines=2), _range, 8.0),
    "all of three": Shape(partial(_statements, copies=3), _all, 8.0),
    "CRLF": Shape(_statements, partial(search, NAME), 8.0, "\r\n"),
    "with context": Shape(_methods, partial(search, NAME), 6.0),
    "as search/replace blocks": Shape(_methods, _block, 8.0),
}


def rows(*, quick: bool) -> Iterator[Row]:
    """Yield what was measured."""
    part, rounds = (100, 1) if quick else (1, 5)
    what = "1,000 edits of one 11 MB file, {} / reading, splicing and writing it once"
    for name, shape in SHAPES.items():
        yield Row(what.format(name), _compared(part, rounds, shape), shape.goal)
    yield Row("4,000 such edits / 1,000", _growth(part), 4.5)
    added = "1,000 edits: what 11 MB more between them add / what they add by hand"
    yield Row(added, _between(part, rounds), 6.0)


class _Work:
    """A file in a folder of its own, and the edits of it there and back again: clada's, and by hand."""

    def __init__(self, folder: str, file: File, shape: Shape) -> None:
        self._folder, self._path = folder, f"{folder}/{NAME}"
        os.mkdir(folder)
        old = file.text.replace("\n", shape.ending).encode()
        Path(self._path).write_bytes(old)
        back = [(new, old) for old, new in file.edits]
        self._documents = ["".join(shape.write(*edit) for edit in edits) for edits in (file.edits, back)]
        self._places = [_places(old, file.edits, shape.ending)]
        execute(self._documents[0], folder)
        new = Path(self._path).read_bytes()
        self._places.append(_places(new, back, shape.ending))
        self.by_hand(slice(1, 2))
        self.by_hand(slice(1))
        if Path(self._path).read_bytes() != new:
            raise AssertionError("the edits by hand are others")
        self.by_hand(slice(1, 2))

    def edit(self) -> None:
        """Have clada make the edits, and take them back."""
        for document in self._documents:
            execute(document, self._folder)

    def by_hand(self, which: slice = slice(2)) -> None:
        """Do the same knowing where, or only a part of it."""
        for places in self._places[which]:
            _splice(self._path, places)


def _places(data: bytes, edits: list[tuple[str, str]], ending: str) -> list[tuple[int, int, bytes]]:
    """Return where each text is in the data, and what replaces it, in order; all have as many lines."""
    old_and_new = ([f"{text}\n".replace("\n", ending).encode() for text in edit] for edit in edits)
    wanted: dict[bytes, bytes] = dict(old_and_new)
    lines = data.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    length = edits[0][0].count("\n") + 1
    found = []
    for at in range(len(lines) - length + 1):
        old = b"".join(lines[at : at + length])
        if old in wanted:
            found.append((starts[at], starts[at + length], wanted[old]))
    return found


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


def _compared(part: int, rounds: int, shape: Shape) -> float:
    with tempfile.TemporaryDirectory() as folder:
        work = _Work(f"{folder}/work", shape.make(part), shape)
        return ratio(rounds, work.edit, work.by_hand, PROCESSOR)


def _growth(part: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        few, many = (
            _Work(f"{folder}/{edits}", _statements(part, edits), ONE_BY_ONE) for edits in (EDITS, 4 * EDITS)
        )
        return ratio(3, many.edit, few.edit, PROCESSOR)


def _between(part: int, rounds: int) -> float:
    """Compare what as much again between the same edits adds to their time with what it adds by hand.

    Where each edit went through the file, this would be a thousand times as much.
    """
    with tempfile.TemporaryDirectory() as folder:
        one, two = (
            _Work(f"{folder}/{between}", _statements(part, between=between), ONE_BY_ONE) for between in (0, 1)
        )
        edit_two, edit_one, hand_two, hand_one = least(
            rounds, two.edit, one.edit, two.by_hand, one.by_hand, clock=PROCESSOR
        )
        return (edit_two - edit_one) / (hand_two - hand_one)
