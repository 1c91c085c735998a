"""A user at work at any moment of runs, atomic failures, kills, recoveries and undos, in random schedules.

Right before system calls that clada makes they save, create, delete, rename or commit something. A model has
their work alone. After an atomic run that failed or was killed, and after an undo, the tree is the model's;
and at no time is something changed that they did last.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.record.conftest import Recorded, command, write
from tests.world.record.test_record_kills import killed
from tests.world.repository.states import git
from tools.plain_git import IDENTITY

import clada
from clada.errors import CladaError
from clada.settings import Settings
from clada.world import libc
from clada.world.files.scratch import LEFTOVER
from clada.world.record import history
from clada.world.record.recover import recover
from clada.world.sandbox import layers

if TYPE_CHECKING:
    from collections.abc import Callable

    Model = dict[str, str]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="waits for the children of others, as Linux can"),
    pytest.mark.skipif(not layers.has_namespaces(), reason="commands have overlays in namespaces"),
]
STEPS = ("stat", "open", "writev", "fsync", "scandir", "listdir", "link", "unlink")
OFTEN = 0.012  # the chance that the user acts before a step
DEADLY = 0.006  # and that clada is killed, where it may be
START = {name: f"{name}\n" for name in "u0 u1 c0 c1 c2 c3 c4 c5 c6 dir/u2 dir/c7".split()}
THEIRS = ("u0", "u1", "dir/u2")  # which no document names
PLACES = (*START, "k0", "new/n0", "m3", "new/theirs", "kd/theirs", "kd/f", "dir/theirs")
TASKS: list[dict[str, Any]] = [
    write("c0", "run\n"),
    {"action": "edit", "path": "c1", "find": "c1", "replace": "run"},
    {**write("c2", "run\n"), "append": True},
    {"action": "move", "from": "c3", "to": "m3"},
    {"action": "remove", "path": "c4"},
    write("new/n0", "run\n"),
    write("dir/c7", "run\n"),
    command("echo run > k0; echo run >> c5; rm c6; mkdir -p kd; echo run > kd/f"),
]
REMOVED = ("c3", "c4", "c6")
MISSING = {"action": "remove", "path": "missing"}


class User:
    """Somebody who acts now and then; what they did is noted in a file, because a kill takes all else."""

    def __init__(self, place: Recorded, notes: Path, chance: random.Random, *, deadly: bool) -> None:
        self.place, self.notes, self.chance, self.deadly = place, notes, chance, deadly
        self.busy = False  # they act now, or are to leave a command alone
        self.paused = False
        self.process = 0

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Be there at every step of what follows in this process: those that it forks see other mounts."""
        self.process = os.getpid()
        for name in STEPS:
            patch.setattr(os, name, self._wrapped(getattr(os, name)))
        patch.setattr(libc, "renameat2", self._wrapped(libc.renameat2))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.pass_by()
            return real(*arguments, **named)

        return call

    def pass_by(self) -> None:
        """Perhaps act; perhaps kill the process."""
        if self.busy or self.paused or os.getpid() != self.process:
            return
        if self.chance.random() < OFTEN:
            self.busy = True
            try:
                self.act()
            finally:
                self.busy = False
        if self.deadly and self.chance.random() < DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)

    def act(self) -> None:
        """Do one thing, and note what is at which path then."""
        top, path = self.place.workspace, self.chance.choice(PLACES)
        how = self.chance.choice(("save", "save", "save", "delete", "rename", "commit"))
        file = top / path
        if how == "commit" and (top / ".git").is_dir():
            git_as_user(top, self.chance)
        elif how == "delete" and file.is_file():
            file.unlink()
            self.note(path, None)
        elif how == "rename" and file.is_file():
            new = f"r{self.chance.getrandbits(32):x}"
            text = file.read_text()
            file.rename(top / new)
            self.note(path, None)
            self.note(new, text)
        elif file.parent.is_dir() and not file.is_dir():
            text = f"theirs {self.chance.getrandbits(32):x}\n"
            file.write_text(text)
            self.note(path, text)

    def note(self, path: str, text: str | None) -> None:
        """Note what they have left at a path."""
        with self.notes.open("a") as file:
            file.write(json.dumps([path, text]) + "\n")


