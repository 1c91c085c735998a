"""The workspace's own directory: opened by a handle, known by its real path, refused where it can be none."""

from __future__ import annotations

import errno
import os

from clada.errors import Trouble
from clada.world.files.entries import reason, trouble
from clada.world.files.paths import FIRST_LETTERS, is_protected
from clada.world.handles import DIRECTORY

HANDLES = "/proc/self/fd"
DELETED = " (deleted)"  # how the system marks the path of a directory that is gone


def check(directory: str) -> None:
    """Raise where this can be no workspace: before anything waits, is recorded or executed."""
    os.close(opened(directory)[0])


def opened(directory: str) -> tuple[int, str]:
    """Return a handle on the directory, and its path without links."""
    try:
        handle = os.open(directory, DIRECTORY)
    except OSError as error:
        raise _of_workspace(_unopened(error, directory)) from None
    try:
        path = _path_of(handle, directory)
    except Trouble as error:
        os.close(handle)
        raise _of_workspace(error) from None
    for part in path.split("/"):
        if part[:1] in FIRST_LETTERS and is_protected(part):  # so is every file in it, though no path says so
            os.close(handle)
            message = f"{path} is in a directory that is protected ({part})"
            raise _of_workspace(Trouble("permission_denied", message, "work outside of it"))
    return handle, path


def _of_workspace(error: Trouble) -> Trouble:
    """Say that it is the workspace itself that cannot be used: that is a mistake in the call."""
    return Trouble.of(error.error.replace(stage="WORKSPACE"))


def _unopened(error: OSError, directory: str) -> Trouble:
    type_ = trouble(error).error.type
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return Trouble(type_, f"{directory} is not a directory")
    return Trouble(type_, f"{_whole(directory)} cannot be opened: {reason(error)}")


def _whole(directory: str) -> str:
    try:
        return os.path.abspath(directory)
    except OSError:
        return directory  # nobody knows where the current directory is


def _path_of(handle: int, directory: str) -> str:
    """Return the path of an open directory, without links: as the system knows it, or by following them."""
    path = ""
    try:
        path = os.readlink(f"{HANDLES}/{handle}")
        if os.path.samestat(os.stat(path), os.fstat(handle)):
            return path
    except OSError:
        pass  # there are no such paths here, we may not look at ours, or it is one of the system's own making
    try:
        return os.path.realpath(directory)
    except FileNotFoundError:  # there is no current directory any more
        place = path.removesuffix(DELETED) or "the current directory"
        raise Trouble("file_not_found", f"{place} has been removed") from None
