"""Tests that show something, run in their long form: what they are, and whether they held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import NamedTuple

from tools.prove.place import ROOT
from tools.prove.rows import Row


class Case(NamedTuple):
    """Tests that show something, in their long form."""

    name: str
    required: str
    tests: str  # a file, and a word in their names


def shown(case: Case, *, full: bool = True) -> Row:
    """Run the tests of a case, in full or as a sample, and return what came of it."""
    file, word = case.tests.split()
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", word],
        cwd=ROOT,
        env={**os.environ, "CLADA_FULL": "1" if full else ""},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stdout.strip().rpartition("\n")[2]
    if done.returncode == 0 and " passed" in last:
        passed = last.partition(" passed")[0].strip("= ")
        observed = f"held ({passed} passed), in {time.perf_counter() - start:.0f} s"
        return Row(case.name, case.required, observed, ok=True)
    if done.returncode == 0:
        return Row(case.name, case.required, "this machine cannot do it", ok=None)
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Row(case.name, case.required, " ".join([*failures, last]), ok=False)
