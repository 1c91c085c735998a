"""What permission, checks and containment add to a command as a whole, and to a flood of output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import Row, least, ratio

import clada

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.model import Plan

PART = 64 << 20
PER_FOLDER = 50
CHUNK = 1 << 16
LINE = b"a line of output that is about as long as the lines of a compiler or a test run\n"


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured: milliseconds of an allowed command, and the ratio of a flood."""
    rounds, parts = (1, 1) if quick else (60, 16)  # 16 parts are 1 GB
    with tempfile.TemporaryDirectory() as workspace:
        Path(workspace, "small").write_bytes(LINE)
        Path(workspace, "large").write_bytes(LINE * (PART // len(LINE)))
        allowed, flood = _command(workspace, rounds), _flood(workspace, parts)
    return [allowed, _approved(100 if quick else 5_000, rounds), flood]


def _command(workspace: str, rounds: int) -> Row:
    plan = _plan("cat small")
    argv = [shutil.which("cat") or "cat", "small"]
    ours, plain = least(
        rounds,
        lambda: _execute(plan, workspace),
        lambda: subprocess.run(
            argv, cwd=workspace, check=True, stdin=subprocess.DEVNULL, capture_output=True
        ),
    )
    return Row("allowed command through clada.execute: ms over subprocess.run", (ours - plain) * 1000, 3.0)


def _approved(files: int, rounds: int) -> Row:
    """Return what the size of a repository adds to an approved command: the walks before and after it."""
    plan = _plan("env true")
    with tempfile.TemporaryDirectory() as large, tempfile.TemporaryDirectory() as small:
        _repository(large, files)
        _repository(small, 1)
        taken = ratio(
            rounds,
            lambda: _execute(plan, large, approve=["env true"]),
            lambda: _execute(plan, small, approve=["env true"]),
        )
    return Row("approved command through clada.execute, 5,000 files / one file", taken, 4.0)


def _repository(workspace: str, files: int) -> None:
    for number in range(files):
        path = Path(workspace, str(number // PER_FOLDER), f"{number}.txt")
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n")
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    for words in ("init -q", "add -A", "commit -q -m all", "repack -a -d -q"):
        subprocess.run(["git", *identity, *words.split()], cwd=workspace, check=True)


def _flood(workspace: str, parts: int) -> Row:
    words = ["cat", *["large"] * parts]
    plan = _plan(" ".join(words))
    taken = ratio(3, lambda: _execute(plan, workspace), lambda: _read_to_the_end(words, workspace))
    return Row("1 GB of output with 10 MB kept / reading the pipe in a loop", taken, 1.5)


def _plan(command: str) -> Plan:
    return clada.parse(json.dumps({"tasks": [{"action": "run", "command": command}]}))


def _execute(plan: Plan, workspace: str, approve: Sequence[str] = ()) -> None:
    report = clada.execute(plan, workspace=workspace, git=False, approve=approve)
    if not report.ok:
        raise SystemExit(f"the run failed: {report.tasks[0].error}")


def _read_to_the_end(words: list[str], workspace: str) -> None:
    with subprocess.Popen(words, cwd=workspace, stdout=subprocess.PIPE) as process:
        if process.stdout:
            while os.read(process.stdout.fileno(), CHUNK):
                pass
