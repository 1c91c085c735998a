"""Reading in the workspace: contained file access by directory handles.

Every path is opened from the workspace's own handle, component by component, without following links. So
another process that changes the tree meanwhile cannot lead an operation out of it: there is no moment between
a check and its use.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from clada.errors import CladaError, from_os_error
from clada.world.files.content import Version, now, read_regular
from clada.world.files.directories import Directories, Limits, open_workspace
from clada.world.files.paths import (
    OUTSIDE,
    Parts,
    display_path,
    inside,
    locate,
    locate_inside,
    parts_outside,
    protect,
)
from clada.world.files.stat import Entry, Identity, entry_of, identity_of, os_errors
from clada.world.handles import READ, has_no_xattrs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

TAIL = 1 << 16  # bytes at the end of a large file that show its encoding and its line ending
ANY_WRITE = 0o222  # the bits of a mode that let a user write
ROOTS = ((), (OUTSIDE,))  # which can neither be replaced nor removed


class WorkspaceReader:
    """File access inside one directory, for one run. Every error is a CladaError."""

    def __init__(
        self, directory: str = ".", *, allow_escape: bool = False, limits: Limits | None = None
    ) -> None:
        self.allow_escape = allow_escape
        self.limits = limits or Limits()
        self.touched: set[Parts] = set()  # the paths that were changed, for the commit
        self._root, self.root = open_workspace(directory)
        self.identity: Identity = identity_of(os.fstat(self._root))
        self._directories = Directories(self._root, self.touched, self.limits)
        # The last path, because many edits in a row name the same.
        self._located: tuple[str, Parts] = ("", ())
        self._read: tuple[Parts, Version] | None = None  # the last file, if nothing else was read since

    def flush(self) -> None:
        """Write changes that are held in memory, before anything is read. A reader holds none."""

    # Paths.

    def locate(self, path: str, base: Parts = ()) -> Parts:
        """Return the parts of a path as a document writes it."""
        if path == self._located[0] and not base:
            return self._located[1]
        parts = locate(path, self.root, base, allow_escape=self.allow_escape)
        if len(parts) > 1 and parts[0] == OUTSIDE:
            parts = self._by_other_names(parts)
            protect(parts)
        elif not base:
            self._located = path, parts
        return parts

    def _by_other_names(self, parts: Parts) -> Parts:
        """Return the parts below the workspace if an outside path leads into it by a link, or a mount.

        Outside, links on the way are followed; a link at the end of the path is not.
        """
        real = parts_outside(os.path.realpath(display_path(parts[:-1]))) + parts[-1:]
        found = inside(real, self.root)
        if found[:1] != (OUTSIDE,):
            return found
        for size in range(len(real), 1, -1):
            if _identity_at(display_path(real[:size])) == self.identity:
                return real[size:]
        return parts

    def locate_directory(self, path: str, base: Parts = ()) -> Parts:
        """Return the parts of a directory to run in; it may be an absolute path inside the workspace."""
        inside = locate_inside(path, self.root)
        return self.locate(path, base) if inside is None else self.locate("/".join(inside))

    def lineage(self) -> set[Identity]:
        """Return the identities of the workspace and of all directories above it."""
        found: set[Identity] = set()
        up = "."
        while (above := identity_of(os.stat(up, dir_fd=self._root))) not in found:
            found.add(above)
            up += "/.."
        return found

    # Reading. A link is never followed, and none is allowed on the way.

    def entry(self, parts: Parts) -> Entry | None:
        """Return the entry at a path, or None."""
        self.flush()
        self._read = None
        if not parts:
            return entry_of(os.fstat(self._root))
        try:
            return entry_of(
                os.stat(parts[-1], dir_fd=self._directories.handle(parts[:-1]), follow_symlinks=False)
            )
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(error) from None
        except CladaError as raised:
            if raised.error.type == "file_not_found":
                return None
            raise

    def is_read_only(self, parts: Parts) -> bool:
        """Whether the mode of a file lets no user write it. Content that is held stays in memory."""
        if parts in ROOTS:
            return False
        try:
            parent = self._directories.handle(parts[:-1])
            mode = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode
        except (OSError, CladaError):
            return False
        return not mode & ANY_WRITE

    def names(self, parts: Parts) -> list[str]:
        """Return the names in a directory, sorted."""
        self.flush()
        with os_errors():
            return sorted(os.listdir(self._directories.handle(parts)))

    def load(self, parts: Parts, *, to_edit: bool = False) -> bytes:
        """Return the content of a regular file."""
        self.flush()
        start = now()
        with os_errors(), self._open_entry(parts, READ) as fd:
            status, data = read_regular(fd)
            bare = to_edit and has_no_xattrs(fd)  # cheap while the file is open
        self._read = (parts, Version(status, data, start, bare=bare))
        return data

    def _load_tail(self, parts: Parts) -> tuple[bytes, Version]:
        """Return the end of a large file, from the start of a character, and the version that was read."""
        start = now()
        with os_errors(), self._open_entry(parts, READ) as fd:
            status = os.fstat(fd)
            data = os.pread(fd, TAIL, max(0, status.st_size - TAIL))
        inner = next((at for at in range(4) if data[at : at + 1] and data[at] & 0xC0 != 0x80), 0)  # noqa: PLR2004
        return data[inner:], Version(status, data, start)

    @contextmanager
    def _open_entry(self, parts: Parts, flags: int) -> Iterator[int]:
        """Open an entry for the time of a context."""
        if parts in ROOTS:
            raise is_root_error(parts)
        fd = os.open(parts[-1], flags, dir_fd=self._directories.handle(parts[:-1]))
        try:
            yield fd
        finally:
            os.close(fd)

    def handle(self, parts: Parts) -> int:
        """Return a new handle of a directory, for a process to run in; the caller closes it."""
        self.flush()
        with os_errors():
            return os.dup(self._directories.handle(parts))

    def forget(self) -> None:
        """Close the kept directory handles: after a directory was moved, and before a command."""
        self._directories.forget_all()


def is_root_error(parts: Parts) -> CladaError:
    """Return the error of a change to the workspace, or to the root of the file system, itself."""
    return CladaError("permission_denied", f"is {'/' if parts else 'the workspace'} itself")


def _identity_at(path: str) -> Identity | None:
    try:
        return identity_of(os.lstat(path))
    except OSError:
        return None
