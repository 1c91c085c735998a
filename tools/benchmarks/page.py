"""The page of benchmarks: its two tables are read, brought up to date, and drawn beside it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tools.benchmarks import charts
from tools.benchmarks.measuring import COMPARED, NOT_YET, Row, Times

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PAGE = Path(__file__).parents[2] / "docs" / "contributing" / "benchmarks.md"
Named = TypeVar("Named", Row, Times)
FIGURES, TIMES, MISSED = "figures", "times", "missed"  # what is between marks of these names


class Tables(NamedTuple):
    """What stands on the page."""

    rows: list[Row]
    times: list[Times]


def read(page: Path) -> Tables:
    """Return the tables of a page."""
    text = page.read_text(encoding="utf-8")
    _, *figures = _cells(text, FIGURES)
    (_, *programs), *works = _cells(text, TIMES)
    return Tables(
        [Row(name, float(measured or NOT_YET), float(goal or COMPARED)) for name, measured, goal in figures],
        [
            Times(
                work, {name: float(cell) / 1000 for name, cell in zip(programs, cells, strict=True) if cell}
            )
            for work, *cells in works
        ],
    )


def write(page: Path, measured: Iterable[Row | Times]) -> None:
    """Put what was measured into the tables of a page, leave their other rows, and draw both."""
    tables, found = read(page), list(measured)
    rows = merged(tables.rows, [each for each in found if isinstance(each, Row)])
    times = merged(tables.times, [each for each in found if isinstance(each, Times)])
    text = page.read_text(encoding="utf-8")
    text = _with(text, FIGURES, _table(_figures(rows)))
    page.write_text(_with(text, TIMES, _table(_times(times))), encoding="utf-8")
    draw(page)


def draw(page: Path) -> None:
    """Say which goals are missed in the tables as they stand on the page, and make the charts of them."""
    tables = read(page)
    page.write_text(_with(page.read_text(encoding="utf-8"), MISSED, missed(tables.rows)), encoding="utf-8")
    for name, chart in drawn(tables).items():
        (page.parent / name).write_text(chart, encoding="utf-8")


def missed(rows: list[Row]) -> str:
    """Return which figures are over their goals, as a list."""
    over = [
        f"- {row.name}: {row.measured:.2f}, at most {row.goal:g}" for row in rows if row.measured > row.goal
    ]
    return "\n".join(["Missed:", "", *over] if over else ["None is missed."])


def drawn(tables: Tables) -> dict[str, str]:
    """Return the charts by the names of their files."""
    return {
        "benchmarks-compared.svg": charts.compared(tables.times),
        "benchmarks.svg": charts.ratios(tables.rows),
    }


def merged(old: Sequence[Named], new: Sequence[Named]) -> list[Named]:
    """Return the old rows with the new ones in their place.

    What is there for the first time follows the one that was measured before it.
    """
    rows = list(old)
    at = len(rows) - 1
    for row in new:
        names = [each[0] for each in rows]
        if row[0] in names:
            at = names.index(row[0])
            rows[at] = row
        else:
            at += 1
            rows.insert(at, row)
    return rows


def _figures(rows: list[Row]) -> list[list[str]]:
    cells = [
        [
            row.name,
            "" if math.isnan(row.measured) else f"{row.measured:.2f}",
            "" if row.goal == COMPARED else f"{row.goal:g}",
        ]
        for row in rows
    ]
    return [["what", "measured", "at most"], *cells]


def _times(times: list[Times]) -> list[list[str]]:
    programs = list(dict.fromkeys(name for each in times for name in each.seconds))
    cells = [[each.work, *(_milliseconds(each.seconds.get(name)) for name in programs)] for each in times]
    return [["milliseconds", *programs], *cells]


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.1f}"


def _cells(text: str, name: str) -> list[list[str]]:
    """Return the cells of a table, the head first."""
    head, _, *rows = between(text, name).splitlines()
    return [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        for row in (head, *rows)
    ]


def _table(cells: list[list[str]]) -> str:
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells]
    head, *rows = [f"| {line} |" for line in lines]
    return "\n".join([head, "|---" * len(cells[0]) + "|", *rows])


def between(text: str, name: str) -> str:
    """Return what stands between the marks of a name."""
    start, end = _marks(name)
    return text.partition(start)[2].partition(end)[0].strip()


def _with(text: str, name: str, new: str) -> str:
    start, end = _marks(name)
    before, _, rest = text.partition(start)
    return f"{before}{start}\n{new}\n{end}{rest.partition(end)[2]}"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- end of {name} -->"
