"""What is read of a file, and what is said of one that cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clada.problems import Trouble
from clada.world.files.entries import Entry, read_all

if TYPE_CHECKING:
    from pathlib import Path


def _read(path: str | Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return read_all(handle)
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
        with pytest.raises(Trouble) as caught:
            _read(path)
        assert (caught.value.error.type, caught.value.error.message) == ("permission_denied", message)


def test_an_entry_has_no_mode_size_or_time_of_its_own() -> None:
    """Where nothing is known about it."""
    entry = Entry("directory")
    assert (entry.mode, entry.size, entry.modified) == (0, 0, 0)
