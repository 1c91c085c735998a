"""The handles of directories: walked to through no link, made on the way, and kept for their neighbours."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.world.files.entries import entry_of, not_a_directory, trouble
from clada.world.files.paths import OUTSIDE, Parts, protect
from clada.world.handles import DIRECTORY, open_directory

MAX_HANDLES = 32  # kept open, for the next operation is often a neighbour


class Directories:
    """The directories of one workspace. The handles are its own: nobody else closes them."""

    def __init__(self, root: int, touched: set[Parts]) -> None:
        self._root, self._touched = root, touched
        self._handles: dict[Parts, int] = {}
        self.made: list[Parts] = []  # by the present step

    def handle(self, parts: Parts) -> int:
        """Return the handle of a directory that is there."""
        return self._reached(parts, create=False)

    def made_on_the_way(self, parts: Parts) -> int:
        """Return the handle of a directory, which is made if need be, with its parents."""
        return self._reached(parts, create=True)

    def forget_all(self) -> None:
        """Close the handles that are kept."""
        handles, self._handles = self._handles, {}
        for handle in handles.values():
            os.close(handle)

    def forget(self, parts: Parts) -> None:
        """Close the handle of one directory, if it is kept."""
        handle = self._handles.pop(parts, None)
        if handle is not None:
            os.close(handle)

    def unmake(self) -> None:
        """Remove what the present step has made, for it has failed."""
        while self.made:
            parts = self.made.pop()
            self.forget(parts)
            try:
                os.rmdir(parts[-1], dir_fd=self.handle(parts[:-1]))
            except (OSError, Trouble):
                return  # somebody else has put something there
            self._touched.discard(parts)

    def _reached(self, parts: Parts, *, create: bool) -> int:
        if not parts:
            return self._root
        known = self._handles.get(parts)
        if known is not None:
            return known
        walk = self._walk_outside if parts[0] == OUTSIDE else self._walk
        try:
            handle = walk(parts, create=create)
        except OSError as error:
            raise trouble(error) from None  # too many open files
        if len(self._handles) >= MAX_HANDLES:
            self.forget_all()
        self._handles[parts] = handle
        return handle

    def _walk(self, parts: Parts, *, create: bool) -> int:
        known = parts[:-1] if parts[:-1] in self._handles else ()
        handle = os.dup(self._handles[known] if known else self._root)
        for at in range(len(known), len(parts)):
            parent, name = handle, parts[at]
            try:
                handle = open_directory(name, parent)
            except FileNotFoundError as error:
                if not create:
                    raise trouble(error) from None
                handle = self._make_on_the_way(parent, parts[: at + 1])
            except OSError as error:
                raise _in_the_way(error, parent, name, "/".join(parts[: at + 1]), create=create) from None
            finally:
                os.close(parent)
        return handle

    def _make_on_the_way(self, parent: int, parts: Parts) -> int:
        try:
            os.mkdir(parts[-1], dir_fd=parent)
            self._touched.add(parts)
            self.made.append(parts)
        except FileExistsError:
            pass  # somebody made it meanwhile: open it, if it is a directory
        except OSError as error:
            raise trouble(error, "/".join(parts)) from None
        try:
            return open_directory(parts[-1], parent)
        except OSError as error:
            raise _in_the_way(error, parent, parts[-1], "/".join(parts), create=True) from None

    def _walk_outside(self, parts: Parts, *, create: bool) -> int:
        """Open a directory outside of the workspace, where links on the way are followed."""
        path = "/" + "/".join(parts[1:])
        protect(tuple(os.path.realpath(path).split("/")))
        try:
            if create:
                self._make_outside(parts)
            return os.open(path, DIRECTORY)
        except OSError as error:
            raise trouble(error, path) from None

    def _make_outside(self, parts: Parts) -> None:
        for size in range(2, len(parts) + 1):
            path = "/" + "/".join(parts[1:size])
            if not os.path.isdir(path):
                os.mkdir(path)
                self.made.append(parts[:size])


def _in_the_way(error: OSError, parent: int, name: str, path: str, *, create: bool) -> Trouble:
    """Return why a directory on the way could not be opened: a link, a file, or no permission."""
    try:
        kind = entry_of(os.stat(name, dir_fd=parent, follow_symlinks=False)).kind
    except OSError:
        return trouble(error, path)
    if kind == "link":
        return Trouble("symlink_not_allowed", f"{path} is a symbolic link")
    if kind == "directory":
        return trouble(error, path)
    if create:
        return not_a_directory(path)
    message = f"no such file: {path} is not a directory"
    return Trouble("file_not_found", message, system=not_a_directory(path).system)
