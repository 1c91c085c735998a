"""The same change made by programs that people would use instead: git apply, and patch."""

from __future__ import annotations

import difflib
import shutil
import tempfile
import time
from pathlib import Path

from tools.benchmarks.files import QUIET
from tools.benchmarks.measuring import Row
from tools.benchmarks.start import installed, start

OLD, NEW = "    value = compute(1)\n", "    value = compute(2)\n"
RIVALS = {"git apply": ["git", "apply", "-"], "patch": ["patch", "-p1", "-s"]}


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured: for one file, where starting counts, and for many."""
    rounds, many = (1, 10) if quick else (9, 1_000)
    _, clada = installed(quick=quick)
    return [row for files in (1, many) for row in _compared(clada, files, rounds)]


def _compared(clada: str, files: int, rounds: int) -> list[Row]:
    rivals = {name: command for name, command in RIVALS.items() if shutil.which(command[0])}
    commands = {"clada": [clada, *QUIET], **rivals}
    given = {name: _document(files) if name == "clada" else _diff(files) for name in commands}
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, command in commands.items():
            least[name] = min(least[name], _seconds(command, given[name], files))
    what = "one file edited" if files == 1 else "1,000 files edited"
    return [Row(f"{what}: clada / {rival}", least["clada"] / least[rival]) for rival in rivals]


def _content(number: int) -> str:
    """Return a file with one line to change."""
    lines = [f"    step_{line}({number})\n" for line in range(60)]
    return "".join([*lines[:30], OLD, *lines[30:]])


def _path(number: int) -> str:
    return f"package{number % 20}/module{number}.py"


def _document(files: int) -> bytes:
    """Return the change as CSL."""
    return "".join(
        f'<---SEARCH file="{_path(number)}"--->\n{OLD}<---REPLACE--->\n{NEW}<---END--->\n'
        for number in range(files)
    ).encode()


def _diff(files: int) -> bytes:
    """Return the same change as a unified diff."""
    parts = []
    for number in range(files):
        old = _content(number)
        lines = difflib.unified_diff(
            old.splitlines(keepends=True),
            old.replace(OLD, NEW).splitlines(keepends=True),
            f"a/{_path(number)}",
            f"b/{_path(number)}",
        )
        parts.append("".join(lines))
    return "".join(parts).encode()


def _seconds(command: list[str], given: bytes, files: int) -> float:
    """Return how long a command takes to make the change, in new files each time."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(files):
            file = Path(folder) / _path(number)
            file.parent.mkdir(exist_ok=True)
            file.write_text(_content(number), encoding="utf-8")
        begun = time.perf_counter()
        start(command, folder, given)
        taken = time.perf_counter() - begun
        if NEW not in (Path(folder) / _path(files - 1)).read_text(encoding="utf-8"):
            raise AssertionError(command)
        return taken
