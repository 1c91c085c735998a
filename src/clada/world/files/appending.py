"""Adding to the end of a file: in place and in one write, so that a log keeps what others write to it."""

from __future__ import annotations

import errno
import os

from clada.text.line_endings import CR, LF, endings_at, to_lf
from clada.world.files.atomic import AS_OWNER
from clada.world.files.entries import checked_utf8
from clada.world.files.stat import identity_of
from clada.world.files.versions import changed
from clada.world.handles import NO_FOLLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.world.files.paths import Parts
    from clada.world.files.versions import Version

EXTEND = os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | NO_FOLLOW


class Addition:
    """What is added to one file: each piece on a line of its own, with the file's own line ending."""

    def __init__(self, parts: Parts, content: bytes, read: Version | None = None) -> None:
        """Take the file's content, which must be a text in UTF-8."""
        self.parts, self.read = parts, read
        self.data = bytearray()
        self._ending = _last_ending(checked_utf8(content))

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
        _write_or_cut_back(handle, addition.lead(last) + addition.data)
    finally:
        os.close(handle)
    return True


def _write_or_cut_back(handle: int, data: bytes) -> None:
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
