"""What recording a run in git costs, against plain git doing the same work."""

from __future__ import annotations

import itertools
import json
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tools.benchmarks.measuring import PROCESSOR, Row, ratio
from tools.benchmarks.start import installed, start

from clada.run import execute
from clada.settings import Settings
from clada.world.files.workspace import Workspace
from clada.world.record.recording import RunToRecord, recording

PER_FOLDER = 50
DOCUMENT = '<---WRITE file="{path}"--->\nrun {number}\n<---END--->\n'


def rows(*, quick: bool) -> list[Row]:
    """Return what was measured."""
    rounds, part = (1, 20) if quick else (15, 1)
    folder = Path(tempfile.mkdtemp(prefix="clada-bench-"))
    try:
        small = _repository(folder / "small", 5_000 // part)
        wrapped = _wrapped(small, rounds, quick=quick)
        confined = _confined(small, rounds, quick=quick)
        written = _snapshots(small, rounds, quick=quick)
        watched = _looks(small, rounds)
        edited = _edited(folder / "edited", 3_000 // part, 1 if quick else 5)
        large = _repository(folder / "large", 50_000 // part)
        after = _after(large, rounds)
        sized = _by_size(large, small, rounds)
        durable = _durable(small, 1 if quick else 5)
    finally:
        shutil.rmtree(folder)
    return [
        Row("one write with both commits, 5,000 files / bare python and the four git commands", wrapped, 1.3),
        Row("one write with both commits, git confined / not confined", confined, 1.15),
        Row("one write with snapshots, 5,000 files / without any record", written, 1.6),
        Row("3,000 edited files with snapshots / without any record", edited, 1.8),
        Row("a command with looks before and after it, 5,000 files / git status, twice", watched, 4.5),
        Row("the commit after file operations, 50,000 files / git commit of the paths", after, 1.3),
        Row("ten writes with snapshots, 50,000 files / 5,000 files", sized, 1.15),
        Row("100 small writes with snapshots, durable / not", durable),
    ]


def _wrapped(root: Path, rounds: int, *, quick: bool) -> float:
    """Compare a whole run, with something to commit before and after it, with the plain commands.

    Each changes a file first, as the user would have, so that the first commit has something to hold.
    """
    python, clada = installed(quick=quick)
    numbers = itertools.count()

    def run() -> None:
        number = next(numbers)
        _change(root, number)
        document = DOCUMENT.format(path=f"0/new-{number}.txt", number=number)
        start([clada], root, document.encode())

    def by_hand() -> None:
        number = next(numbers)
        _change(root, number)
        start([python, "-c", "pass"], root)
        _git(root, "add", "-A")
        _git(root, "commit", "-q", "-m", "before")
        (root / f"1/new-{number}.txt").write_text(f"run {number}\n")
        _git(root, "add", "-A")
        _git(root, "commit", "-q", "-m", "after")

    return ratio(rounds, run, by_hand)


def _confined(root: Path, rounds: int, *, quick: bool) -> float:
    """Compare a recorded run whose git calls are confined with one whose calls are not."""
    _python, clada = installed(quick=quick)
    numbers = itertools.count()

    def run(sandbox: str) -> None:
        number = next(numbers)
        _change(root, number)
        document = DOCUMENT.format(path="4/written.txt", number=number)
        start([clada, f"--sandbox={sandbox}"], root, document.encode())

    return ratio(rounds, lambda: run("auto"), lambda: run("off"), clock=_children)


def _children() -> float:
    """Return the time of the processor of all that was started, and what that started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _snapshots(root: Path, rounds: int, *, quick: bool) -> float:
    """Compare a whole run of one write that is recorded by snapshots with one that is not recorded."""
    _python, clada = installed(quick=quick)
    numbers = itertools.count()

    def run(record: str) -> None:
        document = DOCUMENT.format(path="3/written.txt", number=next(numbers))
        start([clada, f"--record={record}"], root, document.encode())

    return ratio(rounds, lambda: run("snapshots"), lambda: run("none"))


def _looks(root: Path, rounds: int) -> float:
    """Compare what comes before and after a command that changes nothing with what git takes to look."""

    def run() -> None:
        with recording(RunToRecord("1 run"), Settings(str(root), record="snapshots"), None, None) as record:
            record.looks.before()
            record.looks.after()
        record.close()

    def by_hand() -> None:
        for _ in range(2):
            _git(root, "--no-optional-locks", "status", "--porcelain")

    return ratio(rounds, run, by_hand)


def _edited(root: Path, files: int, rounds: int) -> float:
    """Compare edits of many files that are recorded by snapshots with edits that are not."""
    _repository(root, files)
    numbers = itertools.count()

    def run(record: str) -> None:
        number = next(numbers)
        tasks = [
            {"action": "write", "path": f"{each // PER_FOLDER}/{each}.txt", "content": f"run {number}\n" * 20}
            for each in range(files)
        ]
        execute(json.dumps({"tasks": tasks}), workspace=str(root), record=record)

    return ratio(rounds, lambda: run("snapshots"), lambda: run("none"), clock=PROCESSOR)


def _after(root: Path, rounds: int) -> float:
    """Compare the commit after a run of file operations with a plain commit of the same paths."""
    paths = ["0/0.txt", "7/350.txt", "9/450.txt"]
    ours, plain = [], []
    for number in range(rounds):
        run = RunToRecord("3 writes", planned=paths)
        with recording(run, Settings(str(root)), None, None) as record, Workspace(str(root)) as workspace:
            workspace.record_in(record.snapshot)
            for path in paths:
                workspace.store(tuple(path.split("/")), f"ours {number}\n".encode())
            begun = time.perf_counter()
        record.close()
        ours.append(time.perf_counter() - begun)
        _write(root, paths, f"plain {number}\n")
        begun = time.perf_counter()
        _git(root, "commit", "-q", "-m", "after", "--", *paths)
        plain.append(time.perf_counter() - begun)
    return min(ours) / min(plain)


def _by_size(large: Path, small: Path, rounds: int) -> float:
    """Compare file operations that snapshots record in a large repository with those in a small one."""

    def run(root: Path) -> None:
        _execute_writes(root, 10)

    return ratio(rounds, lambda: run(large), lambda: run(small))


def _durable(root: Path, rounds: int) -> float:
    """Compare runs that wait for the disk with runs that do not."""
    return ratio(rounds, lambda: _execute_writes(root, 100, durable=True), lambda: _execute_writes(root, 100))


def _execute_writes(root: Path, files: int, *, durable: bool = False) -> None:
    tasks = [{"action": "write", "path": f"0/{each}.txt", "content": f"{each}\n"} for each in range(files)]
    execute(json.dumps({"tasks": tasks}), workspace=str(root), record="snapshots", durable=durable)


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


def _change(root: Path, number: int) -> None:
    (root / f"2/{100 + number}.txt").write_text(f"mine {number}\n")


def _write(root: Path, paths: list[str], text: str) -> None:
    for path in paths:
        (root / path).write_text(text)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", root, *arguments], check=True, stdout=subprocess.DEVNULL)
