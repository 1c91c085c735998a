"""Access control lists and extended attributes: kept when a file is replaced, or it is not replaced."""

from __future__ import annotations

import errno
import os
import stat
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError
from clada.model import Failed
from clada.text.match import Text
from clada.world.files import atomic
from clada.world.files.atomic import ACL
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.conftest import Attempt, Place

    OrdinaryUser = Callable[[], AbstractContextManager[None]]

if sys.platform != "linux":
    pytest.skip("extended attributes are Linux's", allow_module_level=True)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
DEFAULT = "system.posix_acl_default"
STILL = 0.05  # seconds after which the times of a file tell that it has changed
NOBODY = 0xFFFFFFFF  # the entry names nobody, for its kind says who is meant
KINDS = {"user": 0x01, "named user": 0x02, "group": 0x04, "named group": 0x08, "mask": 0x10, "other": 0x20}


def access_list(*entries: tuple[str, int, int]) -> bytes:
    """Return an access control list as the system stores it: kind, rights, and whom it names."""
    rows = sorted((KINDS[kind], rights, who) for kind, rights, who in entries)
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


# The owner's group is shut out, one other user is let in: the mode reads 0660.
SHUT_OUT = access_list(
    ("user", 6, NOBODY),
    ("named user", 6, 12345),
    ("group", 0, NOBODY),
    ("mask", 6, NOBODY),
    ("other", 0, NOBODY),
)
# What a directory hands down: one user may read all that is made in it.
HANDED_DOWN = access_list(
    ("user", 7, NOBODY),
    ("named user", 5, 12345),
    ("group", 5, NOBODY),
    ("mask", 5, NOBODY),
    ("other", 0, NOBODY),
)


@pytest.fixture(params=["nameless", "named"])
def workspace(
    request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Workspace]:
    """Return access to a workspace on a file system that has lists, by both ways of putting files there."""
    try:
        os.setxattr(place.write("probe"), ACL, SHUT_OUT)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error.strerror}")
    (place.inside / "probe").unlink()
    if request.param == "named":
        monkeypatch.setattr(atomic, "NAMELESS", 0)
    with Workspace(str(place.inside)) as workspace:
        yield workspace


def _attributes(file: Path) -> dict[str, bytes]:
    return {name: os.getxattr(file, name) for name in os.listxattr(file)}


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("write", {"path": "file", "content": "new"}),
        ("write", {"path": "file", "content": "new", "append": True}),
        ("edit", {"path": "file", "search": "old", "replace": "new"}),
    ],
)
def test_who_was_shut_out_stays_shut_out(
    place: Place, workspace: Workspace, attempt: Attempt, operation: str, fields: dict[str, object]
) -> None:
    """The list is kept: without it, the group would have what its mask says."""
    file = place.write("file", "old")
    os.setxattr(file, ACL, SHUT_OUT)
    before = stat.S_IMODE(file.stat().st_mode)
    assert before == 0o660
    attempt(workspace, operation, **fields)
    assert "new" in file.read_text()
    assert os.getxattr(file, ACL) == SHUT_OUT
    assert stat.S_IMODE(file.stat().st_mode) == before


def test_what_its_directory_hands_down_lets_nobody_into_an_old_file(
    place: Place, workspace: Workspace
) -> None:
    """A file that was there before the directory's list has none, and gets none when it is replaced."""
    old = place.write("folder/file", "old")
    old.chmod(0o640)
    os.setxattr(old.parent, DEFAULT, HANDED_DOWN)
    workspace.store(("folder", "file"), b"new")
    workspace.store(("folder", "new"), b"new")
    assert _attributes(old) == {}
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert ACL in _attributes(old.with_name("new"))


def test_nor_into_one_that_is_edited(place: Place, workspace: Workspace, attempt: Attempt) -> None:
    """That it had no list is known from when it was read."""
    old = place.write("folder/file", "old")
    old.chmod(0o640)
    os.setxattr(old.parent, DEFAULT, HANDED_DOWN)
    time.sleep(STILL)
    attempt(workspace, "edit", path="folder/file", search="old", replace="new")
    assert (old.read_text(), _attributes(old)) == ("new", {})
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_a_list_that_a_file_gets_while_it_is_edited_is_not_lost(place: Place, workspace: Workspace) -> None:
    """By then it is another file than the one that was read, though its mode is the same."""
    file = place.write("file", "old")
    file.chmod(0o660)
    time.sleep(STILL)
    workspace.text(("file",))
    workspace.hold(("file",), Text(b"new"))
    os.setxattr(file, ACL, SHUT_OUT)
    with pytest.raises(CladaError, match="changed while it was being edited"):
        workspace.flush()
    assert (file.read_text(), os.getxattr(file, ACL)) == ("old", SHUT_OUT)


