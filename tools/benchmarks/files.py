"""What editing files costs, through the library and without git, against doing the same by hand.

Both are done in the usual temporary folder: on a disk, what it does by itself is far more than either, and
comes and goes.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from tools.benchmarks.editing import execute, search
from tools.benchmarks.measuring import Row, ratio
from tools.benchmarks.start import installed, start

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY = "/dev/shm"  # noqa: S108 (a folder of our own is made in it)
LINES = "".join(f"def function_{number}(one, two):\n    return one + two\n\n" for number in range(40))
OLD, NEW = "def function_20(one, two):", "def function_20(one, two, three=None):"
BOTH_WAYS = ((OLD, NEW), (NEW, OLD))
QUIET = ("--no-git", "--output-mode=silent", "--summary=none")


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    part = 100 if quick else 1  # of everything, in a quick look
    return [
        Row("3,000 files edited once / a loop of read, count, replace, write, rename", _files(part), 1.4),
        Row("3,000 files edited with --atomic / the same without", _atomic(part), 1.3),
        Row("library call, one small edit, 10,000 in a row / the straight loop", _calls(part), 3.0),
        Row("100,000 operations, end to end / 10,000", _growth(part), 11.0),
    ]


def straight(path: str, old: bytes, new: bytes) -> None:
    """Edit a file as a plain script would: nothing is checked but the number of matches."""
    with open(path, "rb") as file:
        data = file.read()
    if data.count(old) != 1:
        raise SystemExit(f"{path} has not one match")
    with open(f"{path}.tmp", "wb") as file:
        file.write(data.replace(old, new))
    os.rename(f"{path}.tmp", path)


@contextmanager
def _many_files(part: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """Make many files in folders of a hundred; yield where, their paths, and documents that edit them all."""
    paths = [f"folder{number // 100}/file{number}.py" for number in range(3_000 // part)]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            Path(folder, path).write_text(LINES)
        yield folder, paths, ["".join(search(path, *texts) for path in paths) for texts in BOTH_WAYS]


def _atomic(part: int) -> float:
    """Edit each of many files, there and back again, all or nothing and not; both are recorded."""
    with (
        _many_files(part) as (folder, _paths, documents),
        tempfile.TemporaryDirectory() as state,
        patch.dict(os.environ, XDG_STATE_HOME=state),  # not among the user's own runs
    ):

        def edit(*, atomic: bool) -> None:
            for document in documents:
                execute(document, folder, "snapshots", atomic=atomic)

        return ratio(4, lambda: edit(atomic=True), lambda: edit(atomic=False))


def _files(part: int) -> float:
    """Edit each of many files, there and back again."""
    with _many_files(part) as (folder, paths, documents):

        def edit() -> None:
            for document in documents:
                execute(document, folder)

        def loop() -> None:
            for old, new in BOTH_WAYS:
                for path in paths:
                    straight(f"{folder}/{path}", old.encode(), new.encode())

        return ratio(6, edit, loop)


def _calls(part: int) -> float:
    """Parse and execute a document of one small edit, again and again, in twenty rounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/file.py"
        Path(path).write_text(LINES)

        def call() -> None:
            for _ in range(250 // part):
                for old, new in BOTH_WAYS:
                    execute(search("file.py", old, new), folder)

        def loop() -> None:
            for _ in range(250 // part):
                for old, new in BOTH_WAYS:
                    straight(path, old.encode(), new.encode())

        return ratio(20, call, loop)


def _growth(part: int) -> float:
    """Write and edit fifty files in many operations, through the command line: ten times as many of them.

    The files are in memory where there is such a place: the disk's own ups and downs are larger than ours.
    """
    _, command = installed(quick=part > 1)
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
        small, large = _pairs(10_000 // part), _pairs(100_000 // part)
        return ratio(
            3,
            lambda: start([command, *QUIET], folder, large),
            lambda: start([command, *QUIET], folder, small),
        )


def _pairs(operations: int) -> bytes:
    """Return a document that writes and edits fifty files in turn."""
    pairs = (
        f'<---WRITE file="file{number % 50}.txt"--->\nfirst {number}\n<---END--->\n'
        + search(f"file{number % 50}.txt", f"first {number}", f"second {number}")
        for number in range(operations // 2)
    )
    return "".join(pairs).encode()
