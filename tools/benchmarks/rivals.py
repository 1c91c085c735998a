"""The same change by what people use instead: codex's apply_patch, git apply, patch, a Python script."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.benchmarks.measuring import PACKAGES, QUIET, Row, installed, search, seconds, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CODEX = "@openai/codex-*/vendor/*/bin/codex"  # the package for this machine has the program itself
STEPS = [f"    step_{number}()\n" for number in range(60)]
OLD, NEW = "    value = compute(1)\n", "    value = compute(2)\n"
BEFORE, AFTER = ("".join([*STEPS[:30], line, *STEPS[30:]]) for line in (OLD, NEW))
AROUND = [f" {step}" for step in STEPS[27:33]]  # the lines of context in a patch
HUNK = "".join([*AROUND[:3], f"-{OLD}", f"+{NEW}", *AROUND[3:]])
LOOP = """
import json, os, sys
for path, old, new in json.load(sys.stdin):
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit(f"{path} has not one match")
    with open(f"{path}.tmp", "w", encoding="utf-8", newline="") as file:
        file.write(text.replace(old, new))
    os.replace(f"{path}.tmp", path)
"""


class Program(NamedTuple):
    """Where a program is, if it is installed; the words to call it by; how it wants the change."""

    path: str | None
    command: list[str]
    write: Callable[[list[str]], str]


def rows(files: int = 1_000, rounds: int = 5) -> Iterator[Row]:
    """Yield what was measured: for one file, where starting counts, and for many."""
    programs = _programs()
    for count, goals in ((1, {}), (files, {"patch": 1.5})):
        paths = [f"package{number % 20}/module{number}.py" for number in range(count)]
        taken = {
            name: min(_seconds(program, paths) for _ in range(rounds)) for name, program in programs.items()
        }
        for name in list(taken)[1:]:
            what = "one file edited" if count == 1 else f"{count:,} files edited"
            yield Row(f"{what}: clada / {name}", taken["clada"] / taken[name], goals.get(name))


def _programs() -> dict[str, Program]:
    """Return the programs that are installed, clada first."""
    python, clada = installed()
    programs = {
        "clada": Program(clada, [clada, *QUIET], _csl),
        "codex apply_patch": Program(next(map(str, PACKAGES.glob(CODEX)), None), ["apply_patch"], _v4a),
        "git apply": Program(shutil.which("git"), ["git", "apply", "-"], _diff),
        "patch": Program(shutil.which("patch"), ["patch", "-p1", "-s"], _diff),
        "a Python loop": Program(python, [python, "-c", LOOP], _pairs),
    }
    if absent := [name for name, program in programs.items() if not program.path]:
        print(f"rivals: not installed: {', '.join(absent)}", file=sys.stderr)
    return {name: program for name, program in programs.items() if program.path}


def _seconds(program: Program, paths: list[str]) -> float:
    """Return how long a program takes to make the change, in new files each time."""
    given = program.write(paths).encode()
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text(BEFORE)
        taken = seconds(lambda: start(program.command, folder, given, program.path))
        for path in paths:
            if Path(folder, path).read_text() != AFTER:
                raise AssertionError(f"{program.command} left {path} otherwise")
    return taken


def _csl(paths: list[str]) -> str:
    return "".join(search(path, OLD[:-1], NEW[:-1]) for path in paths)


def _v4a(paths: list[str]) -> str:
    sections = "".join(f"*** Update File: {path}\n@@\n{HUNK}" for path in paths)
    return f"*** Begin Patch\n{sections}*** End Patch\n"


def _diff(paths: list[str]) -> str:
    return "".join(f"--- a/{path}\n+++ b/{path}\n@@ -28,7 +28,7 @@\n{HUNK}" for path in paths)


def _pairs(paths: list[str]) -> str:
    return json.dumps([(path, OLD, NEW) for path in paths])
