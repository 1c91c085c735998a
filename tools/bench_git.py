"""What recording a run in git costs, against plain git doing the same work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clada.world.git.repository import find

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 15
PER_FOLDER = 50
DOCUMENT = '<---WRITE file="{path}"--->\nrun {number}\n<---END--->\n'


def rows() -> list[tuple[str, float, float]]:
    """Return (name, ratio, goal) of each measurement."""
    folder = Path(tempfile.mkdtemp(prefix="clada-bench-"))
    try:
        wrapped = _wrapped(_repository(folder / "small", 5_000))
        after = _after(_repository(folder / "large", 50_000))
    finally:
        shutil.rmtree(folder)
    return [
        ("git: a recorded run, 5,000 files, against add and commit twice and a bare start", wrapped, 1.6),
        ("git: the commit after file operations, 50,000 files, against git commit of the paths", after, 1.3),
    ]


def _wrapped(root: Path) -> float:
    """Compare a whole run, with something to commit before and after it, with the plain commands."""
    ours, plain = [], []
    _run(root, ROUNDS)  # the first start compiles
    for number in range(ROUNDS):
        _change(root, number, "mine")
        ours.append(_timed(lambda number=number: _run(root, number)))
        _change(root, number, "mine too")
        plain.append(_timed(lambda number=number: _by_hand(root, number)))
    return min(ours) / min(plain)


def _run(root: Path, number: int) -> None:
    document = DOCUMENT.format(path=f"0/new-{number}.txt", number=number)
    command = [sys.executable, "-m", "clada", "--workspace", str(root)]
    subprocess.run(
        command, input=document.encode(), stdout=subprocess.DEVNULL, env=_environment(), check=True
    )


def _by_hand(root: Path, number: int) -> None:
    subprocess.run([sys.executable, "-c", "pass"], env=_environment(), check=True)
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "before")
    (root / f"1/new-{number}.txt").write_text(f"run {number}\n")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "after")


def _after(root: Path) -> float:
    """Compare the commit after a run of file operations with a plain commit of the same paths."""
    paths = ["0/0.txt", "7/350.txt", "9/450.txt"]
    ours, plain = [], []
    for number in range(ROUNDS):
        with find(str(root)).recorded(describe="3 writes") as record:
            _write(root, paths, f"ours {number}\n")
            record.touched = set(paths)
            start = time.perf_counter()
        ours.append(time.perf_counter() - start)
        _write(root, paths, f"plain {number}\n")
        plain.append(_timed(_git, root, "commit", "-q", "-m", "after", "--", *paths))
    return min(ours) / min(plain)


def _repository(root: Path, files: int) -> Path:
    for number in range(files):
        path = root / str(number // PER_FOLDER) / f"{number}.txt"
        if number % PER_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_text(f"file {number}\n" * 10)
    _git(root, "init", "-q")
    _git(root, "config", "user.name", "Bench")
    _git(root, "config", "user.email", "bench@example.org")
    _git(root, "config", "gc.auto", "0")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "all")
    return root


def _change(root: Path, number: int, what: str) -> None:
    (root / f"2/{100 + number}.txt").write_text(f"{what} {number}\n")


def _write(root: Path, paths: list[str], text: str) -> None:
    for path in paths:
        (root / path).write_text(text)


def _environment() -> dict[str, str]:
    """Return the environment without what would keep Python from using compiled files."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", root, *arguments], check=True, stdout=subprocess.DEVNULL)


def _timed(work: Callable[..., None], *arguments: object) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, ratio, goal in rows():
        print(f"{ratio:5.2f}  (at most {goal})  {name}")
