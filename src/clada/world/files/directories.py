"""The workspace's own directory, and handles of the directories below it.

Paths are opened without following links; missing directories are created on request; handles are kept,
because the next operation is often nearby.
"""

from __future__ import annotations

import errno
import os
import resource

from clada.errors import CladaError, from_os_error, reason
from clada.grammar import MAX_PATH, SHORT
from clada.world.files.paths import OUTSIDE, Parts, display_path, is_protected, protect
from clada.world.files.stat import Identity, entry_of, identity_of, not_a_directory
from clada.world.handles import DIRECTORY, NO_LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.record.snapshot import Snapshot

HANDLES = "/proc/self/fd"
DELETED = " (deleted)"  # what Linux adds to the path of a removed directory
MAX_HANDLES = 32  # upper limit of handles that are kept open
FAR = 8  # levels below the nearest kept handle: on longer paths, some handles on the way are kept, too
MAX_CLIMB = 1000  # levels that one path of `../` can go up


# The workspace.


def check_workspace(directory: str) -> None:
    """Raise CladaError if a directory cannot be a workspace, before anything is recorded or executed."""
    os.close(open_workspace(directory)[0])


def open_workspace(directory: str) -> tuple[int, str]:
    """Return a handle on the directory, and its path without links."""
    try:
        handle = os.open(directory, DIRECTORY)
    except OSError as error:
        raise _workspace_error(_open_error(error, directory)) from None
    try:
        path = _path_of(handle, directory)
    except CladaError as error:
        os.close(handle)
        raise _workspace_error(error) from None
    for part in path.split("/"):
        if is_protected(part):  # every file in it is protected, too
            os.close(handle)
            message = f"{path} is in a directory that is protected ({part})"
            raise _workspace_error(CladaError("permission_denied", message, "work outside it"))
    return handle, path


def _workspace_error(error: CladaError) -> CladaError:
    """Mark an error as one of the workspace itself: a mistake in the call, not in the document."""
    return CladaError.of(error.error.replace(stage="WORKSPACE"))


def _open_error(error: OSError, directory: str) -> CladaError:
    type_ = from_os_error(error).error.type
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return CladaError(type_, f"{directory} is not a directory")
    return CladaError(type_, f"{_absolute_path(directory)} cannot be opened: {reason(error)}")


def _absolute_path(directory: str) -> str:
    try:
        return os.path.abspath(directory)
    except OSError:
        return directory  # the current directory is gone


def _path_of(handle: int, directory: str) -> str:
    """Return the path of an open directory without links: as /proc has it, or by resolving them."""
    path = ""
    try:
        path = os.readlink(f"{HANDLES}/{handle}")
        if os.path.samestat(os.stat(path), os.fstat(handle)):
            return path
    except OSError:
        pass  # there is no /proc here, it may not be read, or the path is a special one
    try:
        return os.path.realpath(directory)
    except FileNotFoundError:  # there is no current directory any more
        place = path.removesuffix(DELETED) or "the current directory"
        raise CladaError("file_not_found", f"{place} has been removed") from None


# Directories below it.


class Limits:
    """Limits on what one document may create: a few lines of `cp -r` could double a tree without end."""

    def __init__(self, max_files: int = 200_000, max_bytes: int = 10 << 30) -> None:
        self.max_files, self.max_bytes = max_files, max_bytes  # directories count as files
        self._files = self._bytes = 0  # created so far

    def add(self, files: int, size: int) -> None:
        """Count new files and directories, and bytes that are written; raise CladaError beyond a limit."""
        files, size = self._files + files, self._bytes + size
        if files > self.max_files:
            raise _limit_error(f"{files:,} files and directories", f"{self.max_files:,}", "max_files")
        if size > self.max_bytes:
            raise _limit_error(f"{size:,} bytes", f"{self.max_bytes:,}", "max_bytes")
        self._files, self._bytes = files, size

    def check(self, files: int, size: int) -> None:
        """Raise CladaError if this many more would exceed a limit."""
        counted = self._files, self._bytes
        self.add(files, size)
        self._files, self._bytes = counted


def _limit_error(more: str, most: str, setting: str) -> CladaError:
    message = f"this document would create {more}, and {most} are allowed"
    return CladaError("io_error", message, f"the setting {setting} allows more")


