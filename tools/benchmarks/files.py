"""What editing many files costs through the library, against a plain loop and a tenth of them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import Row, least, search

import clada

if TYPE_CHECKING:
    from collections.abc import Iterator

LINES = "".join(f"def function_{number}(one, two):\n    return one + two\n\n" for number in range(40))
BOTH_WAYS = (
    ("def function_20(one, two):", "def function_20(one):"),
    ("def function_20(one):", "def function_20(one, two):"),
)


def rows(files: int = 3_000, rounds: int = 6) -> Iterator[Row]:
    """Yield what was measured."""
    paths = [f"folder{number // 100}/file{number}.py" for number in range(files)]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            Path(folder, path).write_text(LINES)
        tenth = paths[: files // 10]
        ours, by_hand, few = least(
            rounds, lambda: _edit(folder, paths), lambda: _loop(folder, paths), lambda: _edit(folder, tenth)
        )
    yield Row(f"{files:,} files edited / a loop of read, count, replace, write, rename", ours / by_hand)
    yield Row(f"{files:,} files edited / a tenth of them", ours / few, 12.0)


def _edit(folder: str, paths: list[str]) -> None:
    """Edit each file, there and back again."""
    for old, new in BOTH_WAYS:
        document = "".join(search(path, old, new) for path in paths)
        report = clada.execute(document, workspace=folder, record="none")
        if not report.ok:
            raise AssertionError(report.text())


def _loop(folder: str, paths: list[str]) -> None:
    """Do the same as a plain script would: only the number of matches is checked."""
    for old, new in BOTH_WAYS:
        for path in paths:
            file = Path(folder, path)
            text = file.read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise AssertionError(path)
            file.with_suffix(".tmp").write_text(text.replace(old, new), encoding="utf-8")
            file.with_suffix(".tmp").rename(file)
