"""Putting files of a commit back into the tree: whole or not at all, and through no link on the way."""

from __future__ import annotations

import os
from stat import S_IMODE, S_ISLNK

from clada.world.files.atomic import AS_OWNER, CHANCE, LEFTOVER
from clada.world.handles import is_directory, open_descendant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.world.git.calls import Git


def check_out(git: Git, index: str, store: str, paths: Iterable[str]) -> None:
    """Let git write the files of an index into a directory of its own, with its filters and line endings."""
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    call = ("checkout-index", "-f", "-q", "-z", "--stdin", f"--prefix={store}/")
    if given:
        git.ask(*call, given=given, GIT_INDEX_FILE=index)


def take_away(root: str, path: str, keep: str) -> None:
    """Remove a file, and the directories that this leaves empty, save for the one to keep."""
    directory, _, name = path.rpartition("/")
    parent = open_descendant(root, directory)
    try:
        os.unlink(name, dir_fd=parent)
    finally:
        os.close(parent)
    while directory and directory != keep and _remove_empty(root, directory):
        directory = directory.rpartition("/")[0]


def _remove_empty(root: str, directory: str) -> bool:
    """Remove a directory if there is nothing in it; return whether that is so."""
    above, _, name = directory.rpartition("/")
    try:
        parent = open_descendant(root, above)
    except OSError:
        return False  # somebody else is at work there
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return False  # it holds something
    finally:
        os.close(parent)
    return True


def bring_back(root: str, path: str, store: str, *, like_present: bool) -> None:
    """Move a file from the store to its place; like the present one, if so, in mode and owner."""
    directory, _, name = path.rpartition("/")
    source = os.path.join(store, path)
    parent = open_descendant(root, directory, make=True)
    try:
        if like_present:
            _resemble(source, os.stat(name, dir_fd=parent, follow_symlinks=False))
        _clear(name, parent)
        _move(source, name, parent)
    finally:
        os.close(parent)


def _resemble(path: str | int, present: os.stat_result) -> None:
    """Give a file the owner and the mode of another; where it cannot be given away, it is the user's own."""
    if S_ISLNK(present.st_mode):
        return
    mode = S_IMODE(present.st_mode)
    try:
        os.chown(path, present.st_uid, present.st_gid)
    except PermissionError:
        mode &= ~AS_OWNER
    os.chmod(path, mode)


def _clear(name: str, parent: int) -> None:
    """Remove the empty directories that stand where a file has to be."""
    if not is_directory(name, parent):
        return
    for _, directories, _, handle in os.fwalk(name, topdown=False, dir_fd=parent):
        for inner in directories:
            os.rmdir(inner, dir_fd=handle)
    os.rmdir(name, dir_fd=parent)


def _move(source: str, name: str, parent: int) -> None:
    try:
        os.rename(source, name, dst_dir_fd=parent)
    except OSError as error:
        import errno

        if error.errno != errno.EXDEV:
            raise
        _copy(source, name, parent)


def _copy(source: str, name: str, parent: int) -> None:
    """Move a file to another file system: a copy beside its place, which then takes it."""
    temporary = f"{LEFTOVER}{os.getpid()}-{os.urandom(CHANCE).hex()}"  # a later run clears it away
    status = os.lstat(source)
    try:
        if S_ISLNK(status.st_mode):
            os.symlink(os.readlink(source), temporary, dir_fd=parent)
        else:
            _copy_content(source, temporary, parent)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        _forget(temporary, parent)
        raise


def _copy_content(source: str, temporary: str, parent: int) -> None:
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=parent)
    with open(source, "rb") as old, open(handle, "wb") as new:
        while chunk := old.read(1 << 20):
            new.write(chunk)
        new.flush()
        _resemble(new.fileno(), os.fstat(old.fileno()))


def _forget(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return  # it was never made, or has already got its place
