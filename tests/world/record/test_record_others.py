"""A user at work in the same tree: what they save, stage and commit meanwhile is not lost.

At each moment of a run, right before one of its calls of the system, they do one thing. Afterwards what they
did is in the tree, or the run's undo brings it back; and what they did in git is as they left it.
"""

from __future__ import annotations

import errno
import os
import subprocess
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually
from tests.world.record.conftest import command, write
from tests.world.repository.states import git

from clada.errors import CladaError
from clada.world import libc
from clada.world.record import restore
from clada.world.record.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.world.record.conftest import Recorded

CALLS = ("open", "stat", "rename", "link", "unlink", "mkdir", "read", "writev", "fsync", "listxattr", "close")
EVERY = 2  # of the calls of a run, at every so manieth something is saved
LAST_STEPS = ("rename", "link")  # no file system looks and acts at once

TASKS: list[dict[str, Any]] = [
    write("a.txt", "ours\n"),
    write("new/file", "ours\n"),
    {"action": "move", "from": "b.txt", "to": "moved.txt"},
    {"action": "remove", "path": "dir"},
]


class User:
    """Somebody who acts right before the so-manieth call of a run."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.number, self.act, self.calls, self.call = number, act, 0, ""

    def intercept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be called before each call of the system."""
        monkeypatch.setattr(libc, "renameat2", self.wrap("renameat2", libc.renameat2))
        for name in CALLS:
            monkeypatch.setattr(os, name, self.wrap(name, getattr(os, name)))

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the system before which the user may act."""

        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.number:
                self.call = name
                self.act()
            return real(*arguments, **named)

        return call


def at_every_moment(place: Recorded, act: Callable[[], None], check: Callable[[User], None]) -> None:
    """Run, with the user acting at each of its moments; then put all back as it was."""
    script = "rm -rf a.txt b.txt dir new moved.txt; cp -r ../kept/. ."
    subprocess.run(["cp", "-r", str(place.workspace), str(place.workspace.parent / "kept")], check=True)
    number = 1
    while True:
        user = User(number, act)
        with pytest.MonkeyPatch.context() as patch:
            user.intercept(patch)
            place.attempt(*TASKS)
        if not user.call:
            assert number > 100
            return
        check(user)
        subprocess.run(["sh", "-c", script], cwd=place.workspace, check=True)
        number += EVERY


@pytest.mark.slow
def test_what_is_saved_at_any_moment_is_in_the_tree_or_in_the_record(plain: Recorded) -> None:
    """The run may come to it later, and then it is kept first: undo gives it back."""
    saved = plain.workspace / "a.txt"
    seen = set()

    def save() -> None:
        subprocess.run(["sh", "-c", "echo theirs > a.txt"], cwd=plain.workspace, check=True)

    def check(user: User) -> None:
        if saved.read_text() == "theirs\n":
            seen.add("in the tree")
            return
        assert saved.read_text() == "ours\n"
        plain.undo()
        if saved.read_text() == "theirs\n":
            seen.add("undone")
        else:  # at the last step itself, no one can look and act at once
            assert user.call in LAST_STEPS
            seen.add("too late")

    at_every_moment(plain, save, check)
    assert {"in the tree", "undone"} <= seen


@pytest.mark.slow
def test_what_is_saved_elsewhere_at_any_moment_stays(plain: Recorded) -> None:
    """Undo of the run leaves it alone."""

    def save() -> None:
        subprocess.run(
            ["sh", "-c", "echo theirs > theirs.txt; echo theirs > new.txt"], cwd=plain.workspace, check=True
        )

    def check(_user: User) -> None:
        plain.undo()
        assert (plain.workspace / "theirs.txt").read_text() == "theirs\n"
        assert (plain.workspace / "a.txt").read_text() == "a\n"

    at_every_moment(plain, save, check)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["moved.txt", "a.txt"], ids=["new", "replaced"])
@pytest.mark.parametrize("is_source", [True, False], ids=["source", "target"])
def test_a_save_at_either_path_of_a_move_stays_there_when_the_move_is_rolled_back(
    plain: Recorded, target: str, *, is_source: bool
) -> None:
    """It is made right before each call of the system, also the one that moves the file."""
    saved = "b.txt" if is_source else target
    tasks = [{**TASKS[2], "to": target}, {"action": "remove", "path": "missing"}]
    before, seen, number = plain.tree(), set(), 1
    while True:
        user = User(number, partial(plain.write, saved, f"theirs {number}\n"))
        with pytest.MonkeyPatch.context() as patch:
            user.intercept(patch)
            plain.attempt(*tasks, atomic=True, again=True)
        if not user.call:
            break
        seen.add(user.call)
        assert (plain.workspace / saved).read_text() == f"theirs {number}\n", f"{number}: {user.call}"
        for path in ("moved.txt", "a.txt", "b.txt"):
            (plain.workspace / path).unlink(missing_ok=True)
            if path in before:
                plain.write(path, f"{path[0]}\n")
        assert plain.tree() == before
        number += 1
    assert {"renameat2", "stat"} <= seen


@pytest.mark.parametrize(
    "script",
    [
        "echo theirs > b.txt; git add b.txt",
        "echo theirs > theirs.txt; git add -A theirs.txt; git commit -q -m theirs",
        "git checkout -q side",
    ],
    ids=["stage", "commit", "switch"],
)
def test_what_is_done_in_git_while_a_command_runs_is_left(repo: Recorded, script: str) -> None:
    """What was staged, committed or checked out meanwhile is theirs; undo takes back the command's own."""
    git(repo.workspace, "checkout", "-q", "-b", "side")
    repo.write("b.txt", "b, of the side\n")
    repo.write("side.txt", "side\n")
    git(repo.workspace, "add", "-A")
    git(repo.workspace, "commit", "-q", "-m", "side")
    git(repo.workspace, "checkout", "-q", "main")
    process = repo.start(
        command("echo ours > dir/c.txt; touch here; while test -e here; do sleep 0.01; done")
    )
    assert eventually((repo.workspace / "here").exists)
    subprocess.run(["sh", "-e", "-c", script], cwd=repo.workspace, check=True)
    theirs = {path: shown for path, shown in repo.tree().items() if path not in {"dir/c.txt", "here"}}
    known = (
        git(repo.workspace, "status", "--porcelain", "-uall"),
        git(repo.workspace, "log", "--all", "--format=%H"),
    )
    (repo.workspace / "here").unlink()
    assert process.stdout
    said = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait() == 0, said
    repo.undo()
    assert (repo.workspace / "dir/c.txt").read_text() == "c\n"
    tree = repo.tree()
    assert {path: tree.get(path) for path in theirs} == theirs
    assert git(repo.workspace, "log", "--all", "--format=%H") == known[1]
    assert git(repo.workspace, "status", "--porcelain", "-uall") == "\n".join(
        line for line in known[0].splitlines() if line[3:] not in {"dir/c.txt", "here"}
    )


