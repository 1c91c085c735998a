"""What starting costs: the installed command against a bare start of the same Python."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tools.benchmarks.measuring import Row, least

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = 'Sure:\n<---WRITE file="src/app-{}.js"--->\nconsole.log("hello");\n<---END--->\n'


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    python, clada = installed(quick=quick)
    documents = (DOCUMENT.format(number).encode() for number in itertools.count())  # each makes a file
    with tempfile.TemporaryDirectory() as folder:
        bare, version, write = least(
            2 if quick else 40,
            lambda: start([python, "-c", "pass"], folder, next(documents)),
            lambda: start([clada, "--version"], folder, next(documents)),
            lambda: start([clada, "--no-git"], folder, next(documents)),
        )
    return [
        Row("clada --version / bare python", version / bare, 1.8),
        Row("one write, no git / bare python", write / bare, 2.5),
    ]


@cache
def installed(*, quick: bool) -> tuple[str, str]:
    """Return python and clada of a clean virtual environment, where clada is installed as users have it.

    For a quick look, those that run this.
    """
    home = Path(sys.prefix) if quick else ROOT / "build" / "bench-venv"
    python = home / "bin" / "python"
    if not quick:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
            _pip(python, "-r", str(ROOT / "requirements" / "bench.txt"))
        _pip(python, "--no-deps", "--force-reinstall", str(ROOT))
    return str(python), str(home / "bin" / "clada")


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def start(command: list[str], folder: str | Path, document: bytes = b"") -> None:
    """Run a command on a document, as from a shell that keeps Python from nothing that makes it fast."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run(
        command, cwd=folder, env=environment, input=document, stdout=subprocess.DEVNULL, check=True
    )
