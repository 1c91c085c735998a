"""The scratch directory: where new content has a name until it replaces a file.

It is outside the workspace, so that a temporary file is neither committed nor confused with a user's file if
clada is killed at this moment: in the record of the run, or else below $XDG_STATE_HOME. If that is on another
file system, the temporary file has to be in the workspace; a link in the scratch directory notes its path
first, and the next run removes it.
"""

from __future__ import annotations

import os

from clada.world.handles import OWNER_ALL, is_process_gone, open_directory
from clada.world.xdg import state_home

LEFTOVER = ".clada-tmp-"  # followed by the process ID and a random number
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

    def note(self, name: str, folder: str) -> None:
        """Note that a temporary file gets this name in a directory of the workspace, if possible."""
        try:
            os.symlink(os.path.join(folder, name), name, dir_fd=self.handle)
        except OSError:
            return

    def forget(self, name: str) -> None:
        """Remove a note."""
        try:
            os.unlink(name, dir_fd=self.handle)
        except OSError:
            return

    def clear(self) -> None:
        """Remove temporary files of killed processes: here, and in the workspace where a note says so."""
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
    """Whether a name is one of ours, and its process is gone."""
    pid, _, chance = name.removeprefix(LEFTOVER).partition("-")
    if not name.startswith(LEFTOVER) or len(chance) != 2 * CHANCE:
        return False
    if not (pid.isascii() and pid.isdigit() and len(pid) <= MAX_DIGITS):
        return False
    return is_process_gone(int(pid))