class Directories:
    """Handles of the directories of one workspace, kept open for the next operation.

    Another program may move a directory while its handle is kept. So each time a handle is requested, it is
    checked that it still leads to its path; if not, the path is opened again. Callers do not close handles.
    """

    def __init__(self, root: int, touched: set[Parts] | None = None, limits: Limits | None = None) -> None:
        """Take the handle of the top; directories that are created below it are added to `touched`."""
        self._root, self._limits = root, limits or Limits()
        self._touched = set() if touched is None else touched
        self._root_identity = identity_of(os.fstat(root))
        self._kept: dict[Parts, tuple[int, Identity]] = {}  # the most recently used last
        self._most = _handle_limit()
        self.snapshot: Snapshot | None = None  # records each new directory before it is made
        self.made: list[Parts] = []  # directories that the current step has created

    def make(self, parts: Parts, *, check: bool = True) -> int:
        """Begin a step: return the handle of a directory, creating it and its parents if they are missing.

        With `check=False`, a kept handle is returned unchecked: the caller calls `confirm` before it acts.
        """
        self.made.clear()
        if not check and parts in self._kept:
            return self._kept[parts][0]
        return self.handle(parts, create=True)

    def forget_all(self) -> None:
        """Close the handles that are kept."""
        kept, self._kept = self._kept, {}
        for handle, _identity in kept.values():
            os.close(handle)

    def forget(self, parts: Parts) -> None:
        """Close the handle of one directory, if it is kept."""
        kept = self._kept.pop(parts, None)
        if kept is not None:
            os.close(kept[0])

    def remove_made(self) -> None:
        """Remove the directories that the current step has created, because it failed."""
        while self.made:
            parts = self.made.pop()
            self.forget(parts)
            try:
                os.rmdir(parts[-1], dir_fd=self.handle(parts[:-1]))
            except (OSError, CladaError):
                return  # another program has put something there
            self._touched.discard(parts)

    def confirm(self, parts: Parts, handle: int | None = None) -> None:
        """Raise CladaError if a directory is no longer at its path: called right before and after a change.

        The kept handle stays open, because the caller still has to clean up; the next request gets a new one.
        A caller with its own `handle` passes it, because the kept one may be another by now.
        """
        kept = self._kept.get(parts) if handle is None else (handle, identity_of(os.fstat(handle)))
        if parts and kept and not self._is_in_place(parts, *kept):
            message = f"{display_path(parts)} was moved or removed by another program at this moment"
            raise CladaError("io_error", message, "find where it is now: changes of this run may be there")

    def _is_in_place(self, parts: Parts, handle: int, identity: Identity) -> bool:
        """Whether a handle is the directory that its path leads to, and lies below the workspace.

        Following the path down is not enough, because it may lead through a link by now; going up from the
        handle is not enough either, because the directory may have been renamed.
        """
        try:
            if parts[0] == OUTSIDE:
                return identity_of(os.stat(display_path(parts))) == identity
            path = "/".join(parts)
            if len(path) > SHORT:
                found = _identity_below(self._root, os.fsencode(path))
            else:
                found = identity_of(os.stat(path, dir_fd=self._root, follow_symlinks=False))
            if found != identity:
                return False
            return len(parts) == 1 or _identity_above(handle, len(parts)) == self._root_identity
        except OSError:
            return False  # it is gone

    def handle(self, parts: Parts, *, create: bool = False) -> int:
        """Return the handle of a directory; with `create`, make it and its parents if they are missing.

        The handle may be closed once the next one is requested. Raise CladaError if a link or a file is in
        the way, and OSError if the directory does not exist.
        """
        if not parts:
            return self._root
        if parts in self._kept:
            if self._is_in_place(parts, *self._kept[parts]):
                self._kept[parts] = kept = self._kept.pop(parts)
                return kept[0]
            self.forget_all()  # handles below or beside it may be wrong, too
        walk = self._open_outside if parts[0] == OUTSIDE else self._open_path
        for size, handle in walk(parts, create=create).items():
            if len(self._kept) >= self._most:
                self.forget(next(iter(self._kept)))  # the least recently used
            self._kept[parts[:size]] = handle, identity_of(os.fstat(handle))
        return self._kept[parts][0]

    def _open_path(self, parts: Parts, *, create: bool) -> dict[int, int]:
        """Open a path component by component; return the handles to keep, by their depth, the last one last.

        Of a long path, the handles at 1, 2, 4, 8 … levels from its end are kept. So a caller that goes back
        up, level by level, finds one nearby, and the work does not grow with the square of the depth.
        """
        known = self._nearest_open(parts) if self._kept else 0
        handle, is_far = self._kept[parts[:known]][0] if known else self._root, len(parts) - known > FAR
        way: dict[int, int] = {}
        try:
            for at in range(known, len(parts)):
                parent, name, left = handle, parts[at], len(parts) - at
                try:
                    handle = os.open(name, NO_LINK, dir_fd=parent)
                except FileNotFoundError:
                    if not create:
                        raise
                    handle = self._make_and_open(parent, parts[: at + 1])
                except OSError as error:
                    raise _obstacle_error(
                        error, parent, name, "/".join(parts[: at + 1]), create=create
                    ) from None
                way[at + 1] = handle
                if at in way and not (is_far and left & (left - 1) == 0):
                    os.close(way.pop(at))
        except BaseException:
            for handle in way.values():
                os.close(handle)
            raise
        return way

    def _nearest_open(self, parts: Parts) -> int:
        """Return the depth of the nearest directory above whose handle is kept, and still in place."""
        nearest = parts[:-1] if parts[:-1] in self._kept else ()
        if not nearest and len(parts) > FAR:
            ways = [way for way in self._kept if parts[: len(way)] == way]
            for way in ways:
                self._kept[way] = self._kept.pop(way)  # mark them as used
            nearest = max(ways, key=len, default=())
        if nearest and not self._is_in_place(nearest, *self._kept[nearest]):
            self.forget_all()
            return 0
        return len(nearest)

    def _make_and_open(self, parent: int, parts: Parts) -> int:
        self._limits.add(1, 0)
        try:
            if self.snapshot:
                self.snapshot.make(parts, parent)
            os.mkdir(parts[-1], dir_fd=parent)
            self._touched.add(parts)
            self.made.append(parts)
            if self.snapshot:
                self.snapshot.done(parts, parent)
        except FileExistsError:
            pass  # another program made it meanwhile: open it, if it is a directory
        except OSError as error:
            raise from_os_error(error, "/".join(parts)) from None
        try:
            return os.open(parts[-1], NO_LINK, dir_fd=parent)
        except OSError as error:
            raise _obstacle_error(error, parent, parts[-1], "/".join(parts), create=True) from None

    def _open_outside(self, parts: Parts, *, create: bool) -> dict[int, int]:
        """Do the same outside the workspace, where links on the way are followed."""
        path = display_path(parts)
        protect(tuple(os.path.realpath(path).split("/")))
        try:
            if create:
                self._make_outside(parts)
            return {len(parts): os.open(path, DIRECTORY)}
        except OSError as error:
            raise from_os_error(error, path) from None

    def _make_outside(self, parts: Parts) -> None:
        for size in range(2, len(parts) + 1):
            path = display_path(parts[:size])
            if not os.path.isdir(path):
                self._limits.add(1, 0)
                os.mkdir(path)
                self.made.append(parts[:size])


