"""What must hold for files of every kind: what changes is what was asked, whole or not at all."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from clada.errors import CladaError
from clada.model import Done, Failed
from clada.world.files import tree
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Attempt, Place

    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

OLD = "one\ntwo\n"
WRITE: dict[str, Any] = {"path": "file.txt", "content": "new\n"}
EDIT: dict[str, Any] = {"path": "file.txt", "search": "two", "replace": "2"}
CHANGES = {
    "write": ("write", WRITE, b"new\n"),
    "append": ("write", {**WRITE, "append": True}, b"one\ntwo\nnew\n"),
    "edit": ("edit", EDIT, b"one\n2\n"),
}
changing = pytest.mark.parametrize("change", CHANGES)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")


def _change(attempt: Attempt, files: Files, change: str) -> bytes:
    name, fields, expected = CHANGES[change]
    outcome = attempt(files, name, **fields)
    assert isinstance(outcome, Done), outcome
    return expected


@pytest.fixture
def workspace(place: Place) -> Iterator[Workspace]:
    """Return access to the workspace on disk."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace


# What a file keeps when it is changed.


@changing
def test_another_hard_link_keeps_the_old_content(
    place: Place, workspace: Workspace, attempt: Attempt, change: str
) -> None:
    """The file is replaced, not written into: a link to it from outside is left alone."""
    file = place.write("file.txt", OLD)
    other = place.outside / "other"
    os.link(file, other)
    assert _change(attempt, workspace, change) == file.read_bytes()
    assert other.read_text() == OLD


@changing
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o640, 0o777, 0o4755])
def test_the_mode_is_kept(
    place: Place, workspace: Workspace, attempt: Attempt, change: str, mode: int
) -> None:
    """All bits of it, whatever the umask."""
    file = place.write("file.txt", OLD)
    file.chmod(mode)
    assert _change(attempt, workspace, change) == file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == mode


@as_root
@changing
def test_the_owner_is_kept(place: Place, workspace: Workspace, attempt: Attempt, change: str) -> None:
    """Root edits another user's file, and it stays that user's."""
    file = place.write("file.txt", OLD)
    os.chown(file, 12345, 54321)
    file.chmod(0o4750)
    _change(attempt, workspace, change)
    status = file.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 54321, 0o4750)


