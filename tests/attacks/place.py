"""Where a case takes place: a workspace with something outside of it, and clada in it as a certain user."""

from __future__ import annotations

import compileall
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.plain_git import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src" / "clada"
NOBODY = 65534
LONG = 600.0  # seconds after which a run counts as hanging
SYSTEM_PYTHON = "/usr/bin/python3"
PROBE = "import sys; sys.exit(sys.version_info < (3, 11))"
# Variables that a case must not inherit.
HIDDEN = ("GIT_", "XDG_", "PYTHON", "NO_COLOR", "COLUMNS")

Picture = dict[str, tuple[str, int, object]]


class User(NamedTuple):
    """Who runs clada."""

    name: str
    uid: int | None  # None: the user who runs the tests


def users() -> list[User]:
    """Return root and an ordinary user; where the tests do not run as root, only the latter."""
    if os.geteuid() != 0:
        return [User("ordinary user", None)]
    return [User("root", None), User("ordinary user", NOBODY)]


def ordinary() -> User:
    """Return the user for whom permissions count."""
    return users()[-1]


class Result(NamedTuple):
    """What clada said: exit code, both outputs, and the JSON report at the end of standard output."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Return the JSON summary; empty if there is none."""
        at = self.out.find('{\n  "schema"')
        try:
            return dict(json.loads(self.out[at:])) if at >= 0 else {}
        except ValueError:
            return {}

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """Return the tasks of the report, through all blocks."""
        return [task for block in self.report.get("blocks", ()) for task in block["tasks"]]


class Place:
    """A temporary directory with a workspace, and beside it what nothing may reach."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.top = Path(tempfile.mkdtemp(prefix="clada-attack-"))
        self.top.chmod(0o755)
        self.inside, self.outside, self.home = (self.top / name for name in ("workspace", "outside", "home"))
        for folder in (self.inside, self.outside, self.home):
            folder.mkdir()
        self.put("../outside/secret", "secret\n")
        self.put("../workspace-sibling/secret", "secret\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder, _folders, _files in os.walk(self.top):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.top, ignore_errors=True)

    def put(self, path: str, content: str | bytes = "old\n", mode: int | None = None) -> Path:
        """Put a file below the workspace, with its folders."""
        file = self.inside / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            file.chmod(mode)
        return file

    def give(self) -> None:
        """Make everything the user's own."""
        if self.user.uid is None:
            return
        for folder, folders, files in os.walk(self.top):
            for name in (".", *folders, *files):
                os.lchown(os.path.join(folder, name), self.user.uid, self.user.uid)

    def git(self, *words: str, check: bool = True) -> str:
        """Run plain git in the workspace, as the user."""
        done = self.run(["git", *IDENTITY, *words])
        if check and done.code:
            raise RuntimeError(f"git {' '.join(words)}: {done.err}")
        return done.out

    def repository(self) -> None:
        """Make the workspace a repository with all that is in it committed."""
        self.give()
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "first")

    def clada(
        self,
        document: str | bytes,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> Result:
        """Run the real command line on a document."""
        data = document.encode() if isinstance(document, str) else document
        argv = [*command(self.user), *arguments]
        return self.run(argv, document=data, environment=environment, wrapper=wrapper)

    def run(
        self,
        argv: Sequence[str],
        *,
        document: bytes = b"",
        environment: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> Result:
        """Run a program in the workspace, as the user, without a terminal."""
        done = subprocess.run(
            [*wrapper, *argv],
            input=document,
            cwd=self.inside,
            env={**self.environment(), **(environment or {})},
            capture_output=True,
            check=False,
            timeout=LONG,
            start_new_session=True,
            **self.identity(),
        )
        return Result(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )

    def identity(self) -> dict[str, Any]:
        """Return what makes a child process the user's."""
        return _identity(self.user)

    def environment(self) -> dict[str, str]:
        """Return an environment with a home of its own; what is put into .clada counts there."""
        return _environment(str(self.home))

    def picture(self) -> Picture:
        """Return everything there is, inside and outside: kind, mode, and content or target."""
        return dict(_pictured(self.top))


def _identity(user: User) -> dict[str, Any]:
    return {} if user.uid is None else {"user": user.uid, "group": user.uid, "extra_groups": []}


def _environment(home: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
    own = {"HOME": home, "PYTHONPATH": library(), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **own, "CLADA_TRUST_WORKSPACE": "1"}


def _pictured(top: Path) -> Iterator[tuple[str, tuple[str, int, object]]]:
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            yield (
                os.path.relpath(path, top),
                (stat.filemode(mode)[0], stat.S_IMODE(mode), _content(path, mode)),
            )


def _content(path: str, mode: int) -> object:
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if stat.S_ISREG(mode) and os.access(path, os.R_OK):
        return Path(path).read_bytes()
    return None


OWN_STATE = ("home/.local/",)


def changed(before: Picture, after: Picture, under: str = "") -> list[str]:
    """Return the paths that differ, of those that start so; what clada keeps of a refusal is not counted."""
    names = sorted(name for name in before.keys() | after.keys() if not f"{name}/".startswith(OWN_STATE))
    return [name for name in names if name.startswith(under) and before.get(name) != after.get(name)]


def document(*operations: dict[str, Any]) -> str:
    """Return a document in which each operation is a block by itself, so that none stops another."""
    return json.dumps([{"tasks": [operation]} for operation in operations])


@cache
def library() -> str:
    """Return a folder with clada, compiled, which every user can read."""
    folder = Path(tempfile.mkdtemp(prefix="clada-attack-library-"))
    folder.chmod(0o755)
    half_written = shutil.ignore_patterns("*.pyc.*")  # by another process, and soon gone
    shutil.copytree(SOURCE, folder / SOURCE.name, ignore=half_written)
    compileall.compile_dir(folder, quiet=1)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(folder)


@cache
def command(user: User) -> tuple[str, ...]:
    """Return how this user starts clada: root's Python may be out of an ordinary user's reach."""
    return (interpreter(user), "-m", "clada")


@cache
def interpreter(user: User) -> str:
    """Return a Python that this user can start."""
    if user.uid is None:
        return sys.executable
    for python in (sys.executable, SYSTEM_PYTHON):
        try:
            done = subprocess.run(
                [python, "-c", PROBE], user=user.uid, group=user.uid, extra_groups=[], check=False, cwd="/",
                capture_output=True,
            )  # fmt: skip
        except OSError:
            continue
        if done.returncode == 0:
            return python
    raise RuntimeError("an ordinary user has no Python of version 3.11 or newer here")
