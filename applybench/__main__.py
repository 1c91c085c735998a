"""Run the bench: `python -m applybench --help`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from string import Template

from applybench.appliers import all_appliers
from applybench.appliers.base import Applier
from applybench.cases import cases_of
from applybench.fetch import fetch
from applybench.report import Row, chart, overview, read_rows, slips_with, tally
from applybench.run import run_cases
from applybench.tasks import find_tasks, sample

PAGE = Path(__file__).with_name("page.md")


def main() -> int:
    """Run the bench, print the table, and write the page."""
    options = _options()
    appliers, absent = _ready_appliers(options.build / "tools", options.only)
    if not options.results:
        _run(options, appliers)
    rows = read_rows(options.results or [options.build])
    print("\n".join(overview(tally(rows))))
    for name, reason in absent.items():
        print(f"not measured: {name}: {reason}")
    if options.page:
        _write_page(options.page, options.seed, appliers, rows)
    return 0


def _run(options: argparse.Namespace, appliers: list[Applier]) -> None:
    """Give the answers to the appliers, and write the results."""
    for applier in appliers:
        applier.share *= 1 if applier.in_process else options.every
    tasks = find_tasks(fetch(options.build / "releases"))
    chosen = sample(tasks, len(tasks) if options.full else options.tasks, options.seed)[options.skip :]
    slips = None if options.full else options.slips
    cases = (case for task in chosen for case in cases_of(task, options.seed, slips))
    names = ("results.jsonl", "times.txt", "faults.jsonl")
    with ExitStack() as stack:
        lines, times, faults = (
            stack.enter_context((options.build / name).open("w", buffering=1)) for name in names
        )
        for result in run_cases(cases, appliers):
            lines.write(json.dumps(result.to_dict()) + "\n")
            times.write(f"{result.seconds:.4f}\n")
            if result.score != "right":
                details = {"message": result.message, "answer": result.case.answer}
                faults.write(json.dumps({**result.to_dict(), **details}) + "\n")
    for applier in appliers:
        applier.close()


def _write_page(page: Path, seed: int, appliers: list[Applier], rows: list[Row]) -> None:
    tallies = tally(rows)
    answers = len({(row["task"], row["format"], row["slip"]) for row in rows})
    tasks = len({row["task"] for row in rows})
    parts = {
        "summary": f"{answers:,} answers for {tasks:,} tasks, seed {seed}; {len(rows):,} results.",
        "overview": "\n".join(overview(tallies)),
        "appliers": ", ".join(f"{applier.name} {applier.version()}" for applier in appliers),
        "wrong": "\n".join(slips_with("wrong", tallies)),
        "refused": "\n".join(slips_with("refused", tallies, "clada library")),
    }
    page.write_text(Template(PAGE.read_text(encoding="utf-8")).substitute(parts), encoding="utf-8")
    page.with_suffix(".svg").write_text(chart(tallies), encoding="utf-8")


def _ready_appliers(tools: Path, only: list[str]) -> tuple[list[Applier], dict[str, str]]:
    """Return the appliers that are installed or can be, and why the others are not."""
    ready, absent = [], {}
    for applier in all_appliers(tools):
        if only and applier.name not in only:
            continue
        try:
            applier.install()
            applier.version()
            ready.append(applier)
        except (OSError, subprocess.CalledProcessError) as error:
            absent[applier.name] = str(error)
    return ready, absent


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="applybench", description=__doc__)
    parser.add_argument("--tasks", type=int, default=500, help="how many tasks (default: 500)")
    parser.add_argument("--slips", type=int, default=1, help="slips for each task and format (default: 1)")
    parser.add_argument(
        "--every", type=int, default=1, help="one answer of so many for other programs (default: 1)"
    )
    parser.add_argument("--full", action="store_true", help="all tasks with all slips")
    parser.add_argument(
        "--skip", type=int, default=0, help="leave out the first of them, which another run has"
    )
    parser.add_argument("--seed", type=int, default=35, help="another seed gives other tasks and slips")
    parser.add_argument(
        "--only", action="append", default=[], metavar="APPLIER", help="run this one; repeatable"
    )
    parser.add_argument(
        "--build", type=Path, default=Path("build/applybench"), help="where everything is kept"
    )
    parser.add_argument("--results", type=Path, nargs="+", help="only report what is in these build folders")
    parser.add_argument("--page", type=Path, help="write the page and its chart")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
