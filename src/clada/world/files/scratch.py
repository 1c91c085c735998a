"""Where new content has a name before it takes the place of a file: outside of the workspace.

There it can be neither committed nor confused with a file of the user, if clada is killed at this moment.
The directory is in the record of the run, or else below $XDG_STATE_HOME. If that is on another file system,
the name has to be in the workspace; a link in this directory notes it first, and the next run removes it.
"""

from __future__ import annotations

import os

from clada.world.handles import OWNER_ALL, open_directory
from clada.world.xdg import state_home

LEFTOVER = ".clada-tmp-"  # then the process and a random number
CHANCE = 8  # bytes of it
MAX_DIGITS = 9  # of a process


def scratch_name() -> str:
    """Return a name that no file has."""
    return f"{LEFTOVER}{os.getpid()}-{os.urandom(CHANCE).hex()}"


class Scratch:
    """One such directory. It is made when it is first needed; where it cannot be, `handle` is -1."""

    def __init__(self, directory: str | None = None) -> None:
        """Take a directory of a record; None stands for the one of runs that are not recorded."""
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
            if not self._is_recorded:  # a record that is gone, with its repository perhaps, is not made anew
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

    def note(self, name: str, folder: str) -> None:
        """Note that a file gets this name in a directory of the workspace, as far as that is possible."""
        try:
            os.symlink(os.path.join(folder, name), name, dir_fd=self.handle)
        except OSError:
            return

    def forget(self, name: str) -> None:
        """Remove such a note."""
        try:
            os.unlink(name, dir_fd=self.handle)
        except OSError:
            return

    def clear(self) -> None:
        """Remove what killed processes have left here, and in the workspace by names that are noted here."""
        path = self._path()
        try:
            names = os.listdir(path)
        except OSError:
            return
        for name in filter(_is_abandoned, names):
            entry = os.path.join(path, name)
            if os.path.islink(entry) and os.path.basename(noted := os.readlink(entry)) == name:
                _remove(noted)
            _remove(entry)

    def close(self) -> None:
        """Close the handle."""
        handle, self._handle = self._handle, None
        if handle is not None and handle >= 0:
            os.close(handle)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _is_abandoned(name: str) -> bool:
    """Whether a file has a name that we give, and the process that gave it is gone."""
    pid, _, chance = name.removeprefix(LEFTOVER).partition("-")
    if not name.startswith(LEFTOVER) or len(chance) != 2 * CHANCE:
        return False
    if not (pid.isascii() and pid.isdigit() and len(pid) <= MAX_DIGITS):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is another user's
    return False
