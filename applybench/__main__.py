"""Run the bench: `python -m applybench --help`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from string import Template

from applybench.appliers import all_appliers
from applybench.appliers.base import Applier
from applybench.cases import Case, cases_of
from applybench.fetch import fetch
from applybench.report import chart, overview, slip_tables, tally
from applybench.run import Result, run_cases
from applybench.tasks import find_tasks, sample

PAGE = Path(__file__).with_name("page.md")


def main() -> int:
    """Fetch, run, print the table, and write the results."""
    options = _options()
    appliers, absent = _ready_appliers(options.build / "tools", options.only)
    for applier in appliers:
        applier.share *= 1 if applier.in_process else options.every
    tasks = find_tasks(fetch(options.build / "releases"))
    chosen = sample(tasks, len(tasks) if options.full else options.tasks, options.seed)
    slips = None if options.full else options.slips
    cases = (case for task in chosen for case in cases_of(task, options.seed, slips))
    results = _run(cases, appliers, options.build, options.minutes)
    tallies = tally(results)
    print("\n".join(overview(tallies)))
    for name, reason in absent.items():
        print(f"not measured: {name}: {reason}")
    if options.page:
        versions = "\n".join(f"- {applier.name} {applier.version()}" for applier in appliers)
        done = len({result.case.task for result in results})
        answers = len({result.number for result in results})
        summary = f"{answers:,} answers for {done:,} tasks of {len(tasks):,}, seed {options.seed}:"
        _write_page(options.page, summary, versions, results)
    return 0


def _run(cases: Iterable[Case], appliers: list[Applier], build: Path, minutes: float) -> list[Result]:
    results = []
    end = time.monotonic() + 60 * minutes
    with (build / "results.jsonl").open("w") as lines, (build / "faults.jsonl").open("w") as faults:
        for result in run_cases(cases, appliers):
            results.append(result)
            lines.write(json.dumps(result.to_dict()) + "\n")
            if result.score != "right":
                details = {"message": result.message, "answer": result.case.answer}
                faults.write(json.dumps({**result.to_dict(), **details}) + "\n")
            if time.monotonic() > end:
                break
    for applier in appliers:
        applier.close()
    return results


def _write_page(page: Path, summary: str, versions: str, results: list[Result]) -> None:
    tallies = tally(results)
    parts = {
        "summary": summary,
        "overview": "\n".join(overview(tallies)),
        "appliers": versions,
        "slips": "\n".join(slip_tables(tallies)),
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
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--seed", type=int, default=35, help="another seed gives other tasks and slips")
    parser.add_argument(
        "--only", action="append", default=[], metavar="APPLIER", help="run this one; repeatable"
    )
    parser.add_argument(
        "--build", type=Path, default=Path("build/applybench"), help="where everything is kept"
    )
    parser.add_argument("--page", type=Path, help="write the page and its chart")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
