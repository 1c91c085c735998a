"""The run: every applier on every case, in a fresh tree."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from applybench.appliers.base import Applier
from applybench.cases import Case, Tree
from applybench.score import Outcome, score


@dataclass(frozen=True)
class Result:
    """The score of an applier on a case."""

    case: Case
    applier: str
    score: str
    message: str
    seconds: float

    def to_dict(self) -> dict[str, object]:
        """Return what a rerun with the same seed gives again: no times, no messages with temporary paths."""
        case = self.case
        return {
            "task": case.task,
            "format": case.format,
            "slip": case.slip,
            "label": case.label,
            "applier": self.applier,
            "score": self.score,
        }


def run_cases(cases: Iterable[Case], appliers: list[Applier]) -> Iterator[Result]:
    """Yield the result of each applier for each case that it takes."""
    with tempfile.TemporaryDirectory(prefix="applybench-") as folder:
        for number, case in enumerate(cases):
            for applier in appliers:
                if applier.takes(case) and number % applier.share == 0:
                    yield _run_case(case, applier, Path(folder, str(number)))


def _run_case(case: Case, applier: Applier, root: Path) -> Result:
    write_tree(root, case.tree)
    start = time.perf_counter()
    try:
        outcome = applier.apply(root, case)
    except subprocess.TimeoutExpired:
        outcome = Outcome(None, "no end in time")
    seconds = time.perf_counter() - start
    after = read_tree(root)
    shutil.rmtree(root)
    return Result(case, applier.name, score(case, outcome, after), outcome.message, seconds)


def write_tree(root: Path, tree: Tree) -> None:
    """Write the files of a tree into a new folder."""
    for path, data in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def read_tree(root: Path) -> Tree:
    """Return all files below a folder."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()
    }
