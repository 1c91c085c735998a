"""What starting costs: the installed command against a bare start of the same Python."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tools.benchmarks.editing import search
from tools.benchmarks.measuring import Row, least

ROOT = Path(__file__).parent.parent.parent
WRITE = 'Sure:\n<---WRITE file="src/app-{}.js"--->\nconsole.log("hello");\n<---END--->\n'
LS = b"Let me look:\n<---RUN--->\nls\n<---END--->\n"


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    python, clada = installed(quick=quick)
    writes = (WRITE.format(number).encode() for number in itertools.count())  # each makes a file
    edits = (
        search("app.js", f"{number}", f"{number + 1}").encode() for number in itertools.count(10**6)
    )  # each of what the one before it left
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "app.js").write_text(f"console.log(\n  {10**6}\n);\n")

        def bare() -> None:
            start([python, "-c", "pass"], folder, LS)

        def bare_and_ls() -> None:
            bare()
            start(["ls"], folder)

        python_time, ls_time, version, write, edit, ls = least(
            2 if quick else 40,
            bare,
            bare_and_ls,
            lambda: start([clada, "--version"], folder, LS),
            lambda: start([clada, "--no-git"], folder, next(writes)),
            lambda: start([clada, "--no-git"], folder, next(edits)),
            lambda: start([clada, "--no-git"], folder, LS),
        )
    return [
        Row("clada --version / bare python", version / python_time, 1.06),
        Row("one write, no git / bare python", write / python_time, 2.5),
        Row("one edit, no git / bare python", edit / python_time, 2.0),
        Row("one `ls`, no git / bare python and ls", ls / ls_time, 2.2),
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


def start(command: list[str], folder: str | Path, document: bytes = b"", program: str | None = None) -> None:
    """Run a command on a document, as from a shell that keeps Python from nothing that makes it fast.

    A program that goes by the name it is called by is given beside it.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    subprocess.run(
        command,
        executable=program,
        cwd=folder,
        env=environment,
        input=document,
        stdout=subprocess.DEVNULL,
        check=True,
    )
