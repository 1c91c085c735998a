"""A file as it was read: what somebody else saves before it is replaced must not be lost."""

from __future__ import annotations

import os
import time

from clada.errors import CladaError
from clada.world.files.stat import Stamp, identity_of
from clada.world.handles import open_file, read

SECOND = 10**9
# How long the times of files may stand still, in nanoseconds: a kernel's tick, or that of file systems which
# count in seconds. What is saved twice within it can have the same times.
TICK, COARSE_TICK = SECOND // 50, 2 * SECOND


class Version:
    """What a file was when it was read."""

    __slots__ = ("_data", "bare", "status")

    def __init__(self, status: os.stat_result, data: bytes, read_at: int, *, bare: bool = False) -> None:
        """Take the file's status, what was read, and the time (time_ns) from before both.

        It was `bare` if it had no extended attributes. That holds for as long as its times stay the same,
        unless they may stand still.
        """
        recent = _is_recent(status, read_at)
        self.status, self.bare = status, bare and not recent
        self._data = data if recent else None

    def confirm(self, parent: int, name: str) -> None:
        """Raise where the file of this name is no longer what was read."""
        if not self._is_current(parent, name):
            raise changed()

    def _is_current(self, parent: int, name: str) -> bool:
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if identity_of(status) != identity_of(self.status) or Stamp.of(status) != Stamp.of(self.status):
                return False
            return self._data is None or _content(parent, name, status.st_size) == self._data
        except OSError:
            return False  # it is gone, or not ours to look at any more


def now() -> int:
    """Return the time by which it is judged later whether a file was just being written."""
    return time.time_ns()


def changed(when: str = "while it was being edited") -> CladaError:
    """Return the trouble of a file that is not what was read."""
    return CladaError("io_error", f"changed {when}", "another program saved it: look at it, and try again")


def _is_recent(status: os.stat_result, read_at: int) -> bool:
    """Whether a file was changed so shortly before that the next save may leave the same times."""
    last = max(status.st_mtime_ns, status.st_ctime_ns)
    return read_at - last < (TICK if last % SECOND else COARSE_TICK)


def _content(parent: int, name: str, size: int) -> bytes:
    handle = open_file(name, parent)
    try:
        return read(handle, size)
    finally:
        os.close(handle)
