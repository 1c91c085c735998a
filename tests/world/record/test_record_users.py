"""A user at work in the same repository at every step of a run and of its undo.

Right before one of the steps (a call of git, a change of a file, the beginning or end of an operation) they
save, stage, commit or switch to another branch. Nothing of theirs is lost, committed as clada's, or undone;
and what the run and its undo do is what they do without them. A plain model says what that is.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tarfile
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import clean, commit, git
from tools.plain_git import FSCK

from clada.errors import CladaError, Error
from clada.model import TaskEnded, TaskStarted
from clada.world import libc
from clada.world.git import git as git_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clada.model import Event
    from clada.report import Report

EVERY = 5  # of the steps of a run, at every so manieth the user acts
LAST_STEPS = ("rename", "link")  # no file system looks and acts at once
CHANGES = ("rename", "link", "unlink", "mkdir", "rmdir", "writev")

TASKS: list[dict[str, Any]] = [
    write("a.txt", "ours\n"),
    write("new/file", "ours\n"),
    {"action": "move", "from": "dir/c.txt", "to": "new/moved.txt"},
    {"action": "remove", "path": "dir/d.txt"},
    command("echo ours > made; rm gone"),
]
BEFORE = {"a.txt": "a\n", "dir/c.txt": "c\n", "dir/d.txt": "d\n", "gone": "gone\n"}
AFTER = {"a.txt": "ours\n", "new/file": "ours\n", "new/moved.txt": "c\n", "made": "ours\n"}
OURS = {*BEFORE, *AFTER}

# What they do, each in a shell of their own, which fails where git itself keeps them from it.
ACTIONS = {
    "save": "echo theirs > theirs; echo theirs > b.txt; mkdir -p new; echo theirs > new/theirs",
    "save-over": "echo theirs > a.txt",
    "stage": "echo theirs > theirs; echo staged > b.txt; git add theirs b.txt; echo theirs > b.txt",
    "commit": "echo theirs > theirs; echo theirs > b.txt; git add theirs b.txt; git commit -q -m theirs",
    "switch": "git checkout -q side",
}


class User:
    """Somebody who acts right before the so-manieth step."""

    def __init__(self, place: Recorded, action: str, number: int) -> None:
        self.place, self.action, self.number = place, action, number
        self.first = heads(place).branches
        self.steps, self.acted, self.step, self.heads = 0, False, "", (Heads("", {}), Heads("", {}))
        self.index = ""  # what it had when they had acted
        self.command, self.in_command = False, False  # whether one runs now, and ran when they acted

    def pass_by(self, step: str) -> None:
        """Be there at a step."""
        self.steps += 1
        if self.steps == self.number:
            self.step, self.number = step, 0  # what they do has steps of its own
            self.in_command = self.command
            before = heads(self.place)
            done = subprocess.run(
                ["sh", "-e", "-c", ACTIONS[self.action]],
                cwd=self.place.workspace,
                capture_output=True,
                check=False,
            )
            self.acted = done.returncode == 0
            assert self.acted or b"index.lock" in done.stderr or b"would be overwritten" in done.stderr, done
            self.heads, self.index = (before, heads(self.place)), index_of(self.place)

    def hear(self, event: Event) -> None:
        """Be there at the beginning and end of an operation."""
        self.pass_by(type(event).__name__)
        if isinstance(event, TaskStarted | TaskEnded):
            self.command = isinstance(event, TaskStarted) and event.label.endswith(str(len(TASKS)))

    @property
    def is_mistaken(self) -> bool:
        """Whether nobody can tell what they saved from what the command did that was running."""
        return self.acted and self.in_command and self.action.startswith("save")

    def left_it(self, place: Recorded) -> bool:
        """Whether they switched when all was committed: then the other branch has nothing of it."""
        tip = self.heads[0].branches.get("main")
        if not (self.acted and self.action == "switch"):
            return False
        return tip in [made.commit for made in clada_commits(place) if made.kind == "post"]

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Be there at every step of what follows."""
        for name in CHANGES:
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name)))
        monkeypatch.setattr(libc, "renameat2", self._wrapped("rename", libc.renameat2))
        real = git_module.run

        def run(argv: Any, *rest: Any) -> Any:
            self.pass_by(f"git {argv[argv.index('-C') + 2] if '-C' in argv else argv}")
            return real(argv, *rest)

        monkeypatch.setattr(git_module, "run", run)

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.pass_by(name)
            return real(*arguments, **named)

        return call


class Heads(NamedTuple):
    """Where HEAD and the branches are."""

    head: str
    branches: dict[str, str]


def heads(place: Recorded) -> Heads:
    """Return where HEAD and the branches are: each has a file of its own here."""
    top = place.workspace / ".git"
    assert not (top / "packed-refs").exists()
    branches = {file.name: file.read_text().strip() for file in (top / "refs/heads").iterdir()}
    return Heads((top / "HEAD").read_text().strip().removeprefix("ref: refs/heads/"), branches)


