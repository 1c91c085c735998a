"""The scratch directory: where new content has a name until it replaces a file.

It is outside the workspace, so that a temporary file is neither committed nor confused with a user's file if
clada is killed at this moment: in the record of the run, or else below $XDG_STATE_HOME. If that is on another
file system, the temporary file has to be in the workspace.

A temporary file may also hold what was at its target a moment ago (exchange.py). A link in the scratch
directory notes first which files are expected under that name, and the target. So the next run can remove it,
or put it back if it is a save of another program.
"""

from __future__ import annotations

import errno
import os

from clada.errors import CladaError
from clada.world.files.exchange import Name, drop, rename_to_new
from clada.world.handles import OWNER_ALL, is_process_gone, open_directory
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.world.files.content import Version
    from clada.world.files.stat import Save

LEFTOVER = ".clada-tmp-"  # followed by the process ID and a random number
NOTE = ".note"  # after the name of the temporary file
SCRATCH, BESIDE = "scratch", "beside"  # where the temporary file is: here, or in the directory of its target
NONE, NEW = "-", "new"  # in place of a save: no file, or one that was only ever ours
NOT_HERE = (errno.EXDEV, errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
CHANCE = 8  # bytes of the random number
MAX_DIGITS = 9  # of a process ID


def scratch_name() -> str:
    """Return a name that no file has."""
    return f"{LEFTOVER}{os.getpid()}-{os.urandom(CHANCE).hex()}"


class Scratch:
    """One scratch directory, created when it is first needed; if that fails, `handle` is -1."""

    def __init__(self, directory: str | None = None) -> None:
        """Take the directory of a record; None stands for that of unrecorded runs."""
        self._directory, self._is_recorded = directory, directory is not None
        self._handle: int | None = None

    @property
    def handle(self) -> int:
        """The handle of the directory."""
        if self._handle is None:
            self._handle = self._open()
            self.clear()
        return self._handle

    def _path(self) -> str:
        if self._directory is None:
            self._directory = os.path.join(state_home(), "clada", "scratch")
        return self._directory

    def _open(self) -> int:
        path = self._path()
        try:
            # A record that was removed, perhaps with its repository, is not created again.
            if not self._is_recorded:
                os.makedirs(os.path.dirname(path), OWNER_ALL, exist_ok=True)
            if not os.path.isdir(path):
                os.mkdir(path, OWNER_ALL)
            handle = open_directory(path)
        except OSError:
            return -1
        if os.fstat(handle).st_uid == os.geteuid():
            return handle
        os.close(handle)
        return -1

    def note_new(self, name: str, path: str) -> None:
        """Note, if possible, that a new file gets this temporary name beside its target."""
        self._note(name, NEW, NONE, BESIDE, path)

    def note(self, name: str, path: str, where: str, ours: Save | None, expected: Version | None) -> bool:
        """Note, if possible, that a temporary file has this name, and the path of its target.

        It holds our new file, or the one that is expected at the target; any other is another program's.
        Return whether it was possible.
        """
        return self._note(name, _format(ours), _format(expected.save if expected else None), where, path)

    def _note(self, name: str, *fields: str) -> bool:
        self.forget(name)
        try:
            os.symlink(" ".join(fields), name + NOTE, dir_fd=self.handle)
        except OSError:
            return False
        return True

    def forget(self, name: str) -> None:
        """Remove a note."""
        try:
            os.unlink(name + NOTE, dir_fd=self.handle)
        except OSError:
            return

    def take(self, target: Name, path: str, expected: Version | None, confirm: Callable[[], None]) -> Name:
        """Rename the file at a target to a temporary name: here, or beside it; return that name.

        After a kill, the next run removes the expected file of that name; any other is put back. `confirm` is
        called right before, and may raise.
        """
        name = scratch_name()
        for where, folder in ((SCRATCH, self.handle), (BESIDE, target.folder)):
            if folder == -1:
                continue
            if not self.note(name, path, where, None, expected) and where == SCRATCH:
                continue  # after a kill, a file here without a note would be removed as one of ours
            try:
                confirm()
                rename_to_new(target, Name(folder, name))
            except (OSError, CladaError) as error:  # an interrupt may come after the rename: the note stays
                self.forget(name)
                elsewhere = where == SCRATCH and isinstance(error, OSError) and error.errno in NOT_HERE
                if not elsewhere:
                    raise
            else:
                break
        return Name(folder, name)

    def clear(self) -> list[str]:
        """Remove temporary files of killed processes, or put them back; return the paths that were missing.

        A file goes back if its move was not complete, or if another program saved it at the last moment.
        """
        path, restored = self._path(), list[str]()
        try:
            names = sorted(filter(_is_abandoned, os.listdir(path)), key=lambda name: not name.endswith(NOTE))
        except OSError:
            return []
        for name in names:
            entry = Name(None, os.path.join(path, name))
            try:
                if not name.endswith(NOTE):
                    is_done = not os.path.lexists(entry.name + NOTE)
                else:
                    note = os.readlink(entry.name)
                    target = note.split(" ", 3)[-1]
                    was_missing = not os.path.lexists(target)
                    is_done = _settle(path, name.removesuffix(NOTE), note)
                    restored += [target] if was_missing and os.path.lexists(target) else []
                if is_done:
                    entry.unlink()
            except (OSError, ValueError):
                continue  # the next run will try again
        return restored

    def close(self) -> None:
        """Close the handle."""
        handle, self._handle = self._handle, None
        if handle is not None and handle >= 0:
            os.close(handle)


def _settle(directory: str, name: str, note: str) -> bool:
    """Remove a temporary file by its note, or put it back; return whether that is done."""
    ours, expected, where, target = note.split(" ", 3)
    folder = directory if where == SCRATCH else os.path.dirname(target)
    held = Name(None, os.path.join(folder, name))
    if ours == NEW:
        held.unlink()
        return True
    return drop(held, Name(None, target), _parse(ours), _parse(expected))


def _format(save: Save | None) -> str:
    return ".".join(map(str, save)) if save else NONE


def _parse(text: str) -> Save | None:
    if text == NONE:
        return None
    inode, size, modified = map(int, text.split("."))
    return inode, size, modified


def _is_abandoned(name: str) -> bool:
    """Whether a name is one of ours, and its process is gone."""
    pid, _, chance = name.removeprefix(LEFTOVER).removesuffix(NOTE).partition("-")
    if not name.startswith(LEFTOVER) or len(chance) != 2 * CHANCE:
        return False
    if not (pid.isascii() and pid.isdigit() and len(pid) <= MAX_DIGITS):
        return False
    return is_process_gone(int(pid))