def test_what_is_saved_between_an_operation_and_a_command_comes_back(plain: Recorded) -> None:
    """The command changed it again: undo goes back to what the user saved."""
    ran = []

    def ask(_command: str, _directory: str, _reason: str, *, network: bool) -> str:
        ran.append(network)
        plain.write("a.txt", "theirs\n")
        return "once"

    plain.run(write("a.txt", "ours\n"), command("echo more >> a.txt; true"), ask=ask, approve_all=False)
    assert ran
    assert (plain.workspace / "a.txt").read_text() == "theirs\nmore\n"
    plain.undo()
    assert (plain.workspace / "a.txt").read_text() == "theirs\n"


@pytest.mark.slow
def test_what_is_saved_while_undo_is_at_work_is_not_lost(plain: Recorded) -> None:
    """It is in the tree, or undo refuses, or its undo brings it back."""
    saved = plain.workspace / "a.txt"

    def save() -> None:
        saved.write_text("theirs\n")

    plain.run(*TASKS)
    number, seen = 1, set()
    while True:
        user = User(number, save)
        with pytest.MonkeyPatch.context() as patch:
            user.intercept(patch)
            try:
                plain.undo()
            except CladaError as trouble:
                seen.add("refused" if "changed since" in str(trouble) else str(trouble))
        if not user.call:
            break
        if saved.read_text() != "theirs\n":
            plain.undo()
            assert saved.read_text() == "theirs\n" or user.call in LAST_STEPS
            saved.write_text("ours\n")
        elif "refused" in seen:
            saved.write_text("ours\n")
        if saved.read_text() == "theirs\n":
            saved.write_text("a\n")
        number += EVERY
        if (plain.workspace / "b.txt").exists():
            plain.undo()
    assert "refused" in seen


@pytest.mark.parametrize("path", ["a.txt", "new/file", "b.txt", "link"])
def test_what_is_saved_while_an_unrecorded_rollback_is_at_work_is_left(
    plain: Recorded, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The disk is full, so a rollback cannot record its own changes; the user saves after its comparison.

    They save a file that the run has rewritten, created, moved away, or put in place of a link.
    """
    (plain.workspace / "link").symlink_to("b.txt")
    before = plain.tree()
    real, theirs = restore.compare, "theirs\n"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def compare(changes: Any, interrupted: Any, workspace: Any, *rest: Any, **named: Any) -> Any:
        monkeypatch.setattr(Journal, "add_state", full)
        found = real(changes, interrupted, workspace, *rest, **named)
        if workspace.snapshot is None:
            plain.write(path, theirs)
        return found

    monkeypatch.setattr(restore, "compare", compare)
    replaced = [{"action": "remove", "path": "link"}, write("link", "ours\n")]
    report = plain.attempt(*TASKS, *replaced, {"action": "remove", "path": "missing"}, atomic=True)
    assert (plain.workspace / path).read_text() == theirs
    assert report.error
    assert path in report.error.message
    (plain.workspace / path).unlink()
    after = plain.tree()
    assert {name: state for name, state in before.items() if name != path}.items() <= after.items()
