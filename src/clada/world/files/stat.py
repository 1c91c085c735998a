"""File metadata: the kind of an entry, its identity, and a stamp that changes with it."""

from __future__ import annotations

import errno
import os
import stat
from collections import namedtuple
from contextlib import contextmanager

from clada.errors import CladaError, from_os_error
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

Save = tuple[int, int, int]  # inode, size, and time of the last save
Identity = tuple[int, int]  # the device, and the number of the file on it: the same under every name


def identity_of(status: os.stat_result) -> Identity:
    """Return the identity of a file, which is the same under all its names."""
    return status.st_dev, status.st_ino


class Stamp(namedtuple("Stamp", "mode inode size modified changed", defaults=(0, 0, 0))):  # noqa: PYI024 (typing is slow to import)
    """A fingerprint of a file: it differs once the file is saved, replaced, or gets other rights.

    Two stamps are equal if nothing was changed between them, as far as the file system's clock can tell.
    The device is not part of it: that of one file system may have another number after a restart.
    """

    __slots__ = ()
    mode: int
    inode: int
    size: int
    modified: int  # st_mtime_ns
    changed: int  # st_ctime_ns, which no program can set

    @classmethod
    def of(cls, status: os.stat_result, *, listing: bool = False) -> Self:
        """Return the stamp of a status.

        Of a directory, size and times count only with `listing`: they change with its entries.
        """
        if stat.S_ISDIR(status.st_mode) and not listing:
            return cls(status.st_mode, status.st_ino)
        return cls(status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    @classmethod
    def at(cls, name: str, parent: int | None = None) -> Self | None:
        """Return the stamp of a file, in the directory whose handle is `parent`; None if there is none."""
        try:
            return cls.of(os.stat(name, dir_fd=parent, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return None

    @property
    def content(self) -> Save:
        """What differs once the content is saved: other rights and other names do not count."""
        return self.inode, self.size, self.modified


def is_same_save(one: Stamp | None, other: Stamp | None) -> bool:
    """Whether the file was not saved between two stamps, and has the same mode; None stands for no file.

    The time of the last change does not count: it also changes as a file gets a link or an attribute, and
    as clada opens a file whose rights forbid that.
    """
    return (one or ())[:4] == (other or ())[:4]


class Entry(Value):
    """An entry of a directory: a file, a directory, a link, or another kind (a pipe, a socket, a device)."""

    kind: str  # file, directory, link, other
    mode: int = 0
    size: int = 0
    modified: int = 0  # nanoseconds
    links: int = 1  # number of hard links
    identity: Identity | None = None  # None if it is only in the overlay


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
    """Refuse to change a symbolic link, or a file with several hard links."""
    if entry.kind == "link":
        raise CladaError("symlink_not_allowed", "is a symbolic link")
    if entry.kind == "file" and entry.links > 1:
        message = f"has {entry.links} hard links, and the others may be outside of the workspace"
        raise CladaError("permission_denied", message, "copy it, and put the copy in its place")


@contextmanager
def os_errors() -> Iterator[None]:
    """Raise system errors as CladaError."""
    try:
        yield
    except OSError as error:
        raise from_os_error(error) from None


def errno_error(number: int) -> CladaError:
    """Return the error that the system reports by this number."""
    return from_os_error(OSError(number, os.strerror(number)))


def not_a_directory(path: str) -> CladaError:
    """Return the error of a file where a directory is needed."""
    return CladaError(
        "permission_denied", f"{path} is not a directory", system=errno_error(errno.ENOTDIR).system
    )
