"""The benchmark can be run, and measures what its page shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.benchmarks.__main__ import MARKS, chart
from tools.benchmarks.measuring import Row, least, ratio

ROOT = Path(__file__).parent.parent
# What has a goal of its own, however the rest of the table grows.
GOALS = {
    "clada --version / bare python": 1.8,
    "one write, no git / bare python": 2.5,
    "one write with both commits, 5,000 files / bare python and the four git commands": 1.6,
    "ten writes with snapshots, 50,000 files / 5,000 files": 1.15,
    "3,000 files edited once / a loop of read, count, replace, write, rename": 1.4,
    "1,000 edits of one 11 MB file, one by one / reading, splicing and writing it once": 6.0,
    "1,000 edits of one 11 MB file, CRLF / reading, splicing and writing it once": 8.0,
    "4,000 such edits / 1,000": 4.5,
    "23 MB of CSL in 20,000 operations / a loop of str.find": 5.0,
    "23 MB of CML in 20,000 operations / the same loop": 12.0,
    "25 MB of JSON in 2,500 operations / json.loads": 2.5,
    "24 MB of TOML in 20,000 operations / tomllib.loads": 1.8,
    "100,000 operations, end to end / 10,000": 11.0,
    "23 MB of search/replace in 20,000 blocks / a loop of str.find": 8.0,
    "a patch of 5,000 files, end to end / the same in CSL": 1.3,
    "a log of 50 MB, JSON a line / json.loads line by line": 3.0,
    "1,000 hunks in one 10 MB file / splicing at known places": 80.0,
    "explaining what is nowhere in 10 MB / one scan": 20.0,
    "peak memory, 50 MB document / its size": 4.0,
    "peak memory, 50 MB with emoji / its size": 6.0,
    "library call, one small edit, 10,000 in a row / the straight loop": 3.0,
    "2,000 small edits in place: a batch of one worker / library calls": 1.5,
    "300 copies of 200 files: two workers / one": 0.588,
    "memory after 20,000 jobs / after 2,000": 1.1,
}


def test_every_row_is_measured_and_stands_on_the_page() -> None:
    """At small sizes, which say nothing about speed; a row that needs what is missing here is left out."""
    done = subprocess.run(
        [sys.executable, "-m", "tools.benchmarks", "--quick"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    measured = {line[32:]: float(line[:8]) for line in done.stdout.splitlines()}
    assert GOALS.keys() <= measured.keys()
    assert measured.keys() <= _on_the_page().keys()


def test_the_page_names_the_goals() -> None:
    """Each beside what was measured."""
    page = _on_the_page()
    for name, goal in GOALS.items():
        assert float(page[name][1]) == goal


def _on_the_page() -> dict[str, list[str]]:
    """Return the cells of each row, by the first of them."""
    text = (ROOT / "docs" / "contributing" / "benchmarks.md").read_text(encoding="utf-8")
    rows = text.split(MARKS[0])[1].split(MARKS[1])[0].strip().splitlines()[2:]
    cells = [row.replace("\\|", "¦").strip("| ").split("|") for row in rows]
    return {first.strip().replace("¦", "|"): [cell.strip() for cell in rest] for first, *rest in cells}


def test_the_least_time_of_each_way_counts() -> None:
    """Ways take turns; here time itself is counted out."""
    ticks = iter([0, 5, 5, 6, 6, 9, 9, 11])
    assert least(2, lambda: None, lambda: None, clock=lambda: next(ticks)) == [3, 1]
    ticks = iter([0, 5, 5, 6])
    assert ratio(1, lambda: None, lambda: None, lambda: next(ticks)) == 5


def test_the_chart_shows_a_bar_for_each_row_that_has_a_goal() -> None:
    """Red where it is over its goal."""
    drawn = chart([Row("one < two", 1, 2), Row("three", 3, 2), Row("a rival", 7)])
    assert drawn.count("<rect x=") == 2
    assert drawn.count("#c8553d") == 1
    assert "one &lt; two" in drawn
    assert "a rival" not in drawn