def test_new_files_and_directories_follow_the_umask(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """0666 and 0777, less the umask."""
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        try:
            attempt(workspace, "write", path=f"{mask}/deep/file.txt", content="x")
        finally:
            os.umask(before)
        made = [
            place.inside / str(mask),
            place.inside / f"{mask}/deep",
            place.inside / f"{mask}/deep/file.txt",
        ]
        modes = [stat.S_IMODE(path.stat().st_mode) for path in made]
        assert modes == [0o777 & ~mask, 0o777 & ~mask, 0o666 & ~mask]


def test_a_moved_file_keeps_its_mode_and_replaces_a_file(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """The target's own mode goes with the target."""
    place.write("script", "#!/bin/sh\n").chmod(0o755)
    place.write("target", "old").chmod(0o600)
    assert isinstance(attempt(workspace, "move", source="script", to="target"), Done)
    assert stat.S_IMODE((place.inside / "target").stat().st_mode) == 0o755
    assert not (place.inside / "script").exists()


def test_a_file_moves_onto_another_hard_link_to_itself(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """The system would leave both names: what was asked is that one goes."""
    os.link(place.write("one", "content"), place.inside / "two")
    assert isinstance(attempt(workspace, "move", source="one", to="two"), Done)
    assert [path.name for path in place.inside.iterdir()] == ["two"]


# What is in the way.


def _make_special(kind: str, path: Path) -> None:
    if kind == "device" and os.geteuid() != 0:
        pytest.skip("only root can make a device")
    kinds = {"fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK, "device": stat.S_IFCHR}
    if kind == "directory":
        path.mkdir()
        (path / "below").touch()
    else:
        os.mknod(path, 0o666 | kinds[kind], os.makedev(1, 3))


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "directory"])
def test_only_regular_files_are_read_and_written(
    files: Files, place: Place, attempt: Attempt, kind: str
) -> None:
    """Nothing hangs on a FIFO, nothing is written to a device: permission_denied, and it is still there."""
    _make_special(kind, place.inside / "file.txt")
    place.write("other.txt")
    before = place.picture()
    for name, fields, _ in CHANGES.values():
        assert attempt.refusal(files, name, **fields) == "permission_denied", (name, fields)
    if kind != "directory":
        assert attempt.refusal(files, "move", source="other.txt", to="file.txt") == "permission_denied"
        assert attempt.refusal(files, "write", path="file.txt/x", content="") == "permission_denied"
    assert place.picture() == before
    assert files.changes() == []


def test_a_special_file_can_be_moved_and_removed(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """That does not touch what it stands for."""
    os.mkfifo(place.inside / "fifo")
    assert isinstance(attempt(workspace, "move", source="fifo", to="deep/fifo"), Done)
    assert isinstance(attempt(workspace, "remove", path="deep"), Done)
    assert list(place.inside.iterdir()) == []


@pytest.mark.parametrize(
    "case",
    [
        ("edit", {"path": "missing", "search": "a", "replace": "b"}, "file_not_found"),
        ("edit", {"path": "folder", "search": "a", "replace": "b"}, "permission_denied"),
        ("edit", {"path": "file/below", "search": "a", "replace": "b"}, "file_not_found"),
        ("edit", {"path": ".", "search": "a", "replace": "b"}, "permission_denied"),
        ("write", {"path": "folder", "content": ""}, "permission_denied"),
        ("write", {"path": "folder/", "content": ""}, "permission_denied"),
        ("write", {"path": "new/", "content": ""}, "permission_denied"),
        ("write", {"path": "new\\", "content": ""}, "permission_denied"),
        ("write", {"path": ".", "content": ""}, "permission_denied"),
        ("write", {"path": "file/below", "content": ""}, "permission_denied"),
        ("write", {"path": "file/below", "content": "", "append": True}, "permission_denied"),
        ("write", {"path": "folder", "content": "", "append": True}, "permission_denied"),
        ("move", {"source": "missing", "to": "x"}, "file_not_found"),
        ("move", {"source": "file/below", "to": "x"}, "file_not_found"),
        ("move", {"source": "file", "to": "file"}, "permission_denied"),
        ("move", {"source": "folder", "to": "folder"}, "permission_denied"),
        ("move", {"source": "folder", "to": "folder/into/itself"}, "permission_denied"),
        ("move", {"source": "folder", "to": "file"}, "permission_denied"),
        ("move", {"source": "file", "to": "other/below"}, "permission_denied"),
        ("move", {"source": "file", "to": "other/"}, "permission_denied"),
        ("move", {"source": "twin/folder", "to": "."}, "permission_denied"),
        ("move", {"source": ".", "to": "x"}, "permission_denied"),
        ("move", {"source": "folder/..", "to": "x"}, "permission_denied"),
        ("remove", {"path": "missing"}, "file_not_found"),
        ("remove", {"path": "file/below"}, "file_not_found"),
        ("remove", {"path": "."}, "permission_denied"),
        ("remove", {"path": "./"}, "permission_denied"),
        ("remove", {"path": "folder/.."}, "permission_denied"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    files: Files, place: Place, attempt: Attempt, case: tuple[str, dict[str, Any], str]
) -> None:
    """It has the error's type that the specification names."""
    operation, fields, type_ = case
    for path in ("file", "other", "folder/file", "twin/folder/file"):
        place.write(path)
    before = place.picture()
    assert attempt.refusal(files, operation, **fields) == type_
    assert place.picture() == before
    assert files.changes() == []


@pytest.mark.parametrize("operation", ["remove", "move"])
@pytest.mark.parametrize("name", [".git", ".clada", ".GIT"])
def test_a_directory_with_something_protected_in_it_stays(
    files: Files, place: Place, attempt: Attempt, operation: str, name: str
) -> None:
    """However deep it is."""
    place.write(f"outer/deep/{name}/config")
    place.write("outer/first")
    before = place.picture()
    fields = {"remove": {"path": "outer"}, "move": {"source": "outer", "to": "new"}}[operation]
    outcome = attempt(files, operation, **fields)
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "permission_denied"
    assert f"deep/{name}" in outcome.error.message
    assert place.picture() == before


# What a file can hold.

CONTENTS = {
    "a BOM": (b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\n"),
    "CRLF": (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\nthree\r\n"),
    "CR": (b"one\rtwo\rthree", b"one\r2\rthree"),
    "mixed endings": (b"a\nb\r\ntwo\rc\n\r", b"a\nb\r\n2\rc\n\r"),
    "no final newline": (b"two", b"2"),
    "NUL bytes": (b"\0two\0", b"\x002\0"),
    "other letters": ("zwölf two \U0001d531".encode(), "zwölf 2 \U0001d531".encode()),
    "other separators": ("\f\x1etwo\x85\u2028\n".encode(), "\f\x1e2\x85\u2028\n".encode()),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_every_byte_outside_the_match_stays(
    files: Files, place: Place, attempt: Attempt, content: str
) -> None:
    """Also those that are invisible."""
    old, new = CONTENTS[content]
    place.write("file.txt", old)
    assert isinstance(attempt(files, "edit", **EDIT), Done)
    assert files.load(("file.txt",)) == new


def test_a_replacement_takes_the_line_ending_in_use_at_its_place(
    files: Files, place: Place, attempt: Attempt
) -> None:
    """Search text with LF finds CRLF and CR, and each place keeps its own."""
    place.write("file.txt", b"a\nb\n1\r\na\r\nb\r\n2\ra\rb\r3")
    fields: dict[str, Any] = {"path": "file.txt", "search": "a\nb", "replace": "x\ny\nz", "count": 3}
    assert isinstance(attempt(files, "edit", **fields), Done)
    assert files.load(("file.txt",)) == b"x\ny\nz\n1\r\nx\r\ny\r\nz\r\n2\rx\ry\rz\r3"


@pytest.mark.parametrize("content", [b"\xff two", b"two \xc3", b"two \xed\xa0\x80", b"\xc0\x80two"])
def test_a_file_that_is_not_utf8_is_not_edited(
    files: Files, place: Place, attempt: Attempt, content: bytes
) -> None:
    """It would have to be guessed what it says."""
    place.write("file.txt", content)
    before = place.picture()
    assert attempt.refusal(files, "edit", **EDIT) == "invalid_utf8"
    assert place.picture() == before


@pytest.mark.parametrize(
    "case",
    [
        (b"", "x", b"x"),
        (b"a", "x", b"a\nx"),
        (b"a\n", "x", b"a\nx"),
        (b"a\r\n", "x", b"a\r\nx"),
        (b"a\r", "x", b"a\rx"),
        (b"a\n\n", "x\n", b"a\n\nx\n"),
        (b"a", "", b"a"),
        (b"a", "\ufeffx", b"a\nx"),
    ],
)
def test_appended_text_starts_on_a_new_line(
    files: Files, place: Place, attempt: Attempt, case: tuple[bytes, str, bytes]
) -> None:
    """A line break comes between, if there is none yet."""
    old, added, new = case
    place.write("file.txt", old)
    outcome = attempt(files, "write", path="file.txt", content=added, append=True)
    assert isinstance(outcome, Done)
    assert outcome.how == ("appended" if added else "unchanged")
    assert files.load(("file.txt",)) == new


@pytest.mark.parametrize(
    "content", ["", "x", "x\n", "a\r\nb\rc\n", "\ufeffx", "\ufeff\ufeffx", "\0", "\U0001d531"]
)
def test_content_is_written_exactly_but_for_a_leading_bom(
    files: Files, attempt: Attempt, content: str
) -> None:
    """No newline is added, none is translated."""
    assert isinstance(attempt(files, "write", path="new", content=content), Done)
    assert files.load(("new",)) == content.removeprefix("\ufeff").encode()


def test_a_write_that_changes_nothing_leaves_the_file_alone(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """It is not even replaced by an equal one."""
    file = place.write("file.txt", "same")
    before = file.stat()
    outcome = attempt(workspace, "write", path="file.txt", content="same")
    assert isinstance(outcome, Done)
    assert (outcome.how, outcome.changes) == ("unchanged", ())
    assert file.stat() == before


@pytest.mark.parametrize("size", [20_000_000, pytest.param(200_000_000, marks=pytest.mark.slow)])
def test_large_files_are_edited(place: Place, workspace: Workspace, attempt: Attempt, size: int) -> None:
    """200 MB are no trouble, only bytes."""
    file = place.write("file.txt", b"one\n" * (size // 4) + b"two\n")
    assert isinstance(attempt(workspace, "edit", **EDIT), Done)
    with file.open("rb") as changed:
        changed.seek(-6, os.SEEK_END)
        assert changed.read() == b"one\n2\n"[-6:]
    assert file.stat().st_size == size + 2
    file.unlink()


# Names.


@pytest.mark.parametrize(
    "path",
    ["~", "$HOME", "%2e%2e", "*", "-rf", "name.", "name ", " name", "..foo", "a\\b", "é", "e\u0301", "ab:c"],
)
def test_names_are_literal(files: Files, attempt: Attempt, path: str) -> None:
    """The file with this name is written, and no other; a backslash separates."""
    assert isinstance(attempt(files, "write", path=path, content="x"), Done)
    assert files.names(()) == [path.split("\\", maxsplit=1)[0]]
    assert files.load(tuple(path.split("\\"))) == b"x"


def test_deep_directories_are_made_moved_and_removed(files: Files, place: Place, attempt: Attempt) -> None:
    """By its whole path from the root of the system, it would be more than the system takes."""
    path = "/".join(["directory"] * 408)
    assert isinstance(attempt(files, "write", path=path, content="x"), Done)
    assert isinstance(attempt(files, "edit", path=path, search="x", replace="y"), Done)
    assert files.load(("directory",) * 408) == b"y"
    assert isinstance(attempt(files, "move", source="directory", to="moved"), Done)
    assert isinstance(attempt(files, "remove", path="moved"), Done)
    assert list(place.inside.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 256, "é" * 128])
def test_a_name_that_is_too_long_is_an_error_and_leaves_nothing(
    place: Place, workspace: Workspace, attempt: Attempt, name: str
) -> None:
    """Not even the directories that were made on the way to it."""
    place.write("file.txt")
    before = place.picture()
    for path in (name, f"new/{name}", f"new/{name}/file", f"new/deep/{name}"):
        assert attempt.refusal(workspace, "write", path=path, content="x") == "io_error"
        assert attempt.refusal(workspace, "move", source="file.txt", to=path) == "io_error"
        assert place.picture() == before
    assert workspace.touched == set()


def test_a_name_of_255_bytes_can_be_written_and_edited(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """Temporary names do not build on it."""
    name = "x" * 255
    assert isinstance(attempt(workspace, "write", path=name, content="two"), Done)
    assert isinstance(attempt(workspace, "edit", path=name, search="two", replace="2"), Done)
    assert (place.inside / name).read_text() == "2"


# Outside.


def test_nothing_outside_is_touched_unless_it_is_allowed(place: Place, attempt: Attempt) -> None:
    """And where it is, paths may lead anywhere but to what holds the workspace itself."""
    with Workspace(str(place.inside), allow_escape=True) as files:
        for name, fields, _ in CHANGES.values():
            (place.outside / "file.txt").write_text(OLD)
            assert isinstance(attempt(files, name, **{**fields, "path": "../outside/file.txt"}), Done)
        made = f"{place.outside}/new/deep/file"
        assert isinstance(attempt(files, "write", path=made, content="x"), Done)
        assert isinstance(attempt(files, "move", source=made, to="taken"), Done)
        assert isinstance(attempt(files, "remove", path="../outside"), Done)
        before = place.picture()
        assert attempt.refusal(files, "remove", path="..") == "permission_denied"
        assert attempt.refusal(files, "move", source="..", to="/tmp/x") == "permission_denied"
        assert attempt.refusal(files, "remove", path="/") == "permission_denied"
        assert attempt.refusal(files, "remove", path=str(place.inside)) == "permission_denied"
    assert place.picture() == before
    assert set(before) == {"workspace", "workspace/taken"}


def test_what_is_protected_stays_so_behind_an_outside_link(place: Place, attempt: Attempt) -> None:
    """Escaping follows links outside of the workspace, but none into a git directory."""
    place.write(".git/config", "old")
    (place.outside / "way").symlink_to(place.inside / ".git")
    before = place.picture()
    with Workspace(str(place.inside), allow_escape=True) as files:
        for path in ("../outside/way/config", "../outside/way/hooks/new"):
            assert attempt.refusal(files, "write", path=path, content="x") == "permission_denied"
    assert place.picture() == before


class Busy(Workspace):
    """A workspace in which another process makes a repository as soon as somebody has looked."""

    def names(self, parts: Parts) -> list[str]:
        """Return the names that were there before it."""
        found = super().names(parts)
        folder = os.path.join(self.root, *parts, ".git")
        if parts == ("d",) and not os.path.exists(folder):
            os.mkdir(folder)
            with open(os.path.join(folder, "config"), "w", encoding="utf-8"):
                pass
        return found


def test_what_becomes_protected_while_it_is_removed_stays(tmp_path: Path) -> None:
    """What is deleted is what was looked at, and nothing that came after."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/file").touch()
    with Busy(str(tmp_path)) as files, pytest.raises(CladaError):
        tree.remove(files, ("d",))
    assert (tmp_path / "d/.git/config").exists()
