"""Fuzzing: each part that reads foreign text, for a while, with coverage to lead the way."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

from tools.prove.place import ROOT
from tools.prove.rows import Row

PARTS = ("notations", "words", "policy", "edits")
SECONDS, QUICK_SECONDS = 100, 3
REQUIRED = "nothing raises, and what must hold does"


def rows(*, quick: bool) -> list[Row]:
    """Return what fuzzing showed."""
    if importlib.util.find_spec("atheris") is None:
        return [Row(f"fuzzing {part}", REQUIRED, "atheris is not installed here", None) for part in PARTS]
    return [_row(part, QUICK_SECONDS if quick else SECONDS) for part in PARTS]


def _row(part: str, seconds: int) -> Row:
    done = subprocess.run(
        [sys.executable, "tools/fuzz", part, str(seconds)], cwd=ROOT, capture_output=True, check=False
    )
    said = done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")
    runs = re.findall(r"^#(\d+)", said, re.MULTILINE)
    if done.returncode:
        return Row(f"fuzzing {part}", REQUIRED, _found(said), False)
    return Row(
        f"fuzzing {part}", REQUIRED, f"{int(runs[-1]) if runs else 0:,} inputs in {seconds} s", bool(runs)
    )


def _found(said: str) -> str:
    """Return the exception, and the input that led to it."""
    lines = said.splitlines()
    raised = next((number for number, line in enumerate(lines) if "Uncaught Python exception" in line), 0)
    inputs = [line for line in lines if line.startswith("Base64:")]
    return " ".join([*lines[raised : raised + 2], *inputs])[:400]
