"""Open, read, write and remove files by handles, without following links.

All functions raise OSError as the system does. `below` is the handle of the directory that contains a name;
without it, the name is a path.
"""

from __future__ import annotations

import os
import stat
import sys

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
NO_LINK = DIRECTORY | NO_FOLLOW  # a directory, and no link to one
READ = os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW  # opening a FIFO would block otherwise
PIECE = 1 << 24  # bytes to read at once
ZEROS = bytes(4096)  # a block that can be a hole
OWNER_ALL = 0o700


# Opening.


def open_directory(name: str, below: int | None = None) -> int:
    """Open a directory; refuse a link to one."""
    return os.open(name, NO_LINK, dir_fd=below)


def open_file(name: str, below: int | None = None) -> int:
    """Open a file for reading; refuse a link, and do not wait for a pipe."""
    return os.open(name, READ, dir_fd=below)


def open_descendant(root: str, path: str) -> int:
    """Open a directory by its path below a root, without links."""
    handle = open_directory(root)
    for name in path.split("/") if path else ():
        above = handle
        try:
            handle = open_directory(name, above)
        finally:
            os.close(above)
    return handle


def make_directory(name: str, below: int | None = None) -> None:
    """Make a directory, unless something of that name is there."""
    try:
        os.mkdir(name, dir_fd=below)
    except FileExistsError:
        return


def make_shared_directory(path: str) -> None:
    """Make a directory unless it exists, writable for the same users as the one that contains it."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    mode = stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)
    if mode & stat.S_IWGRP:
        os.chmod(path, mode)


# Checking.


def is_process_gone(pid: int) -> bool:
    """Whether there is no process of this number, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it belongs to another user
    return False


def is_link(name: str, below: int | None = None) -> bool:
    """Whether there is a symbolic link of this name."""
    return _has_kind(stat.S_IFLNK, name, below)


def is_directory(name: str, below: int | None = None) -> bool:
    """Whether there is a directory of this name; a link to one does not count."""
    return _has_kind(stat.S_IFDIR, name, below)


def _has_kind(kind: int, name: str, below: int | None) -> bool:
    try:
        return stat.S_IFMT(os.lstat(name, dir_fd=below).st_mode) == kind
    except OSError:
        return False


def is_regular(handle: int) -> bool:
    """Whether an open file is a regular one, not a directory, pipe, socket or device."""
    return stat.S_ISREG(os.fstat(handle).st_mode)


def has_no_xattrs(handle: int) -> bool:
    """Whether an open file has no extended attributes; False if the system cannot tell."""
    try:
        return sys.platform == "linux" and not os.listxattr(handle)
    except OSError:
        return False


def read(handle: int, size: int) -> bytes:
    """Return the content of an open file: `size` bytes, unless it grows or shrinks meanwhile."""
    first = os.read(handle, size + 1)
    if len(first) == size:
        return first
    pieces = [first]
    while pieces[-1]:
        pieces.append(os.read(handle, PIECE))
    return b"".join(pieces)


def read_at_most(handle: int, limit: int) -> bytes:
    """Return the first `limit` bytes of an open file."""
    with open(handle, "rb", closefd=False) as file:
        return file.read(limit)


# Writing.


def write(handle: int, data: bytes | memoryview, written: int = 0) -> None:
    """Write all of the data, or the rest after `written` bytes, in as many calls as the system needs."""
    written = written or os.write(handle, data)
    if written < len(data):
        with memoryview(data) as view:
            while written < len(data):
                written += os.write(handle, view[written:])


def sync_file(name: str, below: int | None = None) -> None:
    """Wait until the content of a file has reached the disk."""
    handle = open_file(name, below)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_with_holes(handle: int, data: bytes) -> None:
    """Write all of the data to a new file; blocks of zeros become holes."""
    if b"\0" not in data or ZEROS not in data:
        write(handle, data)
        return
    with memoryview(data) as view:
        start = 0  # of the data that is not written yet
        for at in range(0, len(data), len(ZEROS)):
            if view[at : at + len(ZEROS)] == ZEROS:
                if start < at:
                    write(handle, view[start:at])
                start = at + len(ZEROS)
                os.lseek(handle, start, os.SEEK_SET)
        if start < len(data):
            write(handle, view[start:])
    os.ftruncate(handle, len(data))


# Removing.


def remove_tree(name: str, below: int | None = None) -> None:
    """Remove an entry with all below it, of any depth and mode. No other process may be at work there."""
    if not is_directory(name, below):
        _unlink(name, below)
        return
    top = _open_writable(name, below)
    try:
        while names := os.listdir(top):
            for each in names:
                _remove_entry(each, top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=below)


def _remove_entry(name: str, top: int) -> None:
    """Remove one entry. Directories in it are moved to the top first, so that any depth can be removed."""
    if not is_directory(name, top):
        os.unlink(name, dir_fd=top)
        return
    inside = _open_writable(name, top)
    try:
        for inner in os.listdir(inside):
            if is_directory(inner, inside):
                os.chmod(inner, OWNER_ALL, dir_fd=inside)
                os.rename(inner, f"removed-{os.urandom(8).hex()}", src_dir_fd=inside, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def _open_writable(name: str, below: int | None) -> int:
    """Open a directory, after making it writable for its owner."""
    os.chmod(name, OWNER_ALL, dir_fd=below)
    return open_directory(name, below)


def _unlink(name: str, below: int | None) -> None:
    try:
        os.unlink(name, dir_fd=below)
    except FileNotFoundError:
        return