def git_as_user(top: Path, chance: random.Random) -> None:
    """Commit a file of theirs, as far as git lets them."""
    words = ["commit", "-qm", f"theirs {chance.getrandbits(32):x}", "--", "u0"]
    subprocess.run(["git", *IDENTITY, *words], cwd=top, capture_output=True, check=False)


def model_of(notes: Path, since: int = 0) -> tuple[dict[str, str | None], int]:
    """Return what the user has done, by path, from one line of the notes on; and how many there are."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return dict(map(json.loads, lines[since:])), len(lines)


def texts(place: Recorded) -> Model:
    """Return the content of all files."""
    found: Model = {}
    for folder, folders, names in os.walk(place.workspace):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            file = Path(folder, name)
            found[str(file.relative_to(place.workspace))] = file.read_text()
    return found


def removed_by_both(path: str, both: tuple[str | None, str | None]) -> bool:
    """Return whether a file is back that the run and the user have removed: it cannot be told who did."""
    return both[0] is None and path in REMOVED


class Schedule:
    """One random schedule."""

    def __init__(self, place: Recorded, tmp_path: Path, seed: int) -> None:
        self.place, self.chance = place, random.Random(seed)
        self.notes, self.errors = tmp_path / "notes", tmp_path / "errors"
        self.log: list[str] = []

    def phase(self, name: str, action: Callable[[User], object], *, deadly: bool) -> bool:
        """Do something in a process of its own, with the user at work; return whether it was killed."""
        user = User(self.place, self.notes, random.Random(self.chance.getrandbits(64)), deadly=deadly)

        def act() -> None:
            try:
                with pytest.MonkeyPatch.context() as patch:
                    user.watch(patch)
                    action(user)
            except BaseException:
                self.errors.write_text(traceback.format_exc())
                raise

        cut = killed(act)
        self.log.append(f"{name}{' (killed)' if cut else ''}")
        assert not self.errors.exists(), f"{self.log}\n{self.errors.read_text()}"
        return cut

    def run(self) -> None:
        """Go through the phases, and compare with the model after each."""
        chance, place = self.chance, self.place
        mode = chance.choice(("plain", "atomic, fails", "atomic, fails", "atomic"))
        tasks = chance.sample(TASKS, chance.randint(2, len(TASKS)))
        tasks += [MISSING] if mode == "atomic, fails" else []
        record = chance.choice(("snapshots", "snapshots", "none", "commits"))
        if record == "commits" and not (place.workspace / ".git").is_dir():
            record = "snapshots"
        options = {"record": record, "atomic": mode != "plain", "sandbox": "auto"}
        self.log.append(f"{mode}, {record}: {[task.get('path', task['action']) for task in tasks]}")

        cut = self.phase("run", lambda user: self.attempt(user, tasks, options), deadly=chance.random() < 0.5)
        if mode != "plain":
            if cut and history.pending_run(str(place.workspace)):
                mode = "atomic, fails"  # else all of it was done, or taken back, when it was killed
            while cut:
                self.act_alone()
                cut = self.phase("recover", self.recover, deadly=chance.random() < 0.3)
            if mode == "atomic, fails":
                self.compare_all()
        since = model_of(self.notes)[1]
        self.act_alone()
        if record != "none":
            self.undo(since, complete=not cut)
        self.compare_theirs(0, THEIRS)
        if (place.workspace / ".git/index.lock").exists():  # a kill has left it, and any command clears it
            place.call("history")
        assert not (place.workspace / ".git/index.lock").exists()

    def attempt(self, user: User, tasks: list[dict[str, Any]], options: dict[str, Any]) -> None:
        """Run, with the user at work; of a command that writes to the workspace itself, they keep away.

        Its work cannot be told from theirs.
        """

        def hear(event: object) -> None:
            is_run = isinstance(event, clada.TaskStarted) and event.operation == "run"
            user.paused = is_run and not options["atomic"]
            user.pass_by()

        self.place.attempt(*tasks, on_event=hear, **options)

    def recover(self, _user: User) -> None:
        """Take back what the killed run had done."""
        recover(Settings(workspace=str(self.place.workspace)))

    def act_alone(self) -> None:
        """Let the user act while nothing else runs."""
        user = User(self.place, self.notes, random.Random(self.chance.getrandbits(64)), deadly=False)
        for _ in range(self.chance.randint(0, 2)):
            user.act()

    def undo(self, since: int, *, complete: bool) -> None:
        """Undo the run, perhaps in several attempts; what the user did since it ended stays."""

        def act(_user: User) -> None:
            try:
                undone = self.place.undo()
                (self.notes.parent / "said").write_text("\n".join(("ok", *undone.notes)))
            except CladaError as trouble:
                (self.notes.parent / "said").write_text(str(trouble))

        while self.phase("undo", act, deadly=self.chance.random() < 0.3):
            self.act_alone()
        said = (self.notes.parent / "said").read_text().splitlines()
        self.log += said
        self.compare_theirs(since, None)
        if complete and said == ["ok"] and "undo (killed)" not in self.log:
            self.compare_all()

    def compare_theirs(self, since: int, names: tuple[str, ...] | None) -> None:
        """Hold that all paths that the user changed last are as they left them."""
        done = model_of(self.notes, since)[0]
        now = texts(self.place)
        expected = {**{name: START[name] for name in names or ()}, **done}
        wrong = {path: (text, now.get(path)) for path, text in expected.items() if now.get(path) != text}
        wrong = {path: both for path, both in wrong.items() if names is None or path in names}
        wrong = {path: both for path, both in wrong.items() if not removed_by_both(path, both)}
        assert not wrong, f"{self.log}: {wrong}"

    def compare_all(self) -> None:
        """Hold that the tree has the user's work, and nothing else."""
        done = model_of(self.notes)[0]
        expected = {path: text for path, text in {**START, **done}.items() if text is not None}
        now = texts(self.place)
        wrong = {
            path: (expected.get(path), now.get(path))
            for path in expected.keys() | now.keys()
            if expected.get(path) != now.get(path)
        }
        wrong = {path: both for path, both in wrong.items() if not removed_by_both(path, both)}
        assert not wrong, f"{self.log}: {wrong}"
        assert not [path for path in now if LEFTOVER in path]


def schedules(tmp_path: Path, seeds: range) -> None:
    """Go through schedules, each in a workspace of its own; half of them are repositories."""
    for seed in seeds:
        own = tmp_path / str(seed)
        place = Recorded(own / "place")
        for path, text in START.items():
            place.write(path, text)
        if seed % 2:
            git(place.workspace, "init", "-q", "--template=")
            git(place.workspace, "add", "-A")
            git(place.workspace, *IDENTITY, "commit", "-qm", "all")
        try:
            Schedule(place, own, seed).run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        subprocess.run(["rm", "-rf", str(own)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(40))
def test_nothing_of_the_users_is_changed_in_2000_schedules(tmp_path: Path, part: int) -> None:
    """In forty parts, which are run side by side."""
    schedules(tmp_path, range(part * 50, part * 50 + 50))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_move_while_the_user_works_on_both_of_its_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user saves, deletes and renames at the source and the target of a move very often."""
    busy = {"OFTEN": 0.05, "DEADLY": 0.03, "TASKS": [TASKS[3], TASKS[0]], "PLACES": ("c3", "m3")}
    for name, value in busy.items():
        monkeypatch.setitem(globals(), name, value)
    schedules(tmp_path, range(10_000, 10_400))
