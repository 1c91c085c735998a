"""Appending: in place and whole or not at all, with the file's own line ending, and only to UTF-8."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clada.model import Done, Failed
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.fixture
def workspace(place: Place) -> Iterator[Workspace]:
    """Return access to the workspace on disk."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace


# What is added.

ENDINGS = {
    "LF": (b"one\ntwo\n", "three\nfour", b"one\ntwo\nthree\nfour"),
    "CRLF": (b"one\r\ntwo\r\n", "three\nfour\n", b"one\r\ntwo\r\nthree\r\nfour\r\n"),
    "CRLF, and no line break at the end": (b"one\r\ntwo", "three", b"one\r\ntwo\r\nthree"),
    "CR": (b"one\rtwo\r", "three\nfour", b"one\rtwo\rthree\rfour"),
    "mixed: the last one counts": (b"one\r\ntwo\n", "three\nfour", b"one\r\ntwo\nthree\nfour"),
    "CRLF to LF": (b"one\n", "two\r\nthree", b"one\ntwo\nthree"),
    "none yet": (b"one", "two\nthree", b"one\ntwo\nthree"),
    "none yet, and CRLF in what is added": (b"one", "two\r\nthree", b"one\r\ntwo\r\nthree"),
    "empty": (b"", "one\r\ntwo", b"one\r\ntwo"),
    "a mark at the start": (b"\xef\xbb\xbfone\r\n", "two\n", b"\xef\xbb\xbfone\r\ntwo\r\n"),
    "zero bytes in a log": (b"\0\0\0one\n", "two", b"\0\0\0one\ntwo"),
    "nothing but zero bytes": (b"\0" * 64, "two", b"\0" * 64 + b"\ntwo"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_added_has_the_files_own_line_ending(
    files: Files, place: Place, attempt: Attempt, ending: str
) -> None:
    """And starts on a line of its own."""
    old, content, new = ENDINGS[ending]
    place.write("file", old)
    assert isinstance(attempt(files, "write", path="file", content=content, append=True), Done)
    assert files.load(("file",)) == new


def test_several_additions_in_a_row_are_written_at_once(
    place: Place, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each on a line of its own, by one call of the system."""
    file = place.write("file", b"one\r\n")
    written: list[bytes] = []
    real = os.write

    def noted(handle: int, data: Any) -> int:
        written.append(bytes(data))
        return real(handle, data)

    monkeypatch.setattr(os, "write", noted)
    for data in (b"two", b"three\n", b"four"):
        assert workspace.append(("file",), data)
    workspace.flush()
    assert file.read_bytes() == b"one\r\ntwo\r\nthree\r\nfour"
    assert written == [b"two\r\nthree\r\nfour"]


OTHERS = {
    "UTF-16, little": "one\n".encode("utf-16"),
    "UTF-16, big": b"\xfe\xff" + "one\n".encode("utf-16-be"),
    "UTF-16 without a mark, little": "one\n".encode("utf-16-le"),
    "UTF-16 without a mark, big": "one\n".encode("utf-16-be"),
    "UTF-32": "one\n".encode("utf-32"),
    "Latin-1": "né\n".encode("latin-1"),
    "a program": b"\x7fELF\x02\x01\x01\0\xff\xfe",
}


@pytest.mark.parametrize("encoding", OTHERS)
def test_what_is_not_utf_8_is_not_added_to(
    files: Files, place: Place, attempt: Attempt, encoding: str
) -> None:
    """It would be broken by it; nor is it edited."""
    place.write("file", OTHERS[encoding])
    assert attempt.refusal(files, "edit", path="file", search="o", replace="x") == "invalid_utf8"
    assert attempt.refusal(files, "write", path="file", content="two", append=True) == "invalid_utf8"
    assert files.load(("file",)) == OTHERS[encoding]


# A file that others write to.


def test_the_file_stays_the_same_file(place: Place, workspace: Workspace, attempt: Attempt) -> None:
    """So a program that has it open goes on writing to what everybody reads."""
    file = place.write("log", "one\n")
    before = file.stat()
    with file.open("a") as log:
        assert isinstance(attempt(workspace, "write", path="log", content="ours\n", append=True), Done)
        log.write("theirs\n")
    assert file.read_text() == "one\nours\ntheirs\n"
    assert (file.stat().st_ino, file.stat().st_mode) == (before.st_ino, before.st_mode)


LOGGING = """
import os
log = os.open("log", os.O_WRONLY | os.O_APPEND)
print("logging", flush=True)
for number in range(20_000):
    os.write(log, b"theirs %d\\n" % number)
"""
OURS = 50  # lines


def test_a_live_log_keeps_all_its_lines(place: Place, workspace: Workspace, attempt: Attempt) -> None:
    """Another program adds to it as fast as it can, while we do."""
    file = place.write("log", "start\n")
    command = [sys.executable, "-c", LOGGING]
    with subprocess.Popen(command, cwd=place.inside, stdout=subprocess.PIPE) as logger:
        assert logger.stdout
        logger.stdout.readline()
        for number in range(OURS):
            outcome = attempt(workspace, "write", path="log", content=f"ours {number}\n", append=True)
            assert isinstance(outcome, Done), outcome
    lines = file.read_text().splitlines()
    theirs = [line for line in lines if line.startswith("theirs")]
    assert theirs == [f"theirs {number}" for number in range(20_000)]
    ours = [line for line in lines if line.startswith("ours")]
    assert ours == [f"ours {number}" for number in range(OURS)]


def test_a_log_that_is_rotated_meanwhile_is_not_added_to(
    place: Place, workspace: Workspace, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at is another file by then."""
    file = place.write("log", "one\n")
    real = os.open

    def rotated(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if flags & os.O_APPEND:
            file.rename(place.inside / "log.1")
            file.write_text("new\n")
        return real(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", rotated)
    outcome = attempt(workspace, "write", path="log", content="two", append=True)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "changed while it was being edited"
    assert (file.read_text(), (place.inside / "log.1").read_text()) == ("new\n", "one\n")


# Where it cannot be written in place, or not whole.


def _link(file: Path, place: Place) -> None:
    os.link(file, place.outside / "other")


REPLACED: dict[str, Callable[[Path, Place], object]] = {
    "several links": _link,
    "setuid": lambda file, _place: file.chmod(0o4755),
    "read-only": lambda file, _place: file.chmod(0o444),
}


@pytest.mark.parametrize("why", REPLACED)
def test_some_files_are_replaced(
    place: Place,
    workspace: Workspace,
    attempt: Attempt,
    ordinary_user: Callable[[], AbstractContextManager[None]],
    why: str,
) -> None:
    """Another link keeps the old content, the mode stays, and a directory that we may write is enough."""
    file = place.write("file", "one\n")
    place.inside.chmod(0o777)
    if os.geteuid() == 0:
        os.chown(file, 65534, 65534)
    REPLACED[why](file, place)
    before = file.stat()
    with ordinary_user():
        assert isinstance(attempt(workspace, "write", path="file", content="two", append=True), Done)
    assert file.read_text() == "one\ntwo"
    assert file.stat().st_ino != before.st_ino
    assert stat.S_IMODE(file.stat().st_mode) == stat.S_IMODE(before.st_mode)
    for other in place.outside.iterdir():
        assert other.read_text() == "one\n"


@pytest.mark.parametrize("room", [0, 1, 4095, 4096, 5000])
def test_what_does_not_fit_is_cut_back(
    place: Place, workspace: Workspace, attempt: Attempt, room: int
) -> None:
    """Where a limit is reached in the middle of the write, the file is as it was."""
    file = place.write("file", "one\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 + room, hard))
    try:
        outcome = attempt(workspace, "write", path="file", content="x" * 10_000, append=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "io_error"
    assert file.read_text() == "one\n"


def test_what_others_add_behind_a_failed_write_is_not_cut_off(
    place: Place, workspace: Workspace, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their lines count more than a piece of ours that stays."""
    file = place.write("file", "one\n")
    real, calls = os.write, iter(range(10))

    def torn(handle: int, data: Any) -> int:
        if next(calls) == 0:
            return real(handle, data[:3])
        with file.open("a") as log:
            log.write("theirs\n")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", torn)
    assert isinstance(attempt(workspace, "write", path="file", content="ours", append=True), Failed)
    assert file.read_text() == "one\nourtheirs\n"
