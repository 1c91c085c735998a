"""The content of a file: reading it, checking that it is unchanged, and appending to it."""

from __future__ import annotations

import errno
import os
import stat
import time

from clada.errors import CladaError
from clada.text.line_endings import CR, LF, endings_at, to_lf
from clada.world.files.stat import Identity, Save, Stamp, errno_error, identity_of
from clada.world.handles import NO_FOLLOW, open_file, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from clada.world.files.paths import Parts

_SAMPLE, NUL = 64, 0  # bytes by which UTF-16 is recognised, and the one that it has many of
SECOND = 10**9
# Resolution of file times in nanoseconds: a tick of the kernel; or two seconds, on file systems that count in
# seconds. A file that is saved twice within it can have the same times.
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
    """Return the data if it is UTF-8, else raise CladaError; UTF-16 without a BOM can look like UTF-8."""
    sample = data[:_SAMPLE]
    if NUL in sample and len(data) % 2 == 0 and any(sample[0::2]) != any(sample[1::2]):
        raise CladaError("invalid_utf8", "not UTF-8, but UTF-16 by its looks")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise CladaError("invalid_utf8", f"not UTF-8 at byte offset {error.start}") from None
    return data


class ConcurrentChangeError(CladaError):
    """Another program has changed a path that was to be put back."""


class Version:
    """A file as it was read, to detect that another program saves it before it is replaced."""

    __slots__ = ("_data", "bare", "status")

    def __init__(
        self, status: os.stat_result, data: bytes | None, read_at: int, *, bare: bool = False
    ) -> None:
        """Take the file's status, its content if it is known, and the time (time_ns) before both were read.

        `bare` says that it had no extended attributes. That holds as long as its times stay the same, unless
        it was changed within the resolution of the times.
        """
        recent = _is_recent(status, read_at)
        self.status, self.bare = status, bare and not recent
        self._data = data if recent else None

    @classmethod
    def at(cls, parent: int | None, name: str) -> Self | None:
        """Return the version of a file by its status alone; None if there is none."""
        try:
            return cls(os.stat(name, dir_fd=parent, follow_symlinks=False), None, 0)
        except (FileNotFoundError, NotADirectoryError):
            return None

    @property
    def identity(self) -> Identity:
        """The identity of the file."""
        return identity_of(self.status)

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def stamp(self) -> Stamp:
        """The stamp of the file."""
        return Stamp.of(self.status)

    @property
    def save(self) -> Save:
        """What differs once the file is saved or replaced."""
        return self.stamp.content

    def confirm(self, parent: int, name: str) -> None:
        """Raise CladaError if the file of this name is another one, was saved, or got other attributes."""
        if not self.is_at(parent, name) or Stamp.at(name, parent) != self.stamp:
            raise change_error()

    def is_at(self, parent: int | None, name: str) -> bool:
        """Whether the file of this name is the one that was read, and was not saved since."""
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return identity_of(status) == self.identity and self.is_same(status, parent, name)

    def is_same(self, status: os.stat_result, parent: int | None, name: str) -> bool:
        """Whether a file that has this status and name now was not saved since."""
        old, new = self.stamp, Stamp.of(status)
        if (old.mode, old.size, old.modified) != (new.mode, new.size, new.modified):
            return False
        try:
            return self._data is None or _read_file(parent, name, self.status.st_size) == self._data
        except PermissionError:
            return True  # its owner may not read it either
        except FileNotFoundError:
            return False


def now() -> int:
    """Return the time before a file is read, for Version."""
    return time.time_ns()


def change_error(when: str = "while it was being edited") -> CladaError:
    """Return the error of a file that is no longer the one that was read."""
    return CladaError("io_error", f"changed {when}", "another program saved it: look at it, and try again")


def _is_recent(status: os.stat_result, read_at: int) -> bool:
    """Whether a file was changed so recently that another save may leave the same times."""
    last = max(status.st_mtime_ns, status.st_ctime_ns)
    return read_at - last < (TICK if last % SECOND else COARSE_TICK)


def _read_file(parent: int | None, name: str, size: int) -> bytes:
    handle = open_file(name, parent)
    try:
        return read(handle, size)
    finally:
        os.close(handle)


# Appending: in place and in one write, so that a log keeps what other programs write to it.


class Addition:
    """Text to append to one file: each piece on its own line, with the file's line ending."""

    def __init__(self, parts: Parts, content: bytes, read: Version | None = None) -> None:
        """Take the content of the file, or its end, which must be UTF-8."""
        self.parts, self.read = parts, read
        self.data = bytearray()
        self._ending = _last_ending(check_utf8(content))

    def add(self, data: bytes) -> None:
        """Add a piece."""
        self.data += self.lead(self.data)
        self.data += to_lf(data).replace(LF, self._ending) if self._ending else data
        self._ending = self._ending or _last_ending(data)

    def lead(self, content: bytes | bytearray) -> bytes:
        """Return the line break that is missing at the end of this content, if one is."""
        return (self._ending or LF) if content and content[-1:] not in (LF, CR) else b""


def extend(parent: int, name: str, addition: Addition, confirm: Callable[[], None]) -> bool:
    """Append to a file in one write, or not at all; return False if the file has to be replaced instead.

    That is the case if it has other hard links, if writing would remove setuid bits, and if only its
    directory is writable. `confirm` is called right before the write, and may raise.
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
            raise change_error()
        if status.st_nlink > 1 or status.st_mode & AS_OWNER:
            return False
        last = os.pread(handle, 1, status.st_size - 1) if status.st_size else b""
        confirm()
        _write_or_truncate(handle, addition.lead(last) + addition.data)
        there = Version.at(parent, name)
        if there is None or there.identity != identity_of(status):
            raise change_error("while something was being appended")
    finally:
        os.close(handle)
    return True


def _write_or_truncate(handle: int, data: bytes) -> None:
    """Write all of it at the end; if that fails, truncate the file to its old size."""
    written = os.write(handle, data)
    if written == len(data):
        return
    start = os.lseek(handle, 0, os.SEEK_CUR) - written
    try:
        while written < len(data):
            written += os.write(handle, data[written:])
    except BaseException:
        end = os.lseek(handle, 0, os.SEEK_CUR)
        # If not, another program has appended, too.
        if end - start == written and os.fstat(handle).st_size == end:
            os.ftruncate(handle, start)
        raise


def _last_ending(content: bytes) -> bytes | None:
    """Return the last line ending; None if there is none yet."""
    if LF not in content and CR not in content:
        return None
    return endings_at(content, [len(content)])[0]
