"""The workspace's own directory: opened by a handle, known by its real path, refused where it can be none."""

from __future__ import annotations

import errno
import os

from clada.errors import Trouble
from clada.world.files.entries import reason, trouble
from clada.world.files.paths import is_protected
from clada.world.handles import DIRECTORY

HANDLES = "/proc/self/fd"
DELETED = " (deleted)"  # how the system marks the path of a directory that is gone


def check(directory: str) -> None:
    """Raise where this can be no workspace: before anything waits, is recorded or executed."""
    os.close(opened(directory)[0])


def opened(directory: str) -> tuple[int, str]:
    """Return a handle on the directory, and its path without links."""
    try:
        return _opened(directory)
    except Trouble as trouble:
        raise Trouble.of(trouble.error.replace(stage="WORKSPACE")) from None


def _opened(directory: str) -> tuple[int, str]:
    try:
        handle = os.open(directory, DIRECTORY)
    except OSError as error:
        raise _unopened(error, directory) from None
    try:
        path = _path_of(handle, directory)
        _refuse_protected(path)
    except BaseException:
        os.close(handle)
        raise
    return handle, path


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
    path = _known_path(handle)
    try:
        return path if _leads_to(path, handle) else os.path.realpath(directory)
    except FileNotFoundError:  # there is no current directory any more
        place = path.removesuffix(DELETED) or "the current directory"
        raise Trouble("file_not_found", f"{place} has been removed") from None


def _known_path(handle: int) -> str:
    try:
        return os.readlink(f"{HANDLES}/{handle}")
    except OSError:
        return ""  # a system without such paths, or a process that may not look at its own


def _leads_to(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except OSError:
        return False  # the path is one of the system's own making, or out of reach


def _refuse_protected(path: str) -> None:
    """Refuse a workspace in which every file is protected, though no path in it would say so."""
    for part in path.split("/"):
        if is_protected(part):
            message = f"{path} is in a directory that is protected ({part})"
            raise Trouble("permission_denied", message, "work outside of it")
