"""Another program at work in the same tree, at every system call of a run: saves, appends, moves, swaps.

At each moment, right before one of the calls of a run, it does one thing. Whatever the moment: what it saved
is there in the end, nothing is written or removed outside of the workspace, nothing of ours is left lying
about, and what is called a success is one. A directory that is moved at the last step itself takes that step
along, and the report says so.

A slow test does the same to a process of its own, which strace stops at each of its system calls.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs

import clada
from clada.world import libc
from clada.world.files.scratch import LEFTOVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OURS, THEIRS, OLD = "ours", "theirs", "old line\n"
CALLS = """
open close stat lstat fstat read write pread lseek ftruncate link rename unlink mkdir rmdir listdir dup
fchmod fchown chmod utime listxattr getxattr setxattr removexattr readlink access
""".split()
LAST_STEPS = ("link", "rename", "unlink", "rmdir", "mkdir", "write")

DOCUMENTS = {
    "create": f'<---WRITE file="folder/new"--->\n{OURS}\n<---END--->\n',
    "overwrite": f'<---WRITE file="folder/file"--->\n{OURS}, all of it\n<---END--->\n',
    "edit": f'<---SEARCH file="folder/file"--->\nold\n<---REPLACE--->\n{OURS}\n<---END--->\n',
    "append": f'<---WRITE file="folder/file" append="true"--->\n{OURS}\n<---END--->\n',
    "make": f'<---WRITE file="folder/deep/er/new"--->\n{OURS}\n<---END--->\n',
    "move": '<move from="plain" to="folder/moved"/>\n',
    "remove": '<remove path="folder"/>\n',
    "copy": "<---RUN--->\ncp plain folder/copy\nmkdir folder/made\n<---END--->\n",
}


class Scene:
    """A workspace with something outside of it, and what another program does there."""

    def __init__(self, top: Path) -> None:
        self.inside, self.outside = top / "workspace", top / "outside"
        self.folder, self.rescued, self.trap = (
            self.inside / "folder",
            self.outside / "rescued",
            self.outside / "trap",
        )
        for path in (self.folder / "file", self.trap / "file"):
            path.parent.mkdir(parents=True)
            path.write_text(OLD)
        (self.folder / "other").write_text(OLD)
        (self.inside / "plain").write_text(OURS)

    # What the other program does. It may come too late for it.

    def save(self) -> None:
        """Write into the file."""
        if (self.folder / "file").exists():
            (self.folder / "file").write_text(f"{THEIRS}, an old line\n")

    def replace(self) -> None:
        """Put another file in its place, as editors do."""
        if (self.folder / "file").exists():
            (self.inside / "swap").write_text(f"{THEIRS}, an old line\n")
            (self.inside / "swap").rename(self.folder / "file")

    def append(self) -> None:
        """Add a line to the file."""
        if (self.folder / "file").exists():
            with (self.folder / "file").open("a") as file:
                file.write(f"{THEIRS}\n")

    def rescue(self) -> None:
        """Move the directory out of the workspace."""
        if self.folder.exists():
            self.folder.rename(self.rescued)

    def swap(self) -> None:
        """Put a link to the outside in its place."""
        if self.folder.exists():
            self.folder.rename(self.inside / "aside")
            self.folder.symlink_to(self.trap)

    # What is there in the end.

    def contents(self, top: Path) -> dict[str, str]:
        """Return all files below a directory."""
        found = (path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(top)): path.read_text() for path in found}

    def litter(self) -> list[str]:
        """Return what a run has left lying about."""
        return [path.name for path in self.inside.parent.rglob("*") if path.name.startswith(LEFTOVER)]


class Moment:
    """One moment of a run: its so-manieth call of the system. Then the other program acts."""

    def __init__(self, number: int, action: Callable[[], None]) -> None:
        self.number, self.action = number, action
        self.calls = 0
        self.call = ""  # which one came next
        self.before: list[str] = []  # those that change something, and came before
        self._busy = False

    def intercept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Count the calls of the system, and act right before one of them."""
        for name in CALLS:
            if hasattr(os, name):
                monkeypatch.setattr(os, name, self._counting(name, getattr(os, name)))
        monkeypatch.setattr(libc, "renameat2", self._counting("rename", libc.renameat2))

    def _counting(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if not self._busy:
                self.calls += 1
                if self.calls < self.number and name in LAST_STEPS:
                    self.before.append(name)
                if self.calls == self.number:
                    self._busy, self.call = True, name
                    self.action()
                    self._busy = False
            return real(*arguments, **options)

        return counted


def _execute(scene: Scene, document: str, moment: Moment) -> clada.Report:
    with pytest.MonkeyPatch.context() as patched:
        moment.intercept(patched)
        return clada.execute(clada.parse(document), workspace=scene.inside, git=False)


def _moments(top: Path, document: str, action: str) -> Iterator[tuple[Scene, Moment, clada.Report]]:
    """Yield what comes of a run at each of its moments, the last of which is after its end."""
    plain = Moment(0, lambda: None)
    _execute(Scene(top / "plain"), document, plain)
    scenes = [Scene(top / str(number)) for number in range(1, plain.calls + 10)]
    time.sleep(0.03)  # or the times of files would be too fresh to tell a save
    for number, scene in enumerate(scenes, 1):
        moment = Moment(number, getattr(scene, action))
        report = _execute(scene, document, moment)
        yield scene, moment, report
        if number > moment.calls:
            return
    pytest.fail("the last moment was never reached")


@pytest.mark.sample(2)
@pytest.mark.parametrize("action", ["save", "replace", "append"])
@pytest.mark.parametrize("operation", ["edit", "append"])
def test_what_another_program_saves_is_there_in_the_end(tmp_path: Path, operation: str, action: str) -> None:
    """Whether it comes before us, after us or in between: at the last step, too."""
    lost = []
    for scene, moment, report in _moments(tmp_path, DOCUMENTS[operation], action):
        content = (scene.folder / "file").read_text()
        acted = moment.number <= moment.calls
        if acted and THEIRS not in content:
            lost.append(moment.call)
        if report.ok and action != "replace" and not (acted and action == "save"):
            assert OURS in content
        assert scene.litter() == []
    assert lost == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("operation", DOCUMENTS)
def test_a_directory_that_is_rescued_keeps_what_it_has(tmp_path: Path, operation: str) -> None:
    """And gets nothing: but for the one step that was being taken, and that is no success."""
    for scene, moment, report in _moments(tmp_path, DOCUMENTS[operation], "rescue"):
        assert scene.litter() == []
        if not scene.rescued.exists():
            continue
        if scene.contents(scene.rescued) == {"file": OLD, "other": OLD}:
            continue
        done_before = set(moment.before) - ({"write"} if operation != "append" else set())
        assert done_before or moment.call in LAST_STEPS, moment.call
        assert done_before or not report.ok, moment.call


@pytest.mark.sample(3)
@pytest.mark.parametrize("operation", DOCUMENTS)
def test_a_link_that_takes_a_directorys_place_leads_nowhere(tmp_path: Path, operation: str) -> None:
    """Not one of all the steps is taken through it."""
    for scene, moment, _report in _moments(tmp_path, DOCUMENTS[operation], "swap"):
        assert scene.contents(scene.trap) == {"file": OLD}, moment.call
        assert scene.litter() == []


# The same by strace: a process of its own, stopped at each of its system calls.

DRIVER = """
import os, shutil, sys, time
import clada
plan = clada.parse(sys.argv[1])
shutil.copytree(".", "../warm")
time.sleep(0.05)  # a younger file is compared by content, with more calls
clada.execute(plan, workspace="../warm", git=False)  # loads all modules
with open("../pid", "w") as file:
    file.write(str(os.getpid()))
os.getpriority(os.PRIO_PROCESS, 0)  # from here on, system calls count
sys.exit(not clada.execute(plan, git=False).ok)
"""
TRACED = "openat close newfstatat read write pread64 linkat renameat2 unlinkat fchmod llistxattr flistxattr"
MARK = "getpriority"
PATIENCE = 30  # seconds


def _trace(scene: Scene, document: str, *options: str) -> subprocess.Popen[bytes]:
    command = ["strace", "-f", *options, sys.executable, "-c", DRIVER, document]
    # A state directory of its own: what killed processes of other tests have left in theirs would be cleared.
    environment = {**os.environ, "XDG_STATE_HOME": str(scene.inside.parent / "state")}
    return subprocess.Popen(command, cwd=scene.inside, env=environment, stderr=subprocess.DEVNULL)


def _system_calls(scene: Scene, document: str) -> list[tuple[str, int]]:
    """Return the system calls of a run in order: which one, and the how-manieth of its kind."""
    log = scene.inside.parent / "log"
    assert (
        _trace(scene, document, "-o", str(log), "-e", f"trace={MARK},{TRACED.replace(' ', ',')}").wait() == 0
    )
    counts: dict[str, int] = {}
    found, started = [], False
    for line in log.read_text().splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match:
            name = match[1]
            counts[name] = counts.get(name, 0) + 1
            if started:
                found.append((name, counts[name]))
            started = started or name == MARK
    return found


def _stopped(scene: Scene, running: subprocess.Popen[bytes]) -> int | None:
    """Wait until the process is stopped, and return its number; None where it ends before.

    One that is traced is stopped at many moments; this one stays so, and is not switched to any more.
    """
    end, last, since = time.monotonic() + PATIENCE, "", time.monotonic()
    while time.monotonic() < end and running.poll() is None:
        time.sleep(0.005)
        try:
            pid = (scene.inside.parent / "pid").read_text()
            status = Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            continue
        seen = "".join(re.findall(r"^(?:State|\w*ctxt_switches):.*", status, re.MULTILINE))
        if seen != last or "stop" not in seen:
            last, since = seen, time.monotonic()
        elif time.monotonic() - since > 0.1:
            return int(pid)
    return None


@pytest.mark.slow
@pytest.mark.timeout(600)
@needs("strace")
@pytest.mark.parametrize(
    ("operation", "action"),
    [
        ("edit", "save"),
        ("edit", "replace"),
        ("append", "append"),
        ("edit", "rescue"),
        ("create", "rescue"),
        ("remove", "rescue"),
        ("create", "swap"),
        ("edit", "swap"),
        ("remove", "swap"),
    ],
)
def test_the_same_holds_at_every_system_call(tmp_path: Path, operation: str, action: str) -> None:
    """The process is stopped after each of them, and goes on when the other program has acted."""
    document = DOCUMENTS[operation]
    calls = _system_calls(Scene(tmp_path / "plain"), document)
    assert len(calls) > 10
    acted = 0
    names = [*(name for name, _number in calls), "exit"]
    for at, (name, number) in enumerate(calls, 1):
        scene = Scene(tmp_path / f"{name}{number}")
        time.sleep(0.03)
        inject = f"inject={name}:signal=SIGSTOP:when={number}"
        running = _trace(scene, document, "-o", "/dev/null", "-e", f"trace={name}", "-e", inject)
        pid = _stopped(scene, running)
        if pid is not None:
            acted += 1
            getattr(scene, action)()
            os.kill(pid, signal.SIGCONT)
        try:
            ok = running.wait(PATIENCE) == 0
        finally:
            running.kill()
        _judge(scene, action, (names[:at], names[at]), ok=ok)
    assert acted > len(calls) * 0.8


def _judge(scene: Scene, action: str, moment: tuple[list[str], str], *, ok: bool) -> None:
    """Hold what must hold, whatever the moment was: what came before it, and what followed."""
    before, following = moment
    assert scene.litter() == []
    assert scene.contents(scene.trap) == {"file": OLD}
    if action in ("save", "replace", "append"):
        assert THEIRS in (scene.folder / "file").read_text(), following
    if action == "rescue" and scene.rescued.exists():
        landed = [text for text in scene.contents(scene.rescued).values() if OURS in text]
        done_before = {"linkat", "renameat2"} & set(before)
        assert not landed or done_before or (following in ("linkat", "renameat2") and not ok), following
