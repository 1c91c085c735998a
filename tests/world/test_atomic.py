"""Whole or not at all: on full disks, without permission, where files have no namelessness, after a kill."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from clada.model import Done, Failed
from clada.world import libc
from clada.world.files import atomic
from clada.world.files.scratch import LEFTOVER
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.conftest import Attempt, Place

    OrdinaryUser = Callable[[], AbstractContextManager[None]]

BIG = "x" * 200_000
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
WAYS = pytest.mark.parametrize("nameless", [True, False], indirect=True)


@pytest.fixture
def nameless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Write by files without a name, as on most file systems; or by files with one, as on the others."""
    if not request.param:
        monkeypatch.setattr(atomic, "NAMELESS", 0)
    elif not atomic.NAMELESS:
        pytest.skip("this system has no files without a name")
    return bool(request.param)


@pytest.fixture
def workspace(place: Place) -> Iterator[Workspace]:
    """Return access to the workspace on disk."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace


@pytest.fixture
def small_disk(place: Place) -> Iterator[Place]:
    """Mount a file system of 64 KB and some 12 files as the workspace."""
    options = "size=64k,nr_inodes=12,mode=755"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place.inside)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no small file system can be mounted here: " + mounted.stderr.decode().strip())
    yield place
    subprocess.run(["umount", "--lazy", str(place.inside)], check=True)


# The ways of putting content in place.


@WAYS
def test_content_is_put_in_place(place: Place, workspace: Workspace, nameless: bool) -> None:
    """Of a new file and of one that is there, whose mode stays; and nothing else is there then."""
    assert isinstance(nameless, bool)
    place.write("old", "old").chmod(0o640)
    workspace.store(("old",), b"new")
    workspace.store(("new",), b"new")
    workspace.store(("run",), b"new", 0o700)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.inside.iterdir()}
    before = os.umask(0)
    os.umask(before)
    assert modes == {"old": 0o640, "new": 0o666 & ~before, "run": 0o700}
    assert {path.read_bytes() for path in place.inside.iterdir()} == {b"new"}


@pytest.mark.skipif(not atomic.NAMELESS, reason="this system has no files without a name")
def test_what_only_its_owner_may_read_is_never_open_to_others(
    place: Place, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scratch file with a name is private from its first moment, if the file that it replaces is."""
    monkeypatch.setattr(atomic, "NAMELESS", 0)
    place.write("secret", "old").chmod(0o600)
    seen = []
    write = os.write

    def watched(fd: int, data: Any) -> int:
        seen.append(stat.S_IMODE(os.fstat(fd).st_mode))
        return write(fd, data)

    monkeypatch.setattr(os, "write", watched)
    workspace.store(("secret",), b"new")
    assert seen == [0o600]


