"""The same change made by programs that people would use instead: git apply, and patch."""

from __future__ import annotations

import difflib
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tools.bench_start import installed

FILES, ROUNDS = 1000, 5
OLD, NEW = "    value = compute(1)\n", "    value = compute(2)\n"


def rows() -> list[tuple[str, float, float]]:
    """Return what was measured: its name, the ratio, and the most it may be."""
    _, clada = installed()
    commands = {
        "clada": [clada, "--no-git", "--output-mode=silent", "--summary=none"],
        "git apply": ["git", "apply", "-"],
        "patch": ["patch", "-p1", "-s"],
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            if shutil.which(command[0]):
                best[name] = min(best[name], _time(command, document() if name == "clada" else diff()))
    return [
        (f"{FILES:,} files edited: clada / {rival}", best["clada"] / best[rival], float("inf"))
        for rival in ("git apply", "patch")
        if best[rival] < float("inf")
    ]


def content(number: int) -> str:
    """Return a file with one line to change."""
    lines = [f"    step_{line}({number})\n" for line in range(60)]
    return "".join([*lines[:30], OLD, *lines[30:]])


def path(number: int) -> str:
    """Return where a file is."""
    return f"package{number % 20}/module{number}.py"


def document() -> bytes:
    """Return the change as CSL."""
    return "".join(
        f'<---SEARCH file="{path(number)}"--->\n{OLD}<---REPLACE--->\n{NEW}<---END--->\n'
        for number in range(FILES)
    ).encode()


def diff() -> bytes:
    """Return the same change as a unified diff."""
    parts = []
    for number in range(FILES):
        old = content(number)
        lines = difflib.unified_diff(
            old.splitlines(keepends=True),
            old.replace(OLD, NEW).splitlines(keepends=True),
            f"a/{path(number)}",
            f"b/{path(number)}",
        )
        parts.append("".join(lines))
    return "".join(parts).encode()


def _time(command: list[str], given: bytes) -> float:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            file = Path(folder) / path(number)
            file.parent.mkdir(exist_ok=True)
            file.write_text(content(number), encoding="utf-8")
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, input=given, stdout=subprocess.DEVNULL, check=True)
        taken = time.perf_counter() - start
        if NEW not in (Path(folder) / path(FILES - 1)).read_text(encoding="utf-8"):
            raise AssertionError(command)
        return taken
