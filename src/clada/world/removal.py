"""Removes what a command left: of any depth and with any rights, following no link."""

from __future__ import annotations

import os
import stat

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS = 0o700


def remove(path: str, directory: int | None = None) -> None:
    """Remove what is at the path, if anything is. Nobody else may be at work there."""
    if not _is_directory(path, directory):
        _unlink(path, directory)
        return
    top = _entered(path, directory)
    try:
        while names := os.listdir(top):
            for name in names:
                _take_apart(name, top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=directory)


def _take_apart(name: str, top: int) -> None:
    """Remove one entry. The directories in it come to the top first, so that no depth is too deep."""
    if not _is_directory(name, top):
        os.unlink(name, dir_fd=top)
        return
    inside = _entered(name, top)
    try:
        for inner in os.listdir(inside):
            if _is_directory(inner, inside):
                os.chmod(inner, _OURS, dir_fd=inside)
                os.rename(inner, f"removed-{os.urandom(8).hex()}", src_dir_fd=inside, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=inside)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=top)


def _entered(name: str, directory: int | None) -> int:
    """Return a handle of a directory, after taking the rights to empty it."""
    os.chmod(name, _OURS, dir_fd=directory)
    return os.open(name, _DIRECTORY, dir_fd=directory)


def _is_directory(name: str, directory: int | None) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=directory).st_mode)
    except FileNotFoundError:
        return False


def _unlink(path: str, directory: int | None) -> None:
    try:
        os.unlink(path, dir_fd=directory)
    except FileNotFoundError:
        return
