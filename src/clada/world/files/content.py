"""The content of a file: read and checked, known to be unchanged, and added to at its end."""

from __future__ import annotations

import errno
import os
import stat
import time

from clada.errors import CladaError
from clada.text.line_endings import CR, LF, endings_at, to_lf
from clada.world.files.stat import Stamp, errno_error, identity_of
from clada.world.handles import NO_FOLLOW, open_file, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.world.files.paths import Parts

_SAMPLE, NUL = 64, 0  # bytes by which UTF-16 is recognised, and the one that it has many of
SECOND = 10**9
# How long the times of files may stand still, in nanoseconds: a kernel's tick, or that of file systems which
# count in seconds. What is saved twice within it can have the same times.
TICK, COARSE_TICK = SECOND // 50, 2 * SECOND
EXTEND = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | NO_FOLLOW
AS_OWNER = stat.S_ISUID | stat.S_ISGID  # bits that would mean another user where the owner is not kept


# Reading.


def read_regular(fd: int) -> tuple[os.stat_result, bytes]:
    """Return the status and the content of an open file, which must be a regular one."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        if stat.S_ISDIR(status.st_mode):
            raise errno_error(errno.EISDIR)
        raise CladaError("permission_denied", "not a regular file")
    return status, read(fd, status.st_size)


def check_utf8(data: bytes) -> bytes:
    """Return the data, which must be UTF-8; without its mark, UTF-16 can look as if it was."""
    sample = data[:_SAMPLE]
    if NUL in sample and len(data) % 2 == 0 and any(sample[0::2]) != any(sample[1::2]):
        raise CladaError("invalid_utf8", "not UTF-8, but UTF-16 by its looks")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise CladaError("invalid_utf8", f"not UTF-8 at byte offset {error.start}") from None
    return data


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
            return self._data is None or _read_file(parent, name, status.st_size) == self._data
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


def _read_file(parent: int, name: str, size: int) -> bytes:
    handle = open_file(name, parent)
    try:
        return read(handle, size)
    finally:
        os.close(handle)


# Adding to the end: in place and in one write, so that a log keeps what others write to it.


class Addition:
    """What is added to one file: each piece on a line of its own, with the file's own line ending."""

    def __init__(self, parts: Parts, content: bytes, read: Version | None = None) -> None:
        """Take the file's content, which must be a text in UTF-8."""
        self.parts, self.read = parts, read
        self.data = bytearray()
        self._ending = _last_ending(check_utf8(content))

    def add(self, data: bytes) -> None:
        """Add a piece."""
        self.data += self.lead(self.data)
        self.data += to_lf(data).replace(LF, self._ending) if self._ending else data
        self._ending = self._ending or _last_ending(data)

    def lead(self, content: bytes | bytearray) -> bytes:
        """Return what must stand between this content, or the end of it, and more of it."""
        return (self._ending or LF) if content and content[-1:] not in (LF, CR) else b""


def extend(parent: int, name: str, addition: Addition, confirm: Callable[[], None]) -> bool:
    """Add to a file in one write, or not at all; return False where it has to be replaced.

    What must hold right before the write, `confirm` raises about.

    That is so where others have the same file under another name, where writing would take away setuid bits,
    and where only its directory may be written.
    """
    try:
        handle = os.open(name, EXTEND, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ETXTBSY):
            return False
        raise
    try:
        status = os.fstat(handle)
        if addition.read and identity_of(status) != identity_of(addition.read.status):
            raise changed()
        if status.st_nlink > 1 or status.st_mode & AS_OWNER:
            return False
        last = os.pread(handle, 1, status.st_size - 1) if status.st_size else b""
        confirm()
        _write_or_truncate(handle, addition.lead(last) + addition.data)
    finally:
        os.close(handle)
    return True


def _write_or_truncate(handle: int, data: bytes) -> None:
    """Write all of it at the end; where that fails, take back what was written."""
    written = os.write(handle, data)
    if written == len(data):
        return
    start = os.lseek(handle, 0, os.SEEK_CUR) - written
    try:
        while written < len(data):
            written += os.write(handle, data[written:])
    except BaseException:
        end = os.lseek(handle, 0, os.SEEK_CUR)
        if end - start == written and os.fstat(handle).st_size == end:  # else others have added to it
            os.ftruncate(handle, start)
        raise


def _last_ending(content: bytes) -> bytes | None:
    """Return the line ending that was used last; None where there is none yet."""
    if LF not in content and CR not in content:
        return None
    return endings_at(content, [len(content)])[0]
