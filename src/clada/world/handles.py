"""Handles: files and directories opened below another handle through no link, and trees removed by them.

Everything here raises OSError as the system does. `below` is the handle of the directory that a name is
in; without it, the name is a path.
"""

from __future__ import annotations

import os
import stat
import sys

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
NO_LINK = DIRECTORY | NO_FOLLOW  # a directory that is no link
READ = os.O_RDONLY | os.O_NONBLOCK | NO_FOLLOW  # a FIFO would block
PIECE = 1 << 24  # bytes that are read at once
ZEROS = bytes(4096)  # a block that need not be on the disk
OWNER_ALL = 0o700


# Opening.


def open_directory(name: str, below: int | None = None) -> int:
    """Open a directory that is no link."""
    return os.open(name, NO_LINK, dir_fd=below)


def open_file(name: str, below: int | None = None) -> int:
    """Open for reading what is no link, and do not wait where it is a pipe."""
    return os.open(name, READ, dir_fd=below)


def open_descendant(root: str, path: str, *, make: bool = False) -> int:
    """Open a directory by its path below a root, where nothing may be a link; `make` what is missing."""
    handle = open_directory(root)
    for name in path.split("/") if path else ():
        above = handle
        try:
            if make:
                make_directory(name, above)
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
    """Make a directory, unless it is there, for all who may write in the one that it is in."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    mode = stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)
    if mode & stat.S_IWGRP:
        os.chmod(path, mode)


# Looking.


def is_link(name: str, below: int | None = None) -> bool:
    """Whether there is a symbolic link of this name."""
    return _has_kind(stat.S_IFLNK, name, below)


def is_directory(name: str, below: int | None = None) -> bool:
    """Whether there is a directory of this name; a link to one is none."""
    return _has_kind(stat.S_IFDIR, name, below)


def _has_kind(kind: int, name: str, below: int | None) -> bool:
    try:
        return stat.S_IFMT(os.lstat(name, dir_fd=below).st_mode) == kind
    except OSError:
        return False


def is_regular(handle: int) -> bool:
    """Whether an open file is a regular one: no directory, pipe, socket or device."""
    return stat.S_ISREG(os.fstat(handle).st_mode)


def has_no_xattrs(handle: int) -> bool:
    """Whether an open file has no extended attributes; not where the system cannot tell."""
    try:
        return sys.platform == "linux" and not os.listxattr(handle)
    except OSError:
        return False


def read(handle: int, size: int) -> bytes:
    """Return what an open file holds, which is `size` bytes unless it grows or shrinks meanwhile."""
    first = os.read(handle, size + 1)
    if len(first) == size:
        return first
    pieces = [first]
    while pieces[-1]:
        pieces.append(os.read(handle, PIECE))
    return b"".join(pieces)


def read_at_most(handle: int, limit: int) -> bytes:
    """Return what an open file holds, but no more than `limit` bytes of it."""
    with open(handle, "rb", closefd=False) as file:
        return file.read(limit)


# Writing.


def write(handle: int, data: bytes | memoryview, written: int = 0) -> None:
    """Write all of this, or what is left of it, however much the system takes at once: most often, all."""
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
    """Write all of this to a new file; blocks of zeros take no room on the disk."""
    if b"\0" not in data or ZEROS not in data:
        write(handle, data)
        return
    with memoryview(data) as view:
        start = 0  # of what is not written yet
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
    """Remove what is there, of any depth and with any rights. Nobody else may be at work there."""
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
    """Remove one entry. The directories in it come to the top first, so that no depth is too deep."""
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
    """Open a directory, after taking the rights to empty it."""
    os.chmod(name, OWNER_ALL, dir_fd=below)
    return open_directory(name, below)


def _unlink(name: str, below: int | None) -> None:
    try:
        os.unlink(name, dir_fd=below)
    except FileNotFoundError:
        return
