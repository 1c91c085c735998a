"""What all measurements share: rows, the least times of several ways in turn, and an installed clada."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "build" / "npm" / "node_modules"  # of requirements/npm.txt
ENOUGH = 60  # seconds after which no further round begins
QUIET = ("--no-git", "--output-mode=silent", "--summary=none")


class Row(NamedTuple):
    """A ratio, and the most that it may be; without a goal it is there to compare."""

    name: str
    ratio: float
    goal: float | None = None


def processor() -> float:
    """Return the processor time of this process and its children, which other load does not stretch."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def least(rounds: int, *ways: Callable[[], object], clock: Callable[[], float] = processor) -> list[float]:
    """Return the least seconds of each way; they take turns."""
    end = time.monotonic() + ENOUGH
    taken: list[list[float]] = []
    while not taken or (len(taken) < rounds and time.monotonic() < end):
        taken.append([seconds(way, clock) for way in ways])
    return [min(times) for times in zip(*taken, strict=True)]


def seconds(way: Callable[[], object], clock: Callable[[], float] = processor) -> float:
    """Return how long this takes."""
    start = clock()
    way()
    return clock() - start


@cache
def installed() -> tuple[str, str]:
    """Return python and clada of a clean virtual environment, where clada is installed as users have it."""
    home = ROOT / "build" / "bench-venv"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        _pip(python, "-r", str(ROOT / "requirements" / "bench.txt"))
    _pip(python, "--no-deps", "--force-reinstall", str(ROOT))
    return str(python), str(home / "bin" / "clada")


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def start(command: list[str], folder: str | Path, document: bytes = b"", program: str | None = None) -> None:
    """Run a command on a document; a program that goes by another name is given beside it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run(
        command, executable=program, cwd=folder, env=environment, input=document, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def search(path: str, old: str, new: str) -> str:
    """Return a SEARCH operation."""
    return f'<---SEARCH file="{path}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'