@WAYS
def test_a_file_that_appears_meanwhile_is_replaced(
    place: Place, workspace: Workspace, nameless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else makes the file while we write ours: ours is the last, and neither is mixed."""
    assert isinstance(nameless, bool)
    write = os.write

    def meanwhile(fd: int, data: Any) -> int:
        place.write("file", "somebody else's, and longer")
        return write(fd, data)

    monkeypatch.setattr(os, "write", meanwhile)
    workspace.store(("file",), b"ours")
    assert {path.name: path.read_bytes() for path in place.inside.iterdir()} == {"file": b"ours"}


# A full disk.


@WAYS
@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("write", {"path": "file", "content": BIG}),
        ("write", {"path": "file", "content": BIG, "append": True}),
        ("write", {"path": "new", "content": BIG}),
        ("write", {"path": "new/deep/file", "content": BIG}),
        ("edit", {"path": "file", "search": "old", "replace": BIG}),
    ],
)
def test_a_full_disk_leaves_everything_as_it_was(
    small_disk: Place, nameless: bool, attempt: Attempt, operation: str, fields: dict[str, Any]
) -> None:
    """The error says so; the original is whole, and no scratch file or new directory is left."""
    assert isinstance(nameless, bool)
    small_disk.write("file", "old\n")
    before = small_disk.picture()
    with Workspace(str(small_disk.inside)) as files:
        outcome = attempt(files, operation, **fields)
        assert isinstance(outcome, Failed)
        assert outcome.error.type == "io_error"
        assert "no space left" in outcome.error.message
        assert small_disk.picture() == before
        assert isinstance(attempt(files, "write", path="fits", content="x"), Done)


@WAYS
def test_a_disk_without_room_for_another_file_leaves_everything_as_it_was(
    small_disk: Place, nameless: bool, attempt: Attempt
) -> None:
    """Not the content is too much, but the number of files: the last directory of several, or the file."""
    assert isinstance(nameless, bool)
    small_disk.write("file", "old\n")
    before = small_disk.picture()
    with Workspace(str(small_disk.inside)) as files:
        ended = set()
        for depth in range(1, 20):
            path = "/".join(["new"] * depth) + "/file"
            outcome = attempt(files, "write", path=path, content="x")
            ended.add(type(outcome))
            if isinstance(outcome, Failed):
                assert outcome.error.type == "io_error"
            else:
                attempt(files, "remove", path="new")
            assert small_disk.picture() == before
    assert ended == {Done, Failed}


# No permission.


def _denied(place: Place) -> None:
    place.write("closed/file", "old\n")
    place.write("closed/deep/file", "old\n")
    place.write("open/file", "old\n")
    place.write("unreadable", "old\n").chmod(0o000)
    (place.inside / "open").chmod(0o777)
    (place.inside / "closed/deep").chmod(0o555)
    (place.inside / "closed").chmod(0o555)
    place.inside.chmod(0o555)


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("write", {"path": "closed/file", "content": "new"}),
        ("write", {"path": "closed/file", "content": "new", "append": True}),
        ("write", {"path": "closed/new", "content": "new"}),
        ("write", {"path": "closed/new/deep/file", "content": "new"}),
        ("edit", {"path": "closed/file", "search": "old", "replace": "new"}),
        ("edit", {"path": "unreadable", "search": "old", "replace": "new"}),
        ("write", {"path": "unreadable", "content": "new\n"}),
        ("move", {"source": "closed/file", "to": "open/new"}),
        ("move", {"source": "open/file", "to": "closed/new"}),
        ("move", {"source": "open/file", "to": "closed/new/deep"}),
        ("move", {"source": "closed/deep", "to": "open/new/deep"}),
        ("remove", {"path": "closed/file"}),
        ("remove", {"path": "closed/deep"}),
        ("remove", {"path": "closed"}),
    ],
)
def test_without_permission_everything_stays_as_it_was(
    place: Place, attempt: Attempt, ordinary_user: OrdinaryUser, operation: str, fields: dict[str, Any]
) -> None:
    """It is permission_denied, whether reading or writing is not allowed."""
    _denied(place)
    before = place.picture()
    with Workspace(str(place.inside)) as files, ordinary_user():
        assert attempt.refusal(files, operation, **fields) == "permission_denied"
    assert place.picture() == before


@pytest.mark.parametrize("more", [0, 1])
def test_too_many_open_files_leave_everything_as_it_was(place: Place, attempt: Attempt, more: int) -> None:
    """It is an error of its own, wherever the last free handle is used up."""
    place.write("folder/file", "old")
    before = place.picture()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Workspace(str(place.inside)) as files:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + more, hard))
        try:
            refused = [
                attempt.refusal(files, "write", path="folder/new/file", content="new"),
                attempt.refusal(files, "edit", path="folder/file", search="old", replace="new"),
                attempt.refusal(files, "move", source="folder/file", to="new/file"),
            ]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert refused == ["io_error"] * 3
    assert place.picture() == before


# What a kill leaves behind.


def _dead() -> int:
    """Return the number of a process that is no more."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory in which files have their names before they take the place of others."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "clada" / "scratch"


def killed_at_rename(workspace: Workspace) -> None:
    """Replace a file in a process that ends right before the last step, without any clearing up."""
    child = os.fork()
    if child == 0:
        libc.renameat2 = lambda *_, **__: os._exit(0)
        workspace.store(("old",), b"new")
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_later_run_clears_what_a_killed_one_left(place: Place, scratch: Path) -> None:
    """Which is nothing in the workspace; what is in use stays."""
    place.write("old", "old")
    with Workspace(str(place.inside)) as workspace:
        killed_at_rename(workspace)
        assert [path.name for path in place.inside.iterdir()] == ["old"]
        assert len(list(scratch.iterdir())) == 2  # with a note
        live = scratch / f"{LEFTOVER}1-0123456789abcdef"  # the first process always lives, and is root's
        live.touch()
        workspace.store(("old",), b"newer")
    assert list(scratch.iterdir()) == [live]
    assert (place.inside / "old").read_text() == "newer"


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_on_another_file_system_names_are_noted_before_they_are_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run removes them."""
    with TemporaryDirectory(dir="/dev/shm") as elsewhere:
        if os.stat(elsewhere).st_dev == place.inside.stat().st_dev:
            pytest.skip("it is the same file system")
        monkeypatch.setenv("XDG_STATE_HOME", elsewhere)
        place.write("old", "old")
        with Workspace(str(place.inside)) as workspace:
            killed_at_rename(workspace)
        (left,) = (path for path in place.inside.iterdir() if path.name != "old")
        assert left.read_text() == "new"
        (note,) = (Path(elsewhere) / "clada/scratch").iterdir()
        assert os.readlink(note).endswith(f" beside {place.inside}/old")
        with Workspace(str(place.inside)) as workspace:
            workspace.store(("old",), b"newer")
        assert [path.name for path in place.inside.iterdir()] == ["old"]
        assert list((Path(elsewhere) / "clada/scratch").iterdir()) == []


@WAYS
def test_a_users_own_file_of_such_a_name_stays(
    place: Place, workspace: Workspace, scratch: Path, nameless: bool
) -> None:
    """Nothing in the workspace is removed because of its name."""
    assert isinstance(nameless, bool)
    name = f"{LEFTOVER}{_dead()}-0123456789abcdef"
    for folder in ("", "folder/"):
        place.write(f"{folder}{name}", "theirs")
        place.write(f"{folder}file", "old")
    workspace.store(("file",), b"new")
    workspace.store(("folder", "file"), b"new")
    assert (place.inside / name).read_text() == (place.inside / "folder" / name).read_text() == "theirs"
    assert len(list(place.inside.iterdir())) == 3
    assert list(scratch.iterdir()) == []


# A process that has changed users.


def test_who_has_changed_users_can_write_and_change_modes(
    place: Place, workspace: Workspace, ordinary_user: OrdinaryUser
) -> None:
    """Such a process may not look into its own /proc, by which nameless files get their names."""
    place.inside.chmod(0o777)
    with ordinary_user():
        workspace.store(("new",), b"new")
        workspace.store(("new",), b"newer")
        workspace.set_mode(("new",), 0o600)
        workspace.set_times(("new",), 1, 2)
    status = (place.inside / "new").stat()
    assert (place.inside / "new").read_bytes() == b"newer"
    assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns) == (0o600, 2)
    assert [path.name for path in place.inside.iterdir()] == ["new"]


@as_root
def test_the_group_is_kept_where_new_files_get_another(place: Place, workspace: Workspace) -> None:
    """In a directory that hands on its group."""
    file = place.write("file", "old")
    os.chown(place.inside, 0, 54321)
    place.inside.chmod(0o2755)
    os.chown(file, 0, 0)
    workspace.store(("file",), b"new")
    assert file.stat().st_gid == 0


@as_root
def test_nobody_makes_a_program_run_as_himself_by_editing_it(
    place: Place, workspace: Workspace, ordinary_user: OrdinaryUser
) -> None:
    """Where the owner cannot be kept, the bits that mean him are not either."""
    place.inside.chmod(0o777)
    place.write("program", "old").chmod(0o6755)
    with ordinary_user():
        workspace.store(("program",), b"new")
    status = (place.inside / "program").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (65534, 0o755)
