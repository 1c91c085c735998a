"""Benchmark of running commands: what supervision and each sandbox cost, and how fast a flood is read."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from clada.world.confinement import layers as confinement
from clada.world.confinement.layers import Confinement
from clada.world.processes.running import Ended, run

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[str, float, float]  # name, measured, goal
_ROUNDS = 60
_FLOOD = 1 << 30
_KEPT = 10 << 20
_LINE = b"a line of output that is about as long as the lines of a compiler or a test run\n"


def rows(rounds: int = _ROUNDS, flood: int = _FLOOD) -> list[Row]:
    """Return all rows: extra milliseconds of a command over subprocess.run, ratios for the flood."""
    return [*_costs(rounds), *_flood(flood)]


def _costs(rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as workspace:
        subprocess.run(["git", "init", "-q", workspace], check=True)
        bare = {
            "bare": lambda: subprocess.run(
                ["true"], check=True, stdin=subprocess.DEVNULL, capture_output=True
            )
        }
        fastest = _fastest({**bare, **_ways(workspace)}, rounds)
    goals = {"allowed reader": 3.0, "approved": 5.0, "landlock": 5.0, "bubblewrap": 12.0}
    return [
        (f"command, {way}: ms over subprocess.run", fastest[way] - fastest["bare"], goal)
        for way, goal in goals.items()
        if way in fastest
    ]


def _ways(workspace: str) -> dict[str, Callable[[], object]]:
    ways: dict[str, Callable[[], object]] = {"approved": lambda: _run(["true"], workspace)}
    reader = Confinement("landlock", workspace, read_only=True) if confinement.has_landlock() else None
    ways["allowed reader"] = lambda: _run(["true"], workspace, supervised=False, confined=reader)
    if confinement.has_landlock():
        ways["landlock"] = lambda: _run(["true"], workspace, confined=Confinement("landlock", workspace))
    if confinement.has_bubblewrap():
        ways["bubblewrap"] = lambda: _run(["true"], workspace, confined=Confinement("bubblewrap", workspace))
    return ways


def _fastest(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the milliseconds of each way in its fastest tenth, taken in turns: the rest is other load."""
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, work in ways.items():
            before = time.perf_counter()
            work()
            times[way].append((time.perf_counter() - before) * 1000)
    return {way: statistics.quantiles(taken, n=10)[0] for way, taken in times.items()}


def _flood(size: int) -> list[Row]:
    with tempfile.NamedTemporaryFile() as file:
        part = min(size, 64 << 20)
        file.write(_LINE * (part // len(_LINE)))
        file.flush()
        program = ["cat", *[file.name] * (size // part)]
        pipe = f"{' '.join(program)} | cat > /dev/null"
        plain, ours = [], []
        _run(program[:2], "/")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            plain.append(_seconds(lambda: subprocess.run(["sh", "-c", pipe], check=True)))
            ours.append(_seconds(lambda: _run(program, "/")))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        ("flood, 10 MB kept: time over `cat | cat`", min(ours) / min(plain), 1.5),
        ("flood, 10 MB kept: MB of memory more", grown, 4.0),
    ]


def _seconds(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def _run(
    argv: list[str], folder: str, *, supervised: bool = True, confined: Confinement | None = None
) -> Ended:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return run(
            argv,
            directory=handle,
            environment=os.environ,
            timeout=30.0,
            max_output=_KEPT,
            emit=lambda _line: None,
            supervised=supervised,
            confinement=confined,
        )
    finally:
        os.close(handle)


if __name__ == "__main__":
    for name, measured, goal in rows():
        print(f"{measured:8.2f}  (goal {goal:5.2f})  {name}")
