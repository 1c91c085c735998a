"""Benchmark of runs as a whole: what permission, checks and containment add to a command, and to a flood."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

import clada

if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.model import Plan

Row = tuple[str, float, float]  # name, measured, goal
ROUNDS = 60
FLOODS = 3
PARTS, PART = 16, 64 << 20  # 1 GB
CHUNK = 1 << 16
LINE = b"a line of output that is about as long as the lines of a compiler or a test run\n"


def rows(rounds: int = ROUNDS, parts: int = PARTS) -> list[Row]:
    """Return all rows: milliseconds of an allowed command, and the ratio of a flood."""
    with tempfile.TemporaryDirectory() as workspace:
        with open(os.path.join(workspace, "small"), "wb") as file:
            file.write(LINE)
        with open(os.path.join(workspace, "large"), "wb") as file:
            file.write(LINE * (PART // len(LINE)))
        return [_command(workspace, rounds), _flood(workspace, parts)]


def _command(workspace: str, rounds: int) -> Row:
    plan = _plan("cat small")
    argv = [shutil.which("cat") or "cat", "small"]
    ours, plain = _least(
        rounds,
        lambda: _execute(plan, workspace),
        lambda: subprocess.run(
            argv, cwd=workspace, check=True, stdin=subprocess.DEVNULL, capture_output=True
        ),
    )
    name = "run: ms that an allowed command takes through clada.execute over subprocess.run of it"
    return name, (ours - plain) * 1000, 3.0


def _flood(workspace: str, parts: int) -> Row:
    words = ["cat", *["large"] * parts]
    plan = _plan(" ".join(words))
    ours, plain = _least(
        FLOODS, lambda: _execute(plan, workspace), lambda: _read_to_the_end(words, workspace)
    )
    return "run: 1 GB of output with 10 MB kept, against reading the pipe in a loop", ours / plain, 1.5


def _plan(command: str) -> Plan:
    return clada.parse(json.dumps({"tasks": [{"action": "run", "command": command}]}))


def _execute(plan: Plan, workspace: str) -> None:
    report = clada.execute(plan, workspace=workspace, git=False)
    if not report.ok:
        raise SystemExit(f"the run failed: {report.tasks[0].error}")


def _read_to_the_end(words: list[str], workspace: str) -> None:
    with subprocess.Popen(words, cwd=workspace, stdout=subprocess.PIPE) as process:
        if process.stdout:
            while os.read(process.stdout.fileno(), CHUNK):
                pass


def _least(rounds: int, *ways: Callable[[], object]) -> list[float]:
    """Return the least seconds of each way, taken in turns, so that other load hits all of them."""
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, times in zip(ways, taken, strict=True):
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
    return [min(times) for times in taken]


if __name__ == "__main__":
    for name, measured, goal in rows():
        print(f"{measured:8.2f}  (at most {goal})  {name}")
