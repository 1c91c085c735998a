"""The benchmark can be run, and measures what its page shows."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.benchmarks import charts, page
from tools.benchmarks.__main__ import PARTS
from tools.benchmarks.measuring import NOT_YET, Row, Times, least, ratio

ROOT = Path(__file__).parent.parent
# What has a goal of its own, by part, however the rest of the table grows.
GOALS: dict[str, dict[str, float]] = {
    "batch": {
        "400 small edits: a batch / a plain ProcessPoolExecutor": 1.667,
        "400 small edits: two workers / one": 0.588,
        "memory after 2,000 dry runs / after 200": 1.1,
    },
    "start": {
        "clada --version / bare python": 1.06,
        "one write, no git / bare python": 2.5,
        "one edit, no git / bare python": 2.0,
        "one `ls`, no git / bare python and ls": 2.2,
    },
    "git": {
        "one write with both commits, 5,000 files / bare python and the four git commands": 1.3,
        "one write with both commits, git confined / not confined": 1.15,
        "ten writes with snapshots, 50,000 files / 5,000 files": 1.15,
    },
    "files": {
        "3,000 files edited once / a loop of read, count, replace, write, rename": 1.4,
        "100,000 operations, end to end / 10,000": 11.0,
        "library call, one small edit, 10,000 in a row / the straight loop": 3.0,
    },
    "many_edits": {
        "1,000 edits of one 11 MB file, one by one / reading, splicing and writing it once": 6.0,
        "1,000 edits of one 11 MB file, ranges / reading, splicing and writing it once": 8.0,
        "1,000 edits of one 11 MB file, all of three / reading, splicing and writing it once": 8.0,
        "1,000 edits of one 11 MB file, CRLF / reading, splicing and writing it once": 8.0,
        "1,000 edits of one 11 MB file, with context / reading, splicing and writing it once": 6.0,
        "4,000 such edits / 1,000": 4.5,
        "1,000 edits: what 11 MB more between them add / what they add by hand": 6.0,
    },
    "parse": {
        "23 MB of CSL in 20,000 operations / a loop of str.find": 4.0,
        "23 MB of CML in 20,000 operations / the same loop": 12.0,
        "25 MB of JSON in 2,500 operations / json.loads": 2.5,
        "24 MB of TOML in 20,000 operations / tomllib.loads": 1.6,
        "peak memory, 50 MB document / its size": 4.0,
        "peak memory, 50 MB with emoji / its size": 6.0,
    },
    "dialects": {
        "23 MB of search/replace in 20,000 blocks / a loop of str.find": 8.0,
        "a patch of 5,000 files, end to end / the same in CSL": 1.3,
        "a log of 50 MB, JSON a line / json.loads line by line": 3.0,
    },
    "text": {
        "1,000 hunks in one 10 MB file / splicing at known places": 80.0,
        "explaining what is nowhere in 10 MB / one scan": 20.0,
    },
    "rivals": {
        "1,000 files edited: clada / patch": 1.3,
    },
}


@pytest.mark.parametrize("part", PARTS)
def test_rows_are_measured_and_stand_on_the_page_with_their_goals(part: str, tmp_path: Path) -> None:
    """At small sizes, which say nothing about speed; what needs a missing program is left as it was."""
    copy = tmp_path / "benchmarks.md"
    copy.write_text(page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    rows, times = page.read(copy)
    page.write(
        copy,
        [*(row._replace(measured=NOT_YET) for row in rows), *(each._replace(seconds={}) for each in times)],
    )
    done = _run("--quick", "--write", f"--page={copy}", part)
    assert done.returncode == 0, done.stderr
    written = page.read(copy)
    measured = {row.name for row in written.rows if not math.isnan(row.measured)}
    assert measured >= GOALS.get(part, {}).keys() - _without(shutil.which("patch"), "patch")
    assert [(row.name, row.goal) for row in written.rows] == [(row.name, row.goal) for row in rows]
    assert [each.work for each in written.times] == [each.work for each in times]
    assert all(each.seconds.keys() >= {"clada", "git apply"} for each in written.times if part == "rivals")
    _hold_as_drawn(copy)


def _without(program: str | None, name: str) -> set[str]:
    """Return the rows that need a program, where it is missing."""
    return (
        set() if program else {row for rows in GOALS.values() for row in rows if row.endswith(f" / {name}")}
    )


def test_the_charts_are_of_what_stands_in_the_tables() -> None:
    """And so is the list of what is missed."""
    _hold_as_drawn(page.PAGE)


def _hold_as_drawn(shown: Path) -> None:
    tables = page.read(shown)
    for name, chart in page.drawn(tables).items():
        assert (shown.parent / name).read_text(encoding="utf-8") == chart
    assert page.between(shown.read_text(encoding="utf-8"), page.MISSED) == page.missed(tables.rows)


def test_the_page_names_the_goals() -> None:
    """Each beside what was measured."""
    goals = {row.name: row.goal for row in page.read(page.PAGE).rows}
    wanted = {name: goal for part in GOALS.values() for name, goal in part.items()}
    assert {name: goals[name] for name in wanted} == wanted


def test_only_what_was_measured_is_written() -> None:
    """A new row follows the one that was measured before it."""
    old = [Row("one | two", 1, 2), Row("three", 3, 4), Row("five", 5)]
    new = [Row("one | two", 9, 2), Row("new", 7, 8)]
    assert page.merged(old, new) == [new[0], new[1], *old[1:]]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """And so is what has no figure yet, or no goal; what is over its goal is named."""
    file = tmp_path / "page.md"
    empty = "<!-- {0} -->\n| a | b | c |\n|---|---|---|\n<!-- end of {0} -->\n"
    file.write_text(
        f"# Page\n{empty.format('times')}{empty.format('missed')}{empty.format('figures')}The end.\n"
    )
    rows = [Row("one | two", 1.5, 1.25), Row("three", NOT_YET, 4.0), Row("five", 5.0)]
    times = [Times("work", {"clada": 0.0295, "patch": 2.0})]
    page.write(file, [*rows, *times])
    assert repr(page.read(file)) == repr(page.Tables(rows, times))
    text = file.read_text(encoding="utf-8")
    assert page.between(text, page.MISSED) == "Missed:\n\n- one | two: 1.50, at most 1.25"
    assert text.startswith("# Page\n<!-- times -->\n")
    assert text.endswith("The end.\n")


def test_a_quick_look_is_not_written_into_the_docs_and_parts_are_checked() -> None:
    """Both before anything is measured."""
    assert "only into a page that is named" in _run("--quick", "--write").stderr
    assert "no such part: nothing" in _run("nothing").stderr


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)


def test_the_least_time_of_each_way_counts() -> None:
    """Ways take turns; here time itself is counted out."""
    ticks = iter([0, 5, 5, 6, 6, 9, 9, 11])
    assert least(2, lambda: None, lambda: None, clock=lambda: next(ticks)) == [3, 1]
    ticks = iter([0, 5, 5, 6])
    assert ratio(1, lambda: None, lambda: None, lambda: next(ticks)) == 5


def test_the_chart_of_ratios_has_a_bar_for_each_row_that_has_a_figure_and_a_goal() -> None:
    """Another colour and a word where it is over its goal."""
    drawn = charts.ratios(
        [Row("one < two", 1, 2), Row("three", 3, 2), Row("a rival", 7), Row("new", NOT_YET, 2)]
    )
    assert drawn.count('<rect class="bar') == 2
    assert drawn.count('<rect class="bar over') == 1
    assert drawn.count(": missed") == 1
    assert "one &lt; two" in drawn
    assert "a rival" not in drawn
    assert ">new<" not in drawn


def test_the_chart_of_programs_has_a_bar_for_each_that_was_measured() -> None:
    """Clada's stands out; a work that was not measured says so."""
    drawn = charts.compared([Times("work", {"clada": 0.03, "patch": 1.5}), Times("other", {})])
    assert drawn.count('<rect class="bar') == 2
    assert drawn.count('<rect class="bar ours') == 1
    assert "30 ms" in drawn
    assert "1.50 s" in drawn
    assert drawn.count("not measured yet") == 1
