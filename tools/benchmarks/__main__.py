"""Measures everything that has a figure, in one run, as ratios: `make bench`.

    python -m tools.benchmarks [--quick] [--write] [--page PAGE] [--draw] [PART …]

Each row compares the least time of clada with the least time of something plainer that does the same job,
taken in turn, so that what else the machine is doing meets both. The table goes to standard output; with
`--write` what was measured also goes into docs/contributing/benchmarks.md, and the charts beside it are drawn
again; rows of other parts stay as they are. A quick look is at small sizes: it shows that the measurements
work, and says nothing about speed, so it is written only into a page that is named.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks import page
from tools.benchmarks.measuring import COMPARED, Row, Times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Processes come first, and each part is loaded when its turn comes: to start a process takes longer from one
# that has grown, and the command line's is small.
PARTS = "processes run batch mcp start git files many_edits parse dialects text rivals review".split()


def main() -> None:
    """Measure, print, and write where asked to."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks", description="Parts: " + " ".join(PARTS)
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="all of them, if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--write", action="store_true", help="put the figures into the page, and draw it")
    parser.add_argument("--draw", action="store_true", help="measure nothing: draw what stands on the page")
    parser.add_argument("--page", type=Path, help="another page than that of the docs")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {' '.join(sorted(unknown))}; there are {' '.join(PARTS)}")
    if given.quick and given.write and not given.page:
        parser.error("a quick look is written only into a page that is named by --page")
    where = given.page or page.PAGE
    if given.draw:
        page.draw(where)
        return
    measured = list(measure(given.parts or PARTS, quick=given.quick))
    if given.write:
        page.write(where, measured)


def measure(parts: Sequence[str], *, quick: bool) -> Iterator[Row | Times]:
    """Measure part by part, and print each row as it comes."""
    for part in parts:
        begun = time.monotonic()
        for row in import_module(f"tools.benchmarks.{part}").rows(quick=quick):
            print(line(row, judged=not quick), flush=True)
            yield row
        print(f"{part} took {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def line(row: Row | Times, *, judged: bool) -> str:
    """Return a row for people."""
    if isinstance(row, Times):
        times = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in row.seconds.items())
        return f"{row.work}: {times}"
    if not judged:
        return f"{row.measured:8.2f}  (at a small size)     {row.name}"
    if row.goal == COMPARED:
        return f"{row.measured:8.2f}  (compared)            {row.name}"
    verdict = "ok" if row.measured <= row.goal else "OVER"
    return f"{row.measured:8.2f}  (at most {row.goal:4g})  {verdict:4}  {row.name}"


if __name__ == "__main__":
    main()
