"""kill -9 at any moment of a run, or of an undo: then undo, or the same undo again, gives the tree as it was.

As the system sees it, a power cut is another matter: test_record_power.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.record.conftest import command, write

import clada
from clada.errors import CladaError
from clada.world.files.scratch import LEFTOVER, NOTE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.world.record.conftest import Recorded

PR_SET_CHILD_SUBREAPER = 36
KILLS = 60
LARGE = "".join(f"line {number}\n" for number in range(20_000))

# Each of them changes something at the end of which the next one begins.
TASKS: list[dict[str, Any]] = [
    write("a.txt", LARGE),
    write("new/deep/er/file", "new\n"),
    {**write("log", LARGE), "append": True},
    {**write("log", LARGE), "append": True},
    {"action": "move", "from": "tree", "to": "new/tree"},
    {"action": "edit", "path": "b.txt", "find": "b", "replace": "another"},
    command("for n in 1 2 3 4 5 6 7 8; do echo $n > made$n; echo $n >> b.txt; done; rm -r dir; mkdir dir"),
    command("chmod 600 b.txt"),
    command("mv a.txt moved; ln -s moved a.txt; mv new older; echo last > untracked"),
    write("b.txt", "last\n"),
    {"action": "remove", "path": "older"},
]  # fmt: skip


# The same without commands: all of it can be attributed to the run.
FILES = [task for task in TASKS[:6] if task["action"] != "run"]


def furnish(place: Recorded) -> None:
    """Make a tree in which something can go wrong."""
    place.write("log", "first\n")
    place.write("untracked", "old\n", 0o600)
    for number in range(20):
        place.write(f"tree/{number % 4}/{number}", f"{number}\n" * 100, 0o600 if number % 3 else 0o755)
    (place.workspace / "tree/empty").mkdir(mode=0o700)
    (place.workspace / "tree/link").symlink_to("../a.txt")


def killed(action: Callable[[], object], after: float | None = None) -> bool:
    """Begin something in a process of its own, kill it after some time; return whether it had not ended.

    Without a time, it does that itself.

    Its commands become our children then, and are waited for: they end with it, but not at once.
    """
    become_reaper = partial(ctypes.CDLL(None).prctl, PR_SET_CHILD_SUBREAPER)
    become_reaper(1, 0, 0, 0)
    try:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                action()
            os._exit(0)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        cut = os.waitpid(child, 0)[1] == signal.SIGKILL
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
    finally:
        become_reaper(0, 0, 0, 0)  # else the orphans of all tests that follow would be ours
    return cut


CALLS = "open stat read writev write link rename unlink mkdir rmdir chmod close symlink".split()


def counted(action: Callable[[], object], kill_at: int = 0) -> int:
    """Return how many calls of the system something makes; before one of them, kill this process."""
    calls = 0

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, wrapped(getattr(os, name)))
        action()
    return calls


def duration(action: Callable[[], object]) -> float:
    """Return how long it takes."""
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def is_named(path: str, said: str) -> bool:
    """Return whether a message names a path, or a directory that it is in, or something in it."""
    names = said.replace(",", " ").split()
    return any(f"{name}/".startswith(f"{path}/") or path.startswith(f"{name}/") for name in names)


def reset(place: Recorded, saved: Path) -> None:
    """Put the tree back as a user would, leaving the record alone."""
    for path in place.workspace.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name != ".git":
            shutil.rmtree(path)
        elif path.name != ".git":
            path.unlink()
    ignore = shutil.ignore_patterns(".git")
    shutil.copytree(saved, place.workspace, symlinks=True, dirs_exist_ok=True, ignore=ignore)


def litter(place: Recorded) -> list[str]:
    """Return what was left lying about, in the tree and in the record."""
    names = [name for _, folders, plain in os.walk(place.workspace) for name in (*folders, *plain)]
    kept = [name for _, _, plain in os.walk(place.store) for name in plain]
    return [
        *(name for name in names if name.startswith(LEFTOVER)),
        *(
            name
            for name in kept
            if not name.isdigit()
            and name not in {"record.db", "record.db-journal", "lock"}
            # The note of a file that is gone stays after an interrupt, until another process clears it.
            and not name.endswith(NOTE)
        ),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="waits for the children of others, as Linux can")
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("tasks", [TASKS, FILES], ids=["with commands", "files alone"])
def test_a_run_that_is_killed_at_any_moment_is_undone(
    place: Recorded, tmp_path: Path, tasks: list[dict[str, Any]]
) -> None:
    """The tree is as before, to the byte; what a command may have changed is named, and left."""
    furnish(place)
    before = place.tree()
    whole = duration(lambda: place.run(*tasks))
    place.undo()
    assert place.tree() == before
    shutil.copytree(place.workspace, tmp_path / "saved", symlinks=True)
    chance, ends = random.Random(KILLS), []
    for _ in range(KILLS // 2):
        runs = len(place.history())
        cut = killed(lambda: place.run(*tasks), chance.random() * whole * 1.1)
        known = place.history()
        if len(known) == runs:
            assert place.tree() == before
            continue
        ends.append(known[0])
        assert known[0] == "killed" or not cut or place.tree() != before  # it may have just ended
        try:
            said = " ".join(place.undo(clada.history(str(place.workspace))[0].number).notes)
        except CladaError as trouble:
            # It was killed before its first change.
            said = str(trouble)
            assert "changed nothing" in said or "undone already" in said
        now = place.tree()
        if tasks is FILES:
            assert now == before
        left = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
        assert not [path for path in left if not is_named(path, said)], said
        assert litter(place) == []
        reset(place, tmp_path / "saved")
    assert "killed" in ends


@pytest.mark.skipif(sys.platform != "linux", reason="waits for the children of others, as Linux can")
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_undo_that_is_killed_at_any_moment_is_brought_to_its_end(place: Recorded) -> None:
    """By running it again, and again; redo then gives the tree after the run."""
    furnish(place)
    before = place.tree()
    place.run(*TASKS)
    after = place.tree()
    calls = counted(place.undo)
    assert place.tree() == before
    place.undo()
    chance, stopped = random.Random(KILLS), 0
    for _ in range(KILLS // 2):
        for _ in range(chance.choice((1, 1, 2, 3))):
            if place.tree() != before:  # else it would be redone
                at = chance.randint(1, calls)
                killed(partial(counted, place.undo, at))
        stopped += place.tree() not in (before, after)
        if place.tree() != before or place.history()[0] == "killed":
            place.undo()
        assert place.tree() == before
        assert litter(place) == []
        place.undo(next(run.number for run in clada.history(str(place.workspace)) if run.undoes))
        assert place.tree() == after
    assert stopped
