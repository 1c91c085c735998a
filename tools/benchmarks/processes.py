"""What supervision and each sandbox add to a command, in milliseconds, and how fast a flood is read."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from functools import partial
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import Row, least, ratio

from clada.world.processes.run import Launcher, run
from clada.world.sandbox import layers
from clada.world.sandbox.landlock import ReadOnly, has_landlock
from clada.world.sandbox.layers import Confinement, confined_launcher

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT = 10 << 20
LINE = b"a line of output that is about as long as the lines of a compiler or a test run\n"
GOALS = {"allowed reader": 2.0, "approved": 5.0, "landlock": 5.0, "namespace": 9.0, "bubblewrap": 9.0}


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured: extra milliseconds of a command, ratios for the flood."""
    return [*_costs(1 if quick else 100), *_flood(10 << 20 if quick else 1 << 30)]


def _costs(rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as workspace:
        subprocess.run(["git", "init", "-q", workspace], check=True)
        ways = _ways(workspace)
        bare, *times = least(rounds, _bare, *ways.values())
    return [
        Row(f"command, {way}: ms over subprocess.run", (taken - bare) * 1000, GOALS[way])
        for way, taken in zip(ways, times, strict=True)
    ]


def _bare() -> None:
    subprocess.run(["true"], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def _ways(workspace: str) -> dict[str, Callable[[], object]]:
    """Return the ways of running a command that this machine has."""
    reader = ReadOnly((workspace,)) if has_landlock() else None
    ways: dict[str, Callable[[], object]] = {
        "allowed reader": partial(_run, ["true"], workspace, supervised=False, confinement=reader),
        "approved": partial(_run, ["true"], workspace),
    }
    works = {
        "landlock": has_landlock,
        "namespace": layers.has_namespaces,
        "bubblewrap": layers.has_bubblewrap,
    }
    for layer, here in works.items():
        if here():
            ways[layer] = partial(_run, ["true"], workspace, confinement=Confinement(layer, workspace))
    return ways


def _flood(size: int) -> list[Row]:
    with tempfile.NamedTemporaryFile() as file:
        part = min(size, 64 << 20)
        file.write(LINE * (part // len(LINE)))
        file.flush()
        program = ["cat", *[file.name] * (size // part)]
        pipe = f"{' '.join(program)} | cat > /dev/null"
        _run(program[:2], "/")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        time = ratio(3, lambda: _run(program, "/"), lambda: subprocess.run(["sh", "-c", pipe], check=True))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [
        Row("flood, 10 MB kept: time over `cat | cat`", time, 1.5),
        Row("flood, 10 MB kept: MB of memory more", grown, 4.0),
    ]


def _run(
    argv: list[str],
    directory: str,
    *,
    supervised: bool = True,
    confinement: Confinement | ReadOnly | None = None,
) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        launcher = (
            confined_launcher(confinement, os.environ)
            if confinement
            else Launcher(os.environ, supervised=supervised)
        )
        run(argv, launcher, directory=handle, timeout=30.0, emit=_keeping(KEPT))
    finally:
        os.close(handle)


def _keeping(size: int) -> Callable[[list[str]], bool]:
    """Return what takes lines until there are so many bytes, as a run does."""
    kept = 0

    def emit(lines: list[str]) -> bool:
        nonlocal kept
        kept += len("".join(lines).encode())
        return kept >= size

    return emit
