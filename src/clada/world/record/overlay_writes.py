"""Moves the writes of a command from its overlay into the workspace, unless others changed the paths.

The upper directory of an overlay has all files that the command made or changed. A character device 0:0 means
that the command removed the path; an attribute marks a directory that replaces the one below it.
"""

from __future__ import annotations

import os
from stat import S_IMODE, S_ISCHR, S_ISDIR, S_ISREG

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.directories import Limits
from clada.world.files.paths import display_path, is_protected
from clada.world.files.workspace import Workspace
from clada.world.handles import OWNER_ALL, open_directory, open_file
from clada.world.record.states import state_at
from clada.world.record.tree_diff import format_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.files.paths import Parts
    from clada.world.record.snapshot import Snapshot
    from clada.world.sandbox.overlay import CommandOverlay
    from clada.world.sandbox.tree import Tree

OPAQUE, OWN = "user.overlay.opaque", "user.overlay."
MOST_IN_JOURNAL = 1 << 20  # bytes of new content that are written to the journal; of a larger one, the digest
PIECE = 1 << 20
NO_LIMITS = (1 << 62, 1 << 62)  # the limits of a document are not those of its commands


class NewDirectory(Value):
    """A directory that the command made, or whose mode it changed."""

    parts: Parts
    mode: int
    is_new: bool


