"""What the steps around an edit cost: packing files for a chat, and parsing changed files."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.benchmarks.files import LINES
from tools.benchmarks.measuring import Row, installed, least, search, start

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = "".join(f"value_{number} = 'a line of the usual length'\n" for number in range(240))  # 10 KB
CAT = ["sh", "-c", "git ls-files -z --cached --others | xargs -0 cat"]


def rows(files: int = 5_000, edited: int = 100, rounds: int = 5) -> Iterator[Row]:
    """Yield what was measured."""
    program = installed()[1]
    with tempfile.TemporaryDirectory() as folder:
        _make_repository(folder, files, TEXT)
        packed, cat = least(rounds, lambda: start([program, "pack"], folder), lambda: start(CAT, folder))
    yield Row(f"pack of {files:,} files, 10 KB each / `git ls-files` and `cat`", packed / cat, 3.0)
    with tempfile.TemporaryDirectory() as folder:
        paths, numbers = _make_repository(folder, edited, LINES), itertools.count()

        def edit(syntax: str) -> None:
            number = next(numbers)
            document = "".join(search(path, f"run {number},", f"run {number + 1},") for path in paths)
            start([program, f"--syntax={syntax}"], folder, document.encode())

        with_notes, without = least(rounds, lambda: edit("note"), lambda: edit("off"))
    yield Row(f"{edited} Python files edited and committed: syntax=note / off", with_notes / without, 1.1)


def _make_repository(folder: str, count: int, text: str) -> list[str]:
    """Write files into a new repository; return their paths."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    paths = [f"folder{number // 100}/file{number}.py" for number in range(count)]
    for path in paths:
        file = Path(folder, path)
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# run 0, {path}\n{text}")
    return paths
