"""What starting costs: the installed command against a bare start of the same Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 25
HERE = Path(__file__).parent.parent
DOCUMENT = b'Sure:\n<---WRITE file="src/app.js"--->\nconsole.log("hello");\n<---END--->\n'


def rows() -> list[tuple[str, float, float]]:
    """Return what was measured: its name, the ratio, and the most it may be."""
    python, clada = installed()
    bare, version, write = best_of_commands(
        [python, "-c", "pass"], [clada, "--version"], [clada, "--no-git"], document=DOCUMENT
    )
    return [
        ("clada --version / bare python", version / bare, 1.8),
        ("one write, no git / bare python", write / bare, 2.5),
    ]


def installed() -> tuple[str, str]:
    """Return python and clada of a clean virtual environment, where clada is installed as users have it."""
    home = HERE / "build" / "bench-venv"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        _pip(python, "-r", str(HERE / "requirements" / "bench.txt"))
    _pip(python, "--no-deps", "--force-reinstall", str(HERE))
    return str(python), str(home / "bin" / "clada")


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def best_of_commands(*commands: list[str], document: bytes, rounds: int = ROUNDS) -> list[float]:
    """Return the shortest time of each command, taken in turn, each write into a file that is not there."""
    times: list[list[float]] = [[] for _ in commands]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    for _ in range(rounds):
        for command, taken in zip(commands, times, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    input=document,
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
                taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]
