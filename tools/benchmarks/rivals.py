"""The same change made by what people use instead: codex's apply_patch, git apply, patch, a Python script."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.benchmarks.editing import search
from tools.benchmarks.files import QUIET
from tools.benchmarks.measuring import COMPARED, Row, Times
from tools.benchmarks.start import installed, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PACKAGES = Path(__file__).parents[2] / "build" / "npm" / "node_modules"
CODEX = "@openai/codex-*/vendor/*/bin/codex"  # the package for this machine has the program itself
CONTEXT = 3  # lines around a change in a patch
GOALS = {("1,000 files edited", "patch"): 1.3}
# What a person would write: edits of a file are made in memory, one after the other, and it is written once.
LOOP = """
import json, os, sys
for path, edits in json.load(sys.stdin).items():
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    for old, new in edits:
        if text.count(old) != 1:
            sys.exit(f"{path} has not one match")
        text = text.replace(old, new)
    with open(f"{path}.tmp", "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(f"{path}.tmp", path)
"""


class Work(NamedTuple):
    """Files as lists of lines, and the lines of each that are changed."""

    name: str
    files: dict[str, list[str]]
    changes: dict[str, dict[int, str]]

    def changed(self, path: str) -> str:
        """Return what a file is to be afterwards."""
        lines = self.files[path]
        return "\n".join(self.changes[path].get(at, line) for at, line in enumerate(lines))


class Program(NamedTuple):
    """Where a program is, if it is here; the words it is called by; how the change is written for it."""

    path: str | None
    command: list[str]
    write: Callable[[Work], str]


def rows(*, quick: bool) -> Iterator[Row | Times]:
    """Yield what was measured: for one file, where starting counts, for many, and for a large one."""
    programs = _programs(quick=quick)
    part = 100 if quick else 1
    works = (
        (_small_files("one file edited", 1), 9),
        (_small_files("1,000 files edited", 1_000 // part), 5),
        (_large_file("1,000 edits of one 11 MB file", 230_000 // part, 1_000 // part), 3),
    )
    for work, rounds in works:
        least = _least(programs, work, 1 if quick else rounds)
        yield Times(work.name, least)
        for name in least:
            if name != "clada":
                goal = GOALS.get((work.name, name), COMPARED)
                yield Row(f"{work.name}: clada / {name}", least["clada"] / least[name], goal)


def _programs(*, quick: bool) -> dict[str, Program]:
    """Return the programs that are here, clada first."""
    python, clada = installed(quick=quick)
    codex = next(map(str, PACKAGES.glob(CODEX)), None)
    programs = {
        "clada": Program(clada, [clada, *QUIET], _csl),
        "codex apply_patch": Program(codex, ["apply_patch"], _v4a),
        "git apply": Program(shutil.which("git"), ["git", "apply", "-"], _diff),
        "patch": Program(shutil.which("patch"), ["patch", "-p1", "-s"], _diff),
        "a plain Python loop": Program(python, [python, "-c", LOOP], _for_the_loop),
    }
    if absent := [name for name, program in programs.items() if not program.path]:
        print(f"rivals: left out, for it is not installed: {', '.join(absent)}", file=sys.stderr)
    return {name: program for name, program in programs.items() if program.path}


def _least(programs: dict[str, Program], work: Work, rounds: int) -> dict[str, float]:
    given = {name: program.write(work).encode() for name, program in programs.items()}
    taken = [
        {name: _seconds(program, given[name], work) for name, program in programs.items()}
        for _ in range(rounds)
    ]
    return {name: min(each[name] for each in taken) for name in programs}


def _seconds(program: Program, given: bytes, work: Work) -> float:
    """Return how long a program takes to make the change, in new files each time."""
    with tempfile.TemporaryDirectory() as folder:
        for path, lines in work.files.items():
            file = Path(folder, path)
            file.parent.mkdir(exist_ok=True)
            file.write_text("\n".join(lines), encoding="utf-8")
        begun = time.perf_counter()
        start(program.command, folder, given, program.path)
        taken = time.perf_counter() - begun
        for path in work.files:
            if Path(folder, path).read_text(encoding="utf-8") != work.changed(path):
                raise AssertionError(f"{program.command} left {path} otherwise")
    return taken


def _small_files(name: str, count: int) -> Work:
    """Return files with one line to change in the middle of each."""
    files, changes = {}, {}
    for number in range(count):
        path = f"package{number % 20}/module{number}.py"
        steps = [f"    step_{line}({number})" for line in range(60)]
        files[path] = [*steps[:30], "    value = compute(1)", *steps[30:], ""]
        changes[path] = {30: "    value = compute(2)"}
    return Work(name, files, changes)


def _large_file(name: str, count: int, edits: int) -> Work:
    """Return a file in which lines far from each other are changed."""
    lines = [f"    value_{at} = call_{at * 7919 % 10**9:09}(value, {at})" for at in range(count)]
    changes = {at: f"{lines[at]}  # edited" for at in range(CONTEXT, count - CONTEXT, count // edits)}
    return Work(name, {"large.py": [*lines, ""]}, {"large.py": changes})


def _csl(work: Work) -> str:
    """Return the change as clada's own notation."""
    return "".join(
        search(path, work.files[path][at], new)
        for path, changes in work.changes.items()
        for at, new in changes.items()
    )


def _hunk(lines: list[str], at: int, new: str) -> str:
    """Return a changed line and those around it, as all patches have them."""
    before, after = lines[at - CONTEXT : at], lines[at + 1 : at + 1 + CONTEXT]
    kept = [[f" {line}\n" for line in around] for around in (before, after)]
    return "".join([*kept[0], f"-{lines[at]}\n+{new}\n", *kept[1]])


def _v4a(work: Work) -> str:
    """Return the change as codex writes it."""
    sections = (
        f"*** Update File: {path}\n"
        + "".join(f"@@\n{_hunk(work.files[path], at, new)}" for at, new in changes.items())
        for path, changes in work.changes.items()
    )
    return f"*** Begin Patch\n{''.join(sections)}*** End Patch\n"


def _diff(work: Work) -> str:
    """Return the change as a unified diff."""
    size = 2 * CONTEXT + 1
    return "".join(
        f"--- a/{path}\n+++ b/{path}\n"
        + "".join(
            f"@@ -{at - CONTEXT + 1},{size} +{at - CONTEXT + 1},{size} @@\n{_hunk(work.files[path], at, new)}"
            for at, new in changes.items()
        )
        for path, changes in work.changes.items()
    )


def _for_the_loop(work: Work) -> str:
    """Return the change as pairs of texts."""
    return json.dumps(
        {
            path: [(f"{work.files[path][at]}\n", f"{new}\n") for at, new in changes.items()]
            for path, changes in work.changes.items()
        }
    )
