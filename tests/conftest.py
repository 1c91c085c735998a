"""What many tests stand on: a workspace with something outside of it, and pictures of both to compare."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import termios
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests import command_line

from clada.errors import CladaError
from clada.model import Failed, Outcome
from clada.operations import edit, find, move, remove, write
from clada.settings import Settings
from clada.world.files.overlay import Overlay
from clada.world.files.workspace import Workspace
from clada.world.world import World

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from clada.model import Operation
    from clada.world.files.tree import Files

LOADED = (edit, move, remove, write)  # early, for an ordinary user may not be able to read root's Python
# What an operation has where a document does not say otherwise.
DEFAULTS: dict[str, dict[str, Any]] = {"write": {"append": False}, "edit": {"count": 1}}

NOBODY = 65534

# Who is started in the background by a script, or by nohup, is deaf to signals, and so is all that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Without a terminal, clada has no user to ask: a run in this process must not find the developer's.
if os.getsid(0) != os.getpid():
    with suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        fcntl.ioctl(terminal, termios.TIOCNOTTY)

# A shim of a version manager takes a tenth of a second to start a program: it is the last to be asked.
places = os.environ["PATH"].split(os.pathsep)
os.environ["PATH"] = os.pathsep.join(sorted(places, key=lambda place: os.path.basename(place) == "shims"))

# How long an example takes says nothing about it: the machine may have other work.
settings.register_profile(
    "patient", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")

Picture = dict[str, tuple[str, int, object]]


def picture(top: Path) -> Picture:
    """Return all that is below a directory: kind, mode, and content or the target of a link."""
    shown: Picture = {}
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            kind = stat.filemode(mode)[0]
            shown[os.path.relpath(path, top)] = (kind, stat.S_IMODE(mode), _content(path, mode))
    return shown


def _content(path: str, mode: int) -> object:
    if stat.S_ISLNK(mode):
        return os.readlink(path)
    if stat.S_ISREG(mode) and os.access(path, os.R_OK):
        with open(path, "rb") as file:
            return file.read()
    return None


class Place:
    """A temporary directory with a workspace and, beside it, what no operation may reach."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.inside, self.outside = top / "workspace", top / "outside"
        self.inside.mkdir()
        self.outside.mkdir()

    def picture(self) -> Picture:
        """Return everything there is, inside and outside."""
        return picture(self.top)

    def write(self, path: str, content: str | bytes = "old\n") -> Path:
        """Put a file below the workspace (or beside it, by `../`), with its folders."""
        file = self.inside / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def clada(
        self, document: str | bytes, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the real command line on a document, in the workspace."""
        return command_line.run(
            "--no-git",
            *arguments,
            document=document.encode() if isinstance(document, str) else document,
            directory=self.inside,
            environment={**os.environ, **(env or {})},
        )


@pytest.hookimpl(tryfirst=True)  # before the slow tests are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all but a sample of the cases of a test that has the mark `sample(count)`."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tables.values():
        mark = cases[0].get_closest_marker("sample")
        count = mark.args[0] if mark else 0
        chosen = {number * len(cases) // count for number in range(count)}  # spread over the table
        for number, case in enumerate(cases):
            if number not in chosen:
                case.add_marker("slow")


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["sample", "all"])
def is_whole(request: pytest.FixtureRequest) -> bool:
    """Return whether to try a whole table, which is slow, or a sample of it."""
    return bool(request.param)


@pytest.fixture(scope="session", autouse=True)
def trusted_workspaces() -> Iterator[None]:
    """Let what a test puts into `.clada` count; when it does is said in the two test_trust.py."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CLADA_TRUST_WORKSPACE", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the records of tests out of the user's: a later session may have workspaces at the same paths."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a new workspace, with something outside of it."""
    return Place(tmp_path)


@pytest.fixture(params=["disk", "overlay"])
def files(request: pytest.FixtureRequest, place: Place) -> Iterator[Files]:
    """Return both kinds of access to the workspace: what holds for one must hold for the other."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace if request.param == "disk" else Overlay(workspace)


@contextmanager
def _being_nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@pytest.fixture
def ordinary_user() -> Callable[[], AbstractContextManager[None]]:
    """Return what makes us an ordinary user for a while, if we are root: permissions count then."""
    return _being_nobody


def made(name: str, fields: Mapping[str, Any]) -> Operation:
    """Return the operation of this name with these fields."""
    kind = find(name)
    assert kind
    return kind.from_fields(1, (0, 0), {}, fields)


class Attempt:
    """Applies single operations: a fixture, for test modules do not import each other."""

    def __call__(self, files: Files, name: str, **fields: Any) -> Outcome:
        """Apply an operation as the engine does, and see to it that what it changed is on disk."""
        if "source" in fields:
            fields["from"] = fields.pop("source")
        world = World(files, Settings(), lambda _event: None)
        try:
            outcome = made(name, {**DEFAULTS.get(name, {}), **fields}).apply(world)
            files.flush()
        except CladaError as trouble:
            return Failed(trouble.error)
        return outcome

    def refusal(self, files: Files, name: str, **fields: Any) -> str:
        """Apply an operation that must fail, and return the type of its error."""
        outcome = self(files, name, **fields)
        assert isinstance(outcome, Failed), outcome
        return outcome.error.type


@pytest.fixture
def attempt() -> Attempt:
    """Return what applies single operations."""
    return Attempt()