def index_of(place: Recorded) -> str:
    """Return all entries of the index."""
    return git(place.workspace, "ls-files", "-s")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    """Make a repository with two branches, and with changes that are not committed yet."""
    top = clean(tmp_path / "start")
    (top / "gone").write_text("gone\n")
    commit(top)
    git(top, "checkout", "-q", "-b", "side")
    (top / "side").write_text("side\n")
    commit(top, "side")
    git(top, "checkout", "-q", "main")
    (top / "dirty").write_text("dirty\n")
    return top


def at(tmp_path: Path, start: Path, number: int) -> Recorded:
    """Return a fresh copy of the repository."""
    subprocess.run(["cp", "-a", str(start), str(tmp_path / str(number))], check=True)
    return Recorded(tmp_path / str(number))


def texts(place: Recorded) -> dict[str, str]:
    """Return the content of all files."""
    contents = {path: shown[-1] for path, shown in place.tree().items()}
    return {path: content.decode() for path, content in contents.items() if isinstance(content, bytes)}


@cache
def committed(workspace: Path, made: str) -> dict[str, str]:
    """Return the content of all files of a commit, by one start of git: it never changes."""
    archive = ["git", "archive", "--format=tar", made]
    done = subprocess.run(archive, cwd=workspace, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        found = {each.name: files.extractfile(each) for each in files}
        return {name: file.read().decode() for name, file in found.items() if file}


class Made(NamedTuple):
    """One of clada's own commits."""

    kind: str
    commit: str
    parent: str
    names: set[str]  # of the files that it changed


def clada_commits(place: Recorded) -> list[Made]:
    """Return clada's own commits on any branch, the newest first, by one start of git."""
    shown = git(
        place.workspace, "log", "--all", "--no-renames", "--name-only", "--format=%x00%H %P%x00%B%x00"
    ).split("\0")[1:]
    return [
        Made(kind, ids.split()[0], ids.split()[1], set(names.split()))
        for ids, message, names in zip(shown[::3], shown[1::3], shown[2::3], strict=True)
        for kind in ("pre", "post", "undo")
        if f"[clada:{kind}]" in message
    ]


def check_theirs(user: User, place: Recorded) -> None:
    """Hold that what they did is there, in the tree and in git."""
    tree = texts(place)
    if not user.acted:
        return
    match user.action:
        case "save":
            assert (tree["theirs"], tree["b.txt"], tree["new/theirs"]) == ("theirs\n",) * 3
        case "stage":
            assert (tree["theirs"], tree["b.txt"]) == ("theirs\n",) * 2
            in_index = git(place.workspace, "show", ":b.txt")
            is_committed = git(place.workspace, "show", "HEAD:b.txt") == in_index == "theirs"
            assert is_committed or in_index == "staged"
            assert git(place.workspace, "show", ":theirs") == "theirs"
        case "commit":
            assert "theirs" in git(place.workspace, "log", "--format=%s").splitlines()
            head, branches = heads(place)
            held = committed(place.workspace, branches[head])
            assert held["b.txt"] == tree["b.txt"] == "theirs\n"
            assert held["theirs"] == "theirs\n"
        case "switch":
            before, now = user.heads[1].branches, heads(place)
            assert now.head == "side"
            assert now.branches["main"] == before["main"]
            # Where they switched before the run looked, all of it is on that branch.
            assert now.branches["side"] == before["side"] or before["main"] == user.first["main"]
        case _:
            pass  # what they saved over the run's work is looked at with that
    assert not (place.workspace / ".git/index.lock").exists()
    assert not [name for name in os.listdir(place.workspace / ".git/clada") if name.startswith("index-")]


def check_index(user: User, place: Recorded, record: str) -> None:
    """Hold that snapshots leave git as the user left it, and that commits leave nothing of the run staged."""
    if record == "snapshots":
        assert (heads(place), index_of(place)) == (user.heads[1], user.index)
    elif not (user.acted and user.action == "switch"):
        shown = git(place.workspace, "status", "--porcelain", "-uall", "--no-renames").splitlines()
        theirs = {"a.txt"} if user.action == "save-over" else set()
        assert {line[3:] for line in shown}.isdisjoint(OURS - theirs)


def check_commits(place: Recorded) -> None:
    """Clada's commits hold its own work only; that of an undo, what was there before the run's."""
    commits = clada_commits(place)
    posts = [made.parent for made in commits if made.kind == "post"]
    models = {"post": AFTER, "undo": committed(place.workspace, posts[0]) if posts else {}}
    for kind, made, _, names in commits:
        if kind == "pre":
            assert names <= {"dirty", "theirs", "b.txt", "new/theirs", "a.txt"}
            continue
        held, model = committed(place.workspace, made), models[kind]
        assert names <= OURS, kind
        assert {name: held.get(name) for name in names} == {name: model.get(name) for name in names}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("record", ["commits", "snapshots"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_user_acts_at_every_step_of_a_run(tmp_path: Path, start: Path, action: str, record: str) -> None:
    """Theirs stays theirs, after the run and after its undo."""
    number, acted = 1, 0
    while True:
        place = at(tmp_path, start, number)
        user = User(place, action, number)
        with pytest.MonkeyPatch.context() as patch:
            user.watch(patch)
            report = place.attempt(*TASKS, record=record, on_event=user.hear)
        if not user.step:
            assert acted
            return
        acted += user.acted
        where = f"step {number}, before {user.step}"
        if user.action == "save-over" and is_refused(report):
            theirs = {name: BEFORE.get(name) for name in OURS} | {"a.txt": "theirs\n"}
            assert {name: texts(place).get(name) for name in OURS} == theirs, where
            number += EVERY
            continue
        after_run(user, place, report, where)
        check_index(user, place, record)
        if user.is_mistaken:
            undo_and_redo(place, where)
        else:
            check_commits(place)
            after_undo(user, place, where)
            check_index(user, place, record)
        subprocess.run(["rm", "-rf", str(place.workspace)], check=True)
        number += EVERY


def is_refused(report: Report) -> bool:
    """Whether all failed, because a.txt was saved between the moments when it was read and written."""
    first, *others = report.tasks
    was_saved = first.error is not None and "changed while it was being edited" in first.error.message
    return was_saved and {task.status for task in others} == {"skipped"}


def undo_and_redo(place: Recorded, where: str) -> None:
    """Hold that what cannot be told from the command's work goes with it, and comes back with it."""
    tree = texts(place)
    try:
        place.undo()
    except CladaError as trouble:
        assert "changed since run 1: a.txt" in str(trouble), where  # noqa: PT017 (it need not be raised)
    else:
        place.undo()
    assert texts(place) == tree, where


def after_run(user: User, place: Recorded, report: Report, where: str) -> None:
    """Compare with the model."""
    switched = user.acted and user.action == "switch"
    assert [task.error for task in report.tasks if task.error] == [], where
    assert report.fatal is None, (where, report.fatal)
    assert report.error is None or (switched and "was left for side" in report.error.message), (
        where,
        report.error,
    )
    check_theirs(user, place)
    tree = texts(place)
    expected = {name: (BEFORE if user.left_it(place) else AFTER).get(name) for name in OURS}
    if user.action == "save-over" and tree["a.txt"] == "theirs\n":
        expected["a.txt"] = "theirs\n"
    assert {name: tree.get(name) for name in OURS} == expected, where
    assert git(place.workspace, *FSCK) == ""


def after_undo(user: User, place: Recorded, where: str) -> None:
    """Undo, or say why not; compare with the model."""
    words = "changed since run 1: a.txt" if texts(place)["a.txt"] == "theirs\n" else "nothing is expected"
    try:
        place.undo()
    except CladaError as trouble:
        expected_words = "is undone already" if user.left_it(place) else words
        assert expected_words in str(trouble), where  # noqa: PT017 (as above)
        return
    check_theirs(user, place)
    check_commits(place)
    tree = texts(place)
    expected = {name: BEFORE.get(name) for name in OURS}
    if user.action == "save-over" and (tree["a.txt"] == "theirs\n" or user.step not in LAST_STEPS):
        expected["a.txt"] = "theirs\n"  # the run came after it
    assert {name: tree.get(name) for name in OURS} == expected, where


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("record", ["commits", "snapshots"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_user_acts_at_every_step_of_an_undo(tmp_path: Path, start: Path, action: str, record: str) -> None:
    """It takes back the run all the same, or refuses where they have saved over it; then nothing is lost."""
    ran = at(tmp_path, start, 0)
    ran.run(*TASKS, record=record)
    number, acted = 1, 0
    while True:
        place = at(tmp_path, ran.workspace, number)
        user, error = User(place, action, number), None
        with pytest.MonkeyPatch.context() as patch:
            user.watch(patch)
            try:
                place.undo()
            except CladaError as trouble:
                error = trouble.error
        if not user.step:
            assert acted
            return
        acted += user.acted
        where = f"step {number}, before {user.step}: {error}"
        check_theirs(user, place)
        check_commits(place)
        if error is None:
            check_index(user, place, record)
        after_that(user, place, error, where)
        subprocess.run(["rm", "-rf", str(place.workspace)], check=True)
        number += EVERY


def after_that(user: User, place: Recorded, error: Error | None, where: str) -> None:
    """Compare with the model: all is as before the run, or it was refused and nothing is lost."""
    tree, saved_over = texts(place), user.action == "save-over"
    if error and saved_over:
        assert "changed since run 1: a.txt" in error.message, where
        assert {name: tree.get(name) for name in OURS} == {
            **dict.fromkeys(OURS),
            **AFTER,
            "a.txt": "theirs\n",
        }
        return
    if error:
        assert user.action == "switch", where
        with contextlib.suppress(CladaError):  # what git has put back already
            place.undo()
        tree = texts(place)
    expected = {name: BEFORE.get(name) for name in OURS}
    if saved_over and (user.step not in LAST_STEPS or tree["a.txt"] == "theirs\n"):
        expected["a.txt"] = "theirs\n"
    assert {name: tree.get(name) for name in OURS} == expected, where