def _handle_limit() -> int:
    """Return how many handles may be kept open: fewer if the system allows only a few."""
    allowed, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_HANDLES if allowed < 0 else max(1, min(MAX_HANDLES, allowed // 8))


def _identity_below(handle: int, path: bytes) -> Identity:
    """Return the identity of a path below an open directory; a link at its end is not followed."""
    if len(path) < MAX_PATH:
        return identity_of(os.stat(path, dir_fd=handle, follow_symlinks=False))
    end = path.rindex(b"/", 0, MAX_PATH)
    half_way = os.open(path[:end], NO_LINK, dir_fd=handle)
    try:
        return _identity_below(half_way, path[end + 1 :])
    finally:
        os.close(half_way)


def _identity_above(handle: int, levels: int) -> Identity:
    """Return the identity of the directory this many levels above an open one."""
    if levels <= MAX_CLIMB:
        return identity_of(os.stat("../" * levels, dir_fd=handle))
    half_way = os.open("../" * MAX_CLIMB, DIRECTORY, dir_fd=handle)
    try:
        return _identity_above(half_way, levels - MAX_CLIMB)
    finally:
        os.close(half_way)


def _obstacle_error(error: OSError, parent: int, name: str, path: str, *, create: bool) -> CladaError:
    """Return the error of a directory that could not be opened: a link, a file, or no permission."""
    try:
        kind = entry_of(os.stat(name, dir_fd=parent, follow_symlinks=False)).kind
    except OSError:
        return from_os_error(error, path)
    if kind == "link":
        return CladaError("symlink_not_allowed", f"{path} is a symbolic link")
    if kind == "directory":
        return from_os_error(error, path)
    if create:
        return not_a_directory(path)
    message = f"no such file: {path} is not a directory"
    return CladaError("file_not_found", message, system=not_a_directory(path).system)
