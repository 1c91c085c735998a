"""Replace, remove and move files while other programs may save them.

No system call compares a file and replaces it. So the file is first replaced, or renamed, in one step that
destroys nothing, and compared afterwards under a temporary name where no other program finds it. If it is
not the expected one, it goes back to its name: nothing that is saved at the last moment is lost. A file
system that cannot exchange two files compares first.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import partial

from clada.values import Value
from clada.world.files.content import Version, change_error
from clada.world.files.stat import Stamp, identity_of
from clada.world.handles import NO_FOLLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clada.world.files.scratch import Scratch
    from clada.world.files.stat import Save

PATH_ONLY = getattr(os, "O_PATH", 0)  # opens any entry, without the right to read it
MAX_SAVES = 1000  # of another program, one after the other, while a file goes back to its name


class Name(Value):
    """A name in an open directory; without a directory, a path."""

    folder: int | None
    name: str

    def status(self) -> os.stat_result | None:
        """Return the status of the entry; None if there is none."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def save(self) -> Save | None:
        """Return what differs once the entry is saved or replaced; None if there is none."""
        status = self.status()
        return Stamp.of(status).content if status else None

    def unlink(self) -> None:
        """Remove the entry, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self.folder)


# The C library is loaded inside of these functions, because ctypes takes 3 ms.


def _exchange(one: Name, other: Name) -> bool:
    from clada.world import libc

    return libc.exchange(one.name, other.name, one.folder, other.folder)


def rename_to_new(source: Name, target: Name) -> None:
    """Rename an entry; raise FileExistsError if there is something at the target."""
    from clada.world import libc

    libc.rename_to_new(source.name, target.name, source.folder, target.folder)


def replace(new: Name, target: Name, expected: Version | None, confirm: Callable[[], None]) -> bool:
    """Put a new file in the place of the expected one; return False, with all as before, if another is there.

    None expects that there is no file. Afterwards, `new` is the name of the file that was replaced. `confirm`
    is called right before, and raises if the directory is not in place any more.
    """
    if expected is None:
        confirm()
        try:
            rename_to_new(new, target)
        except FileExistsError:
            return False
        return True
    with _pinned(new) as ours, _pinned(target) as there:
        if not ours or not there or identity_of(there()) != expected.identity:
            return False
        placed = Stamp.of(ours()).content
        confirm()
        try:
            if not _exchange(new, target):
                is_expected = expected.is_at(target.folder, target.name)
                if is_expected:
                    os.rename(new.name, target.name, src_dir_fd=new.folder, dst_dir_fd=target.folder)
                return is_expected
        except FileNotFoundError:
            return False  # it was removed at this moment
        is_expected = False
        try:
            # Without a file, a file system (by FUSE) has ignored the flag, and replaced the file.
            is_expected = new.status() is None or _is_expected(new, there, expected)
        finally:
            if not is_expected:
                _give_back(new, target, placed, ours)
    return is_expected


def remove(target: Name, expected: Version, scratch: Scratch, path: str, confirm: Callable[[], None]) -> bool:
    """Remove the expected file; return False, with all as before, if another is there.

    `path` is that of the target, for the note by which the next run completes this after a kill. `confirm` is
    called right before, and raises if the directory is not in place any more.
    """
    with _pinned(target) as there:
        if not there or identity_of(there()) != expected.identity:
            return False
        held = scratch.take(target, path, expected, confirm)
        try:
            if _is_expected(held, there, expected):
                held.unlink()
                return True
            return False
        finally:
            if not drop(held, target, None, None):
                held.unlink()  # it was saved once more, and this is an old version
            scratch.forget(held.name)


class Move(Value):
    """A file or directory to be moved, and the one that it replaces, as they are expected to be."""

    source: Name
    target: Name
    moved: Version
    replaced: Version | None
    path: str  # of the source, for a note
    confirm: Callable[[], None]  # raises if one of the directories is not in place any more
    is_complete: Callable[[], bool]  # whether all that is in a moved directory is as expected

    def make(self, scratch: Scratch) -> bool:
        """Move it; return False, with all as before, if another program has saved something of it."""
        if self.replaced and self.replaced.identity == self.moved.identity:
            self.confirm()
            self._rename()  # two names of one file
            return True
        return self._move_directory() if self.moved.is_directory else self._move_file(scratch)

    def _rename(self) -> None:
        folders = {"src_dir_fd": self.source.folder, "dst_dir_fd": self.target.folder}
        os.rename(self.source.name, self.target.name, **folders)

    def _move_file(self, scratch: Scratch) -> bool:
        """Move a file by way of a temporary name: so it is certain at which of both names a save was made."""
        with _pinned(self.source) as there:
            if not there or identity_of(there()) != self.moved.identity:
                return False
            held = scratch.take(self.source, self.path, self.replaced, self.confirm)
            try:
                if not _is_expected(held, there, self.moved):
                    return False
                if not replace(held, self.target, self.replaced, self.confirm):
                    return False
                held.unlink()  # this was the name of the replaced file
                return True
            finally:
                if not drop(held, self.source, None, self.replaced.save if self.replaced else None):
                    held.unlink()  # it was saved once more, and this is an old version
                scratch.forget(held.name)

    def _move_directory(self) -> bool:
        """Rename a directory; back again if something was saved in it at this moment."""
        self.confirm()
        try:
            if self.replaced:
                self._rename()  # the system refuses that if there is a file in it
            else:
                rename_to_new(self.source, self.target)
        except FileExistsError:
            return False
        if self.moved.is_at(self.target.folder, self.target.name) and self.is_complete():
            return True
        with suppress(FileExistsError):  # then the user has made another one
            rename_to_new(self.target, self.source)
            if self.replaced:
                os.mkdir(self.target.name, dir_fd=self.target.folder)
        return False


def drop(held: Name, target: Name, ours: Save | None, expected: Save | None) -> bool:
    """Remove a temporary file of a step that did not end, if it is one of these two.

    Another one was saved at the target, and goes back there. Return False if it stays, because there is a
    newer file at the target.
    """
    found = held.save()
    if found is not None and found not in (ours, expected):
        there = target.save()
        if there is None:
            rename_to_new(held, target)
        elif there != ours or not _exchange(held, target):
            return False
    held.unlink()
    return True


@contextmanager
def _pinned(name: Name) -> Iterator[Callable[[], os.stat_result] | None]:
    """Yield a function that returns the status of a file under any later name; None without a file.

    On some overlay file systems, a file gets another inode when it is first renamed, which its handle shows.
    """
    if not PATH_ONLY:  # opening a pipe could block
        status = name.status()
        yield (lambda: status) if status else None
        return
    try:
        handle = os.open(name.name, PATH_ONLY | NO_FOLLOW, dir_fd=name.folder)
    except FileNotFoundError:
        yield None
        return
    try:
        yield partial(os.fstat, handle)
    finally:
        os.close(handle)


def _is_expected(held: Name, pinned: Callable[[], os.stat_result], expected: Version) -> bool:
    """Whether a name holds the pinned file, as it was expected."""
    status = held.status()
    if status is None or identity_of(status) != identity_of(pinned()):
        return False
    return expected.is_same(status, held.folder, held.name)


def _give_back(held: Name, target: Name, placed: Save | None, ours: Callable[[], os.stat_result]) -> None:
    """Exchange a file with the one that was put at its name, until no save came between.

    Each time another file comes out than the one that was `placed` there, that is a newer save. Raise
    CladaError if our own file is gone by then.
    """
    is_ours = True
    for _ in range(MAX_SAVES):
        returned = held.save()
        try:
            _exchange(held, target)
        except FileNotFoundError:
            if ours().st_nlink:  # our file was moved elsewhere, and the other one is still wanted
                with suppress(FileExistsError):
                    rename_to_new(held, target)
            break
        if held.save() == placed:
            if is_ours:
                return
            break
        placed, is_ours = returned, False
    held.unlink()
    raise change_error()
