"""What stands at a path, and what the system's errors mean."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import CladaError
from clada.values import Value
from clada.world import handles
from clada.world.files.stat import Identity, identity_of

DENIED = frozenset(
    (
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EEXIST,
        errno.ENXIO,  # a socket or a FIFO, opened as a file
    )
)

_SAMPLE, NUL = 64, 0  # bytes by which UTF-16 is told, and the one that it has many of


class Entry(Value):
    """What stands at a path: a file, a directory, a link, or something else (other)."""

    kind: str
    mode: int = 0
    size: int = 0
    modified: int = 0  # nanoseconds
    links: int = 1  # names that the file has
    identity: Identity | None = None  # None of what is in no file system


def entry_of(status: os.stat_result) -> Entry:
    """Return the entry that a status describes."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        kind = "file"
    elif stat.S_ISDIR(mode):
        kind = "directory"
    else:
        kind = "link" if stat.S_ISLNK(mode) else "other"
    return Entry(
        kind, stat.S_IMODE(mode), status.st_size, status.st_mtime_ns, status.st_nlink, identity_of(status)
    )


def refuse_shared(entry: Entry) -> None:
    """Refuse to change what would change for other names too: links, and files that have several."""
    if entry.kind == "link":
        raise CladaError("symlink_not_allowed", "is a symbolic link")
    if entry.kind == "file" and entry.links > 1:
        message = f"has {entry.links} hard links, and the others may be outside of the workspace"
        raise CladaError("permission_denied", message, "copy it, and put the copy in its place")


def trouble(error: OSError, what: str = "") -> CladaError:
    """Return the typed trouble that a system error is; `what` names the place where it is not the target."""
    if error.errno == errno.ELOOP:
        return CladaError(
            "symlink_not_allowed", f"{what} is a symbolic link" if what else "is a symbolic link"
        )
    words, system = reason(error), error.strerror or str(error)
    if error.errno == errno.ENOENT:
        return CladaError("file_not_found", f"{words}: {what}" if what else words, system=system)
    if error.errno == errno.EXDEV:
        hint = "write it there, and remove it here"
        return CladaError("io_error", "the target is on another file system", hint, system=system)
    type_ = "permission_denied" if error.errno in DENIED else "io_error"
    return CladaError(type_, f"{what}: {words}" if what else words, system=system)


def errno_trouble(number: int) -> CladaError:
    """Return the trouble that the system would have with this error."""
    return trouble(OSError(number, os.strerror(number)))


def not_a_directory(path: str) -> CladaError:
    """Return the trouble of a file that stands where a directory is needed."""
    return CladaError(
        "permission_denied", f"{path} is not a directory", system=errno_trouble(errno.ENOTDIR).system
    )


def reason(error: OSError) -> str:
    """Return why the system refused, in its own words, as part of a sentence."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]


def read_regular(fd: int) -> tuple[os.stat_result, bytes]:
    """Return the status and the content of an open file, which must be a regular one."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        if stat.S_ISDIR(status.st_mode):
            raise errno_trouble(errno.EISDIR)
        raise CladaError("permission_denied", "not a regular file")
    return status, handles.read(fd, status.st_size)


def checked_utf8(data: bytes) -> bytes:
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
