"""Measures everything that has a figure, in one run, as ratios: `make bench`.

    python -m tools.benchmarks [--quick] [--write] [PART …]

Each row compares the least time of clada with the least time of something plainer that does the same job,
taken in turn, so that what else the machine is doing meets both. The table goes to standard output; with
`--write` it also goes into docs/contributing/benchmarks.md, and the chart into benchmarks.svg beside it. A
quick look is at small sizes: it shows that the measurements work, and says nothing about speed.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from tools.benchmarks.measuring import COMPARED, Row

# Processes come first, and each part is loaded when its turn comes: to start a process takes longer from one
# that has grown, and the command line's is small.
PARTS = "processes run batch mcp start git files parse dialects text rivals review".split()
DOCS = Path(__file__).parent.parent.parent / "docs" / "contributing"
MARKS = ("<!-- figures -->", "<!-- end of figures -->")


def main() -> None:
    """Measure, print, and write where asked to."""
    chosen = [argument for argument in sys.argv[1:] if not argument.startswith("-")] or PARTS
    quick = "--quick" in sys.argv
    rows: list[Row] = []
    for part in chosen:
        for row in import_module(f"tools.benchmarks.{part}").rows(quick=quick):
            print(line(row, judged=not quick), flush=True)
            rows.append(row)
    if "--write" in sys.argv and not quick:
        write(rows)


def line(row: Row, *, judged: bool) -> str:
    """Return a row for people."""
    if not judged:
        return f"{row.measured:8.2f}  (at a small size)     {row.name}"
    if row.goal == COMPARED:
        return f"{row.measured:8.2f}  (compared)            {row.name}"
    verdict = "ok" if row.measured <= row.goal else "OVER"
    return f"{row.measured:8.2f}  (at most {row.goal:4g})  {verdict:4}  {row.name}"


def write(rows: list[Row]) -> None:
    """Put the table between its marks in the page, and the chart beside it."""
    table = ["| what | measured | at most |", "|---|---|---|"]
    for row in rows:
        goal = "" if row.goal == COMPARED else f"{row.goal:g}"
        table.append(f"| {row.name.replace('|', chr(92) + '|')} | {row.measured:.2f} | {goal} |")
    page = DOCS / "benchmarks.md"
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    middle = "\n".join(["", *table, ""])
    page.write_text(f"{before}{MARKS[0]}{middle}{MARKS[1]}{after}", encoding="utf-8")
    (DOCS / "benchmarks.svg").write_text(chart(rows), encoding="utf-8")


def chart(rows: list[Row]) -> str:
    """Draw each figure as a bar, as a share of what it may be."""
    bars = [row for row in rows if row.goal != COMPARED]
    height = 22 * len(bars) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="980" height="{height}" font-family="sans-serif"',
        ' font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<line x1="860" y1="10" x2="860" y2="{height - 25}" stroke="#888" stroke-dasharray="4"/>',
        f'<text x="860" y="{height - 10}" text-anchor="middle">the most it may be</text>',
    ]
    for number, row in enumerate(bars):
        top, share = 14 + 22 * number, min(row.measured / row.goal, 1.25)
        colour = "#4c9f70" if row.measured <= row.goal else "#c8553d"
        escaped = row.name.replace("&", "&amp;").replace("<", "&lt;")
        parts += [
            f'<text x="550" y="{top + 12}" text-anchor="end">{escaped}</text>',
            f'<rect x="560" y="{top}" width="{300 * share:.0f}" height="16" fill="{colour}"/>',
            f'<text x="{565 + 300 * share:.0f}" y="{top + 12}">{row.measured:.2f}</text>',
        ]
    return "".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
