"""The record: kills, power cuts, a user at work meanwhile, ten thousand runs, and what git collects.

The tests in tests/world/record, in their long form; each says in its docstring what it requires.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import NamedTuple

from tools.prove.kills import kills
from tools.prove.place import ROOT
from tools.prove.rows import Row

FOLDER = "tests/world/record"


class Case(NamedTuple):
    """Tests that show something, in their long form."""

    name: str
    required: str
    tests: str  # a file, and a word in their names


CASES = (
    Case(
        "snapshots: 300 kill -9 at random moments of runs, and as many of undos",
        "undo, or the same undo again, gives the tree as it was, to the byte; no litter",
        "test_record_kills.py killed",
    ),
    Case(
        "60 power cuts of a disk (a loop-mounted image) during durable runs, as many in a repository",
        "every file old or new, and the old one in the record",
        "test_record_power.py power_cut",
    ),
    Case(
        "10,000 runs in one workspace",
        "the record takes no more than the limit, and the last runs can be undone",
        "test_record_keeping.py many_runs",
    ),
    Case(
        "git gc --prune=now between a run and its undo",
        "undo gives the tree as it was",
        "test_record_undo.py git_collects",
    ),
    Case(
        "an undo stopped by an error or an interrupt at each of its system calls",
        "run again, it ends; redo gives what the run left",
        "test_record_undo.py stopped_at_any_call",
    ),
    Case(
        "a user who saves, stages, commits or switches at each step of a run and of an undo, in both modes",
        "nothing of theirs is lost, committed as clada's, or undone",
        "test_record_users.py every_step",
    ),
)


def rows(*, quick: bool) -> list[Row]:
    """Return what was shown; in a quick look only a few kills, for the tests themselves are run with all."""
    return [_kills(2)] if quick else [_kills(300), *map(_shown, CASES)]


def _kills(rounds: int) -> Row:
    complaints = kills(rounds)
    required = "the repository is sound, nobody's work is lost, and undo gives the tree as it was"
    observed = (
        complaints[0] if complaints else f"sound after {rounds} kills, nothing lost, each tree as before"
    )
    return Row(
        f"commits: {rounds} kill -9 at random moments of runs and undos", required, observed, not complaints
    )


def _shown(case: Case) -> Row:
    file, word = case.tests.split()
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{FOLDER}/{file}", "-k", word],
        cwd=ROOT,
        env={**os.environ, "CLADA_FULL": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode == 0 and " passed" in last:
        return Row(case.name, case.required, f"held, in {time.perf_counter() - start:.0f} s", ok=True)
    if done.returncode == 0:
        return Row(case.name, case.required, "this machine cannot do it", ok=None)
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Row(case.name, case.required, " ".join([*failures, last]), ok=False)