def test_other_attributes_are_kept(place: Place, workspace: Workspace) -> None:
    """Those of users, and those of the system where we may set them."""
    file = place.write("file", "old")
    try:
        os.setxattr(file, "user.origin", b"https://example.org")
    except OSError as error:
        pytest.skip(f"no attributes of users here: {error.strerror}")
    os.setxattr(file, "user.empty", b"")
    os.setxattr(file, "user.large", b"x" * 1000)
    if os.geteuid() == 0:
        os.setxattr(file, "trusted.clada", b"yes")
    before = _attributes(file)
    workspace.store(("file",), b"new")
    assert (_attributes(file), file.read_text()) == (before, "new")


@as_root
def test_a_file_whose_list_cannot_be_kept_is_not_replaced(
    place: Place, workspace: Workspace, ordinary_user: OrdinaryUser
) -> None:
    """Its group would be another one, and get the rights that the list gives to this one."""
    place.inside.chmod(0o777)
    file = place.write("file", "old")
    os.setxattr(file, ACL, SHUT_OUT)
    with ordinary_user(), pytest.raises(CladaError) as raised:
        workspace.store(("file",), b"new")
    assert raised.value.error.type == "permission_denied"
    assert raised.value.error.message == "its access control list cannot be kept: its group is not ours"
    assert (file.read_text(), os.getxattr(file, ACL)) == ("old", SHUT_OUT)
    assert [path.name for path in place.inside.iterdir()] == ["file"]


def test_a_file_that_nobody_may_write_keeps_its_attributes(
    place: Place, workspace: Workspace, attempt: Attempt, ordinary_user: OrdinaryUser
) -> None:
    """The file that takes its place may be written until it has them."""
    place.inside.chmod(0o777)
    file = place.write("file", "old")
    try:
        os.setxattr(file, "user.origin", b"https://example.org")
    except OSError as error:
        pytest.skip(f"no attributes of users here: {error.strerror}")
    file.chmod(0o444)
    with ordinary_user():
        outcome = attempt(workspace, "edit", path="file", search="old", replace="new")
    assert not isinstance(outcome, Failed), outcome.error
    assert (file.read_text(), _attributes(file)) == ("new", {"user.origin": b"https://example.org"})
    assert stat.S_IMODE(file.stat().st_mode) == 0o444


def test_attributes_that_cannot_be_set_are_a_reason_not_to_replace(
    place: Place, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is said."""
    file = place.write("file", "old")
    os.setxattr(file, ACL, SHUT_OUT)

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "setxattr", full)
    with pytest.raises(CladaError) as raised:
        workspace.store(("file",), b"new")
    said = "its access control list cannot be kept: no space left on device"
    assert raised.value.error.message == said
    assert file.read_text() == "old"


@as_root
@pytest.mark.parametrize(("before", "after"), [(0o660, 0o600), (0o664, 0o644), (0o2775, 0o755)])
def test_another_group_gets_no_more_than_everybody(
    place: Place, workspace: Workspace, ordinary_user: OrdinaryUser, before: int, after: int
) -> None:
    """Where neither the owner nor the group can be kept."""
    place.inside.chmod(0o777)
    file = place.write("file", "old")
    file.chmod(before)
    with ordinary_user():
        workspace.store(("file",), b"new")
    assert stat.S_IMODE(file.stat().st_mode) == after


@as_root
def test_a_file_system_without_attributes_will_do(place: Place) -> None:
    """There is nothing to keep then."""
    mounted = subprocess.run(
        ["mount", "-t", "ramfs", "ramfs", str(place.inside)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no such file system can be mounted here: " + mounted.stderr.decode().strip())
    try:
        file = place.write("file", "old")
        with pytest.raises(OSError, match="not supported"):
            os.setxattr(file, "user.x", b"x")
        with Workspace(str(place.inside)) as workspace:
            workspace.store(("file",), b"new")
        assert file.read_text() == "new"
    finally:
        subprocess.run(["umount", "--lazy", str(place.inside)], check=True)
