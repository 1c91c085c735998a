"""Measures clada against plain programs that do the same job, in one run, as ratios: `make bench`.

    python -m tools.benchmarks [--write] [PART …]

Prints one table. With `--write`, the rows that were measured replace those with the same names in
docs/contributing/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import ROOT, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PARTS = "start git parse files loop mcp batch rivals".split()
PAGE = ROOT / "docs" / "contributing" / "benchmarks.md"
HEAD = "| what | ratio | at most |\n|---|---|---|\n"


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser("python -m tools.benchmarks")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {' '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help="put the rows into the page")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"unknown part: {' '.join(sorted(unknown))}; there are: {' '.join(PARTS)}")
    rows = list(measure(given.parts or PARTS))
    if given.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


def measure(parts: Iterable[str]) -> Iterator[Row]:
    """Measure part by part, and print each row as it comes."""
    print(HEAD, end="")
    for part in parts:
        try:
            for row in import_module(f"tools.benchmarks.{part}").rows():
                print(line(row), flush=True)
                yield row
        except FileNotFoundError as missing:
            print(f"{part}: left out, because {missing} is not installed", file=sys.stderr)


def line(row: Row) -> str:
    """Return a row of the table; one that is over its goal is marked."""
    goal = "" if row.goal is None else f"{row.goal:g}"
    over = " **missed**" if row.goal is not None and row.ratio > row.goal else ""
    return f"| {row.name} | {row.ratio:.2f}{over} | {goal} |"


def written(page: str, rows: Iterable[Row]) -> str:
    """Return the page with these rows in its table, in place of those with the same names."""
    before, _, rest = page.partition(HEAD)
    table, _, after = rest.partition("\n\n")
    lines = {old.split(" | ")[0]: old for old in table.splitlines()}
    lines |= {f"| {row.name}": line(row) for row in rows}
    return "".join([before, HEAD, "\n".join(lines.values()), "\n\n", after])


if __name__ == "__main__":
    main()
