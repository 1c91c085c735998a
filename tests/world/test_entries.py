"""What is read of a file, and what is said of one that cannot be read."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError, Error, from_os_error
from clada.model import Failed
from clada.world.files.content import check_utf8, read_regular
from clada.world.files.paths import locate
from clada.world.files.stat import Entry, not_a_directory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


def _read(path: str | Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return read_regular(handle)[1]
    finally:
        os.close(handle)


@pytest.mark.parametrize("size", [0, 1, 100, 200_000])
def test_all_of_a_file_is_read(tmp_path: Path, size: int) -> None:
    """Whatever its size."""
    (tmp_path / "f").write_bytes(b"x" * size)
    assert _read(tmp_path / "f") == b"x" * size


@pytest.mark.skipif(not os.path.exists("/proc/self/cmdline"), reason="needs /proc")
def test_a_file_that_has_more_than_its_size_says_is_read_to_its_end() -> None:
    """As one that grows while it is read; those of /proc have no size at all."""
    with open("/proc/self/cmdline", "rb") as file:
        assert _read("/proc/self/cmdline") == file.read() != b""


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A directory and a FIFO, each by its name."""
    os.mkfifo(tmp_path / "fifo")
    for path, message in ((tmp_path, "is a directory"), (tmp_path / "fifo", "not a regular file")):
        with pytest.raises(CladaError) as caught:
            _read(path)
        assert (caught.value.error.type, caught.value.error.message) == ("permission_denied", message)


def test_an_entry_has_no_mode_size_or_time_of_its_own() -> None:
    """Where nothing is known about it."""
    entry = Entry("directory")
    assert (entry.mode, entry.size, entry.modified) == (0, 0, 0)


@pytest.mark.parametrize(
    ("code", "type_", "message", "named"),
    [
        (errno.ENOENT, "file_not_found", "no such file or directory", "no such file or directory: x"),
        (errno.ELOOP, "symlink_not_allowed", "is a symbolic link", "x is a symbolic link"),
        (errno.EACCES, "permission_denied", "permission denied", "x: permission denied"),
        (errno.EIO, "io_error", "input/output error", "x: input/output error"),
        (errno.ENOSPC, "io_error", "no space left on device", "x: no space left on device"),
    ],
)
def test_what_the_system_refuses_has_a_type_and_its_words(
    code: int, type_: str, message: str, named: str
) -> None:
    """With the name of the place, where that is not the target itself."""
    for what, words in (("", message), ("x", named)):
        found = from_os_error(OSError(code, os.strerror(code)), what)
        assert (found.error.type, found.error.message) == (type_, words)
        assert found.system == (None if code == errno.ELOOP else os.strerror(code))


def test_another_file_system_is_named_with_what_to_do() -> None:
    """The system's own words would say nothing to most."""
    found = from_os_error(OSError(errno.EXDEV, os.strerror(errno.EXDEV)), "x")
    assert found.error == Error(
        "io_error", "the target is on another file system", "write it there, and remove it here"
    )
    assert found.system == os.strerror(errno.EXDEV)


def test_an_error_without_words_of_the_system_is_told_as_it_is() -> None:
    """Some libraries raise such."""
    found = from_os_error(OSError("Quite unusual"))
    assert (found.error.type, found.error.message) == ("io_error", "quite unusual")
    assert found.system == "Quite unusual"


def test_a_file_in_place_of_a_directory_is_named() -> None:
    """With the system's words for whoever speaks as the real commands do."""
    found = not_a_directory("a/b")
    assert found.error == Error("permission_denied", "a/b is not a directory")
    assert found.system == os.strerror(errno.ENOTDIR)


def test_where_a_file_stops_being_utf8_is_named() -> None:
    """By its offset in bytes."""
    assert check_utf8("ü".encode()) == "ü".encode()
    with pytest.raises(CladaError) as caught:
        check_utf8(b"ab\xff")
    assert caught.value.error == Error("invalid_utf8", "not UTF-8 at byte offset 2")


def test_a_directory_is_made_only_where_its_parent_is_one(place: Place, files: Files) -> None:
    """Neither below nothing nor below a file, nor where something is; on disk and in the overlay alike."""
    place.write("file")
    for parts, type_ in (
        (("missing", "new"), "file_not_found"),
        (("file", "new"), "permission_denied"),
        (("file",), "permission_denied"),
    ):
        with pytest.raises(CladaError) as caught:
            files.make(parts)
        assert caught.value.error.type in (type_, "io_error", "file_not_found")
    files.make(("folder",))
    assert getattr(files.entry(("folder",)), "kind", None) == "directory"


@pytest.mark.parametrize("name", ["git~1", "GIT~1", ".git", ".GIT.", ".clada ", ".git:x"])
def test_every_name_of_gits_directory_is_protected(files: Files, attempt: Attempt, name: str) -> None:
    """Also those that other file systems know it by."""
    assert attempt.refusal(files, "write", path=f"{name}/config", content="x") == "permission_denied"


def test_a_nul_character_leads_nowhere() -> None:
    """Whoever asks: a path with one names no file."""
    with pytest.raises(CladaError) as caught:
        locate("a\0b", "/")
    assert caught.value.error.type == "path_escape"


def test_what_is_below_a_file_is_not_there_and_the_file_is_named(
    place: Place, files: Files, attempt: Attempt
) -> None:
    """So that the mistake in the path can be seen."""
    place.write("file")
    outcome = attempt(files, "edit", path="file/below", search="x", replace="y")
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "file_not_found"
    assert outcome.error.message == "no such file: file is not a directory"
