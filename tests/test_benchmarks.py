"""The benchmarks measure what they say, at a small size; no test depends on a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.benchmarks import __main__ as bench
from tools.benchmarks import batch, files, git, loop, mcp, measuring, parse, rivals, start
from tools.benchmarks.measuring import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SMALL: dict[str, Callable[[], Iterable[Row]]] = {
    "start": lambda: start.rows(1),
    "git": lambda: git.rows(100, 1),
    "parse": lambda: parse.rows(100, 1),
    "files": lambda: files.rows(100, 1),
    "loop": lambda: loop.rows(100, 10, 1),
    "mcp": lambda: mcp.rows(3),
    "batch": lambda: batch.rows(8, 1),
    "rivals": lambda: rivals.rows(10, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("part", bench.PARTS)
def test_each_part_measures(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come, as far as programs are installed to compare with; all that a part runs must succeed."""
    for module in (start, git, loop, rivals):
        monkeypatch.setattr(module, "installed", _this_environment)
    rows = list[Row]()
    try:
        rows.extend(SMALL[part]())
    except FileNotFoundError as missing:
        if not rows:
            pytest.skip(f"not installed: {missing}")
    assert rows
    assert all(row.ratio > 0 for row in rows)


def _this_environment() -> tuple[str, str]:
    return sys.executable, str(Path(sys.prefix) / "bin" / "clada")


def test_rows_are_put_into_the_page() -> None:
    """In place of those with the same names; a missed goal is marked."""
    page = f"# Page\n\n{bench.HEAD}| one | 1.00 | 2 |\n| two | 1.00 |  |\n\nThe end.\n"
    new = bench.written(page, [Row("one", 2.5, 2.0), Row("three", 3.0)])
    assert new == page.replace("| one | 1.00 | 2 |", "| one | 2.50 **missed** | 2 |").replace(
        "| two | 1.00 |  |", "| two | 1.00 |  |\n| three | 3.00 |  |"
    )


def test_the_least_time_of_each_way_counts() -> None:
    """Ways take turns."""
    turns: list[str] = []
    times = measuring.least(3, lambda: turns.append("a"), lambda: turns.append("b"))
    assert turns == ["a", "b"] * 3
    assert len(times) == 2
