"""Fuzzing: each part that reads foreign text, for a while, with coverage to lead the way."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time

from tools.prove.place import ROOT
from tools.prove.rows import Row

PARTS = ("notations", "words", "policy", "edits")
LONG = ("-max_total_time=100",)
QUICK = ("-runs=1500", "-seed=8")  # always the same inputs: a quick look is part of the tests
REQUIRED = "nothing raises, and what must hold does"


def rows(*, quick: bool) -> list[Row]:
    """Return what fuzzing showed."""
    if importlib.util.find_spec("atheris") is None:
        return [Row(f"fuzzing {part}", REQUIRED, "atheris is not installed here", None) for part in PARTS]
    return [_row(part, QUICK if quick else LONG) for part in PARTS]


def _row(part: str, options: tuple[str, ...]) -> Row:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="clada-prove-fuzz-") as folder:
        done = subprocess.run(
            [sys.executable, "tools/fuzz", part, *options], cwd=ROOT, capture_output=True, check=False,
            env={**os.environ, "TMPDIR": folder},
        )  # fmt: skip
    seconds = time.perf_counter() - start
    said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
    runs = re.findall(r"^#(\d+)", said, re.MULTILINE)
    if done.returncode:
        return Row(f"fuzzing {part}", REQUIRED, _found(said), False)
    inputs = int(runs[-1]) if runs else 0
    return Row(f"fuzzing {part}", REQUIRED, f"{inputs:,} inputs in {seconds:.0f} s", bool(inputs))


def _found(said: str) -> str:
    """Return the exception, and the input that led to it."""
    lines = said.splitlines()
    raised = next((number for number, line in enumerate(lines) if "Uncaught Python exception" in line), 0)
    inputs = [line for line in lines if line.startswith("Base64:")]
    return " ".join([*lines[raised : raised + 2], *inputs])[:400]