class OverlayWrites:
    """The writes of a command in its overlay; none of them is in the workspace yet."""

    def __init__(self, overlay: CommandOverlay, tree: Tree | None) -> None:
        """Read the overlay of a command that has ended; `tree` is the workspace before it began."""
        self._tree = tree
        self._upper, self._lower, self._started = overlay.upper, overlay.workspace, overlay.started
        self.removed: list[tuple[Parts, bool]] = []  # with whether it is a directory; the deepest first
        self.directories: list[NewDirectory] = []  # the outer ones first
        self.files: list[Parts] = []  # and links, pipes and sockets
        self.touched: list[tuple[Parts, os.stat_result]] = []  # files of which only the times changed
        self.repositories: list[Parts] = []  # `.git` and the like, which are not recorded
        self.conflicts: list[str] = []  # paths that other programs changed while the command ran
        self._read()

    def _read(self) -> None:
        self._directory((), os.lstat(self._upper), os.lstat(self._lower))
        waiting: list[tuple[Parts, bool]] = [((), False)]
        while waiting:
            folder, hides = waiting.pop()
            path = self._in(self._upper, folder)
            hides = hides or _attribute(path, OPAQUE) == b"y"
            _make_readable(path)
            with os.scandir(path) as found:
                entries = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found]
            if hides:
                names = {name for name, _status in entries}
                self._remove_others(folder, names)
            for name, status in entries:
                if self._entry((*folder, name), status):
                    waiting.append(((*folder, name), hides))

    def _entry(self, parts: Parts, status: os.stat_result) -> bool:
        """Add an entry; return whether it is a directory to read."""
        below = _status(self._in(self._lower, parts))
        if is_protected(parts[-1]):
            self.repositories.append(parts)
            return False
        if S_ISCHR(status.st_mode) and status.st_rdev == 0:
            if below:
                self._remove(parts, below)
            return False  # else both have removed it
        if below is None and self._tree and self._tree.has(display_path(parts)):
            self.conflicts.append(display_path(parts))  # it was there when the command began
        if S_ISDIR(status.st_mode):
            self._directory(parts, status, below)
            return True
        self._file(parts, status, below)
        return False

    def _directory(self, parts: Parts, status: os.stat_result, below: os.stat_result | None) -> None:
        if below and not S_ISDIR(below.st_mode):
            self._remove(parts, below)
            below = None
        mode = S_IMODE(status.st_mode)
        if below is None or S_IMODE(below.st_mode) != mode:
            self.directories.append(NewDirectory(parts, mode, is_new=below is None))

    def _file(self, parts: Parts, status: os.stat_result, below: os.stat_result | None) -> None:
        if below and S_ISDIR(below.st_mode):
            self._remove(parts, below)
        elif below:
            self._check(parts, below)
            if self._is_same(parts, status, below):
                self.touched.append((parts, status))
                return
        self.files.append(parts)

    def _remove_others(self, folder: Parts, names: set[str]) -> None:
        """Add the removal of everything in a directory except these names."""
        try:
            there = os.listdir(self._in(self._lower, folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in there:
            below = _status(self._in(self._lower, (*folder, name))) if name not in names else None
            if below:
                self._remove((*folder, name), below)

    def _remove(self, parts: Parts, below: os.stat_result) -> None:
        self._check(parts, below)
        is_directory = S_ISDIR(below.st_mode)
        if is_directory:
            self._remove_others(parts, set())
        self.removed.append((parts, is_directory))

    def _check(self, parts: Parts, below: os.stat_result) -> None:
        """Add a conflict if the path was changed since the command began, which changed the overlay only."""
        if below.st_ctime_ns > self._started:
            self.conflicts.append(display_path(parts))

    def _is_same(self, parts: Parts, status: os.stat_result, below: os.stat_result) -> bool:
        if not (S_ISREG(status.st_mode) and S_ISREG(below.st_mode)):
            return False
        if (status.st_mode, status.st_size) != (below.st_mode, below.st_size):
            return False
        one, two = (self._in(top, parts) for top in (self._upper, self._lower))
        return _attributes(one) == _attributes(two) and _has_same_bytes(one, two)

    def _in(self, top: str, parts: Parts) -> str:
        return "/".join((top, *parts))

    @property
    def paths(self) -> list[str]:
        """All changed paths, except those of which only the times changed."""
        places = (
            *(parts for parts, _ in self.removed),
            *(each.parts for each in self.directories),
            *self.files,
        )
        return list(dict.fromkeys(map(display_path, places)))

    def refuse(self) -> None:
        """Raise if the writes cannot be moved into the workspace."""
        own = [display_path(parts) for parts in self.repositories if len(parts) == 1]
        if own:
            hint = "commands cannot change repositories and approvals; --sandbox=off runs them without this"
            raise CladaError(
                "permission_denied", f"the command made {format_paths(own)}: nothing of it was kept", hint
            )
        if self.conflicts:
            paths = format_paths(self.conflicts, None)
            message = (
                f"changed by another program while the command ran: {paths}; nothing of the command was kept"
            )
            raise CladaError("io_error", message, "look at them, and try again")

    def put_in_place(self, snapshot: Snapshot) -> None:
        """Change the workspace, and record each change first; raise if others changed one of the paths."""
        self.refuse()
        limits = Limits(*NO_LIMITS)
        with Workspace(self._lower, limits=limits) as workspace:
            workspace.record_in(snapshot)
            for parts, is_directory in self.removed:
                (workspace.remove_directory if is_directory else workspace.unlink)(parts)
            for each in self.directories:
                if each.is_new:
                    workspace.make(each.parts, OWNER_ALL)
            self._move_files(workspace)
            for parts, status in self.touched:
                workspace.set_times(parts, status.st_atime_ns, status.st_mtime_ns)
            for each in reversed(self.directories):
                workspace.set_mode(each.parts, each.mode)
        for parts in self.repositories:
            os.rename(self._in(self._upper, parts), self._in(self._lower, parts))

    def _move_files(self, workspace: Workspace) -> None:
        for parts in self.files:
            path = self._in(self._upper, parts)
            _remove_own_attributes(path)
            folder = open_directory(os.path.dirname(path))
            try:
                state = state_at(folder, parts[-1], MOST_IN_JOURNAL)
                workspace.adopt(parts, folder, state, self._started)
            finally:
                os.close(folder)


def _make_readable(path: str) -> None:
    """Make a directory readable that the command has closed."""
    mode = S_IMODE(os.lstat(path).st_mode)
    if mode & OWNER_ALL != OWNER_ALL:
        os.chmod(path, mode | OWNER_ALL)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _attribute(path: str, name: str) -> bytes | None:
    try:
        return os.getxattr(path, name, follow_symlinks=False)
    except OSError:
        return None


def _attributes(path: str) -> dict[str, bytes | None]:
    """Return the extended attributes, except those of overlayfs."""
    names = (name for name in os.listxattr(path, follow_symlinks=False) if not name.startswith(OWN))
    return {name: _attribute(path, name) for name in names}


def _remove_own_attributes(path: str) -> None:
    """Remove the extended attributes of overlayfs from a file."""
    for name in os.listxattr(path, follow_symlinks=False):
        if name.startswith(OWN):
            os.removexattr(path, name, follow_symlinks=False)


def _has_same_bytes(one: str, two: str) -> bool:
    try:
        with open(open_file(one), "rb") as first, open(open_file(two), "rb") as second:
            while piece := first.read(PIECE):
                if piece != second.read(PIECE):
                    return False
            return not second.read(1)
    except OSError:
        return False  # it cannot be read: take it for changed
