"""What recording a run in git costs, against bare Python and the four git commands that do the same."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from pathlib import Path

from tools.benchmarks.measuring import Row, installed, least, start
from tools.plain_git import IDENTITY

PER_FOLDER = 50


def rows(files: int = 5_000, rounds: int = 15) -> list[Row]:
    """Return what was measured: a run with something to commit before and after it."""
    python, clada = installed()
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _make_repository(root, files)

        def change() -> int:
            number = next(numbers)
            (root / "mine.txt").write_text(f"mine {number}\n")
            return number

        def recorded() -> None:
            document = f'<---WRITE file="0/new.txt"--->\nrun {change()}\n<---END--->\n'
            start([clada, "--record=commits"], root, document.encode())

        def by_hand() -> None:
            number = change()
            start([python, "-c", "pass"], root)
            _commit(root, "before")
            (root / "0/new.txt").write_text(f"run {number}\n")
            _commit(root, "after")

        ours, plain = least(rounds, recorded, by_hand)
    return [
        Row(f"one recorded write, {files:,} files / bare python and four git commands", ours / plain, 1.3)
    ]


def _make_repository(root: Path, files: int) -> None:
    for number in range(files):
        path = root / str(number // PER_FOLDER) / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n" * 10)
    _git(root, "init", "-q")
    for name, value in (("user.name", "Bench"), ("user.email", "bench@example.org"), ("gc.auto", "0")):
        _git(root, "config", name, value)
    _commit(root, "all")


def _commit(root: Path, message: str) -> None:
    _git(root, "add", "-A")
    _git(root, *IDENTITY, "commit", "-q", "-m", message)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", root, *arguments], check=True, stdout=subprocess.DEVNULL)
