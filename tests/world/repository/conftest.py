"""Real repositories in temporary folders, used through plain git, as a user would."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.plain_git import CONFIG, FSCK

import clada
from clada.settings import Settings
from clada.world.git.repository import Repository, find
from clada.world.record.recorder import Recorder, RunToRecord, make_recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Repo:
    """A repository and a workspace in it, with git and files at hand."""

    def __init__(self, root: Path, workspace: str = "") -> None:
        self.root = root
        self.workspace = root / workspace

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run plain git in the root and return what it printed."""
        done = subprocess.run(
            ["git", "-C", str(self.root), *arguments],
            capture_output=True,
            check=False,
            env=plain_environment(),
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return os.fsdecode(done.stdout).rstrip("\n")

    def write(self, path: str, content: str | bytes = "content\n") -> Path:
        """Write a file below the root, with its folders."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def commit(self, **files: str) -> str:
        """Commit these files (and all else) with plain git."""
        for path, content in files.items():
            self.write(path, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "by hand")
        return self.head()

    def head(self) -> str:
        """Return the commit that HEAD is, or nothing; git is asked where its files do not say it plainly."""
        top = self.root / ".git"
        try:
            return (top / (top / "HEAD").read_text().strip().removeprefix("ref: ")).read_text().strip()
        except OSError:
            return self.git("rev-parse", "-q", "--verify", "HEAD", check=False)

    def subjects(self) -> list[str]:
        """Return what the commits are about, newest first, without their time stamps."""
        return [line.split("] ")[0].strip("[") for line in self.git("log", "--format=%s").splitlines()]

    def names(self, commit: str = "HEAD") -> list[str]:
        """Return the files that a commit changed."""
        shown = self.git("show", "-z", "--format=", "--name-only", "--no-renames", commit)
        return sorted(name for name in shown.split("\0") if name)

    def files(self, commit: str = "HEAD") -> list[str]:
        """Return all files of a commit."""
        return [name for name in self.git("ls-tree", "-rz", "--name-only", commit).split("\0") if name]

    def status(self) -> list[str]:
        """Return what differs from the last commit, as git sees it."""
        return self.git("status", "--porcelain", "-uall").splitlines()

    def found(self) -> Repository:
        """Return the repository as clada finds it."""
        return find(str(self.workspace))

    @contextmanager
    def recorded(
        self,
        what: str = "",
        *,
        own_git: bool = False,
        waiting: Callable[[], None] | None = None,
        **options: Any,
    ) -> Iterator[Recorder]:
        """Record what is done here as the work of a command; `own_git`: one of git's, which may commit."""
        settings = Settings.from_options(workspace=str(self.workspace), **options)
        run = RunToRecord(what, planned=(), wide=True)
        record = make_recorder(run, settings, waiting, None)
        with record:
            record.commands = True
            record.scan.before()
            try:
                yield record
            finally:
                record.scan.after(own_git=own_git)
        record.close()

    def execute(self, document: str, **options: Any) -> clada.Report:
        """Carry out a document in the workspace."""
        return clada.execute(document, workspace=str(self.workspace), **options)

    def fsck(self) -> str:
        """Return git's complaints about the repository: none, in a sound one."""
        return self.git(*FSCK)


def plain_environment() -> dict[str, str]:
    """Return the environment without what a test set for clada alone."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_TRACE")}


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a home with a known identity, and nothing else."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").write_text(CONFIG)
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a repository without commits; the workspace is its root."""
    root = tmp_path / "repo"
    root.mkdir()
    made = Repo(root)
    made.git("init", "-q", "--template=")  # without a dozen examples of hooks
    return made


@pytest.fixture
def inner(tmp_path: Path) -> Repo:
    """Make a repository whose workspace is a folder in it, with a commit of one file in each."""
    root = tmp_path / "outer"
    root.mkdir()
    made = Repo(root, "work/space")
    made.git("init", "-q")
    made.write("outside.txt", "outside\n")
    made.write("work/space/inside.txt", "inside\n")
    made.commit()
    return made
