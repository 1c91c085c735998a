"""Workspaces with recorded runs, in a repository and outside of any, and pictures of them to compare."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tests.world.repository.states import clean, files, git
from tools.plain_git import CONFIG

import clada
from clada.world.processes import supervise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from clada.report import Report
    from clada.world.record.undo import Undone

    Picture = dict[str, tuple[object, ...]]

NOBODY = 65534
COMMAND = [sys.executable, "-m", "clada", "--record=snapshots", "--sandbox=off"]


class Recorded:
    """A workspace whose runs are recorded by snapshots alone."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace

    def write(self, path: str, content: str | bytes = "old\n", mode: int | None = None) -> Path:
        """Write a file as a user would, with its directories."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            file.chmod(mode)
        return file

    def run(self, *tasks: dict[str, Any], **options: Any) -> Report:
        """Carry out operations, all of which succeed."""
        report = self.attempt(*tasks, **options)
        assert report.error is None, report.error
        assert report.fatal is None, report.fatal
        assert [task.error for task in report.tasks if task.error] == []
        return report

    def attempt(self, *tasks: dict[str, Any], **options: Any) -> Report:
        """Carry out operations that may fail."""
        given: dict[str, Any] = {
            "record": "snapshots",
            "sandbox": "off",
            "workspace": str(self.workspace),
            "approve_all": True,
            "shell": "approved",
        }
        return clada.execute(json.dumps({"tasks": tasks}), **{**given, **options})

    def undo(self, run: int | None = None, **options: Any) -> Undone:
        """Undo the last run, or this one."""
        return clada.undo(str(self.workspace), run, **options)

    def history(self) -> list[str]:
        """Return how the runs ended, the newest first."""
        return [run.ended for run in clada.history(str(self.workspace))]

    def tree(self) -> Picture:
        """Return all that is in the workspace but git's and clada's: kind, mode, attributes and content."""
        shown: Picture = {}
        waiting = [""]
        while waiting:  # os.walk takes the square of the depth, and trees are deep here
            folder = waiting.pop()
            for entry in entries_of(f"{self.workspace}/{folder}"):
                if entry.name in {".git", ".clada"} and entry.is_dir():
                    continue
                shown[folder + entry.name] = look_at(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{folder}{entry.name}/")
        return shown

    def start(self, *tasks: dict[str, Any], arguments: Iterable[str] = ()) -> subprocess.Popen[bytes]:
        """Begin a run in a process of its own."""
        document = json.dumps({"tasks": tasks})
        process = subprocess.Popen(
            [*COMMAND, "--approve-all", "--shell=approved", *arguments, "-"],
            cwd=self.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdin
        process.stdin.write(document.encode())
        process.stdin.close()
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill a run; return whether it was still at work."""
        process.kill()
        assert process.stdout
        process.stdout.close()
        return process.wait() == -signal.SIGKILL

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in the workspace."""
        done = command_line.run(*arguments, directory=self.workspace)
        return command_line.decoded(done)

    @property
    def store(self) -> Path:
        """The directory of the record."""
        from clada.world.record.store import find_store

        return Path(find_store(str(self.workspace)).path)


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a directory: nothing, if we may not see it."""
    try:
        return list(os.scandir(folder))
    except OSError:
        return []


def look_at(path: str) -> tuple[object, ...]:
    """Return what a file, a link or a directory is."""
    mode = os.lstat(path).st_mode
    kind = stat.filemode(mode)[0]
    if stat.S_ISLNK(mode):
        return kind, os.readlink(path)
    attributes = (
        {name: os.getxattr(path, name) for name in os.listxattr(path)} if sys.platform == "linux" else {}
    )
    if not stat.S_ISREG(mode):
        return kind, stat.S_IMODE(mode), attributes
    if not os.access(path, os.R_OK):  # it is closed even to us, who are not root
        return kind, stat.S_IMODE(mode), attributes, None
    with open(path, "rb") as file:
        return kind, stat.S_IMODE(mode), attributes, file.read()


def write(path: str, content: str) -> dict[str, Any]:
    """Return a task that writes a file."""
    return {"action": "write", "path": path, "content": content}


def command(text: str) -> dict[str, Any]:
    """Return a task that runs a command."""
    return {"action": "run", "command": text}


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home with a known identity, and nothing else."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o755)
    (home / ".gitconfig").write_text(CONFIG)
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_", "CLADA_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture(params=["repository", "no-repository"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    """Make a workspace with a few files: all committed, or in no repository."""
    top = tmp_path / "workspace"
    top.mkdir()
    (clean if request.param == "repository" else files)(top)
    return Recorded(top)


@pytest.fixture
def repo(tmp_path: Path) -> Recorded:
    """Make a workspace that is a repository, with a few files, all committed."""
    return Recorded(clean(tmp_path / "workspace"))


@pytest.fixture
def plain(tmp_path: Path) -> Recorded:
    """Make a workspace in no repository, with a few files."""
    return Recorded(files(tmp_path / "workspace"))


class Ordinary:
    """Does things as an ordinary user, to whom a directory belongs. Root's own Python is loaded before."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def do(
        self,
        action: Callable[[], None],
        *,
        user: int = NOBODY,
        group: int | None = None,
        given: bool = True,
    ) -> None:
        """Do it in a process of its own; what is there is given to the user first."""
        if os.geteuid() == 0 and given:
            for folder, names, plain in os.walk(self.top):
                for name in (".", *names, *plain):
                    os.chown(os.path.join(folder, name), user, user, follow_symlinks=False)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    _become(user, user if group is None else group)
                action()
                code = 0
            except BaseException:  # noqa: BLE001 (told by the exit code, and on stderr)
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0, "see stderr"


def _become(user: int, group: int) -> None:
    import ctypes

    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: its own /proc is its own again
    # Root's own Python cannot be started by others, so a supervisor is forked, however large the tests are.
    supervise._MOST_TO_FORK = 1 << 62


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Ordinary]:
    """Return what does things as an ordinary user, in a directory that one can reach."""
    load_everything(Recorded(files(tmp_path / "loading")))
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        (top / "home").mkdir()
        (top / "home/.gitconfig").write_text(CONFIG)
        monkeypatch.setenv("HOME", str(top / "home"))
        monkeypatch.setenv("XDG_STATE_HOME", str(top / "home/state"))
        yield Ordinary(top)


def load_everything(place: Recorded) -> None:
    """Use whatever a run and its undo use, so that it is in memory."""
    import ctypes

    del ctypes
    codecs.lookup("ascii")
    place.run(write("a.txt", "b"), command("chmod 600 a.txt"), command("rm -r dir; true"))
    with contextlib.suppress(clada.CladaError):
        place.undo(77)
    place.undo()
    place.history()
    git(place.workspace, "init", "-q")
    place.run(command("rm -r dir; true"), {"action": "remove", "path": "a.txt"})
    place.undo()
