"""Protects `.git` and `.clada` from a command: saves them before it runs, and restores them after it.

Landlock cannot take a directory out of a writable one, and bubblewrap cannot protect what does not exist yet.
Only sample hooks are not examined. The objects of git are too many to be saved: new ones are removed, moved
ones are moved back, and a change of others is reported. A file that cannot be restored is never removed.
"""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import CladaError
from clada.text.escape import first_few
from clada.values import Value
from clada.world.files import paths
from clada.world.files.stat import Stamp
from clada.world.handles import OWNER_ALL, make_directory, open_directory, open_file, read, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The other names there are those by which another kind of file system knows the same directories.
PROTECTED = tuple(name for name in paths.PROTECTED if name.startswith("."))
IN_GIT_DIRECTORY = frozenset(("HEAD", "objects", "refs"))  # the names by which git recognises one
_HASH_START = 2  # letters in the name of a folder of objects
_MOST_CONTENT = 256 << 20  # bytes that are remembered; a change of more is reported but cannot be undone
_SMALL = 64 << 10  # bytes of a file that is remembered in any case: settings and hooks are not larger
# The path is missing, not a directory or not ours. Other errors, such as too many open files, are raised.
_OUT_OF_REACH = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}


class SavedEntry(Value):
    """A file, link or directory as it was."""

    status: os.stat_result
    content: bytes | None  # of a file, if it was remembered; of a link, where it leads

    @property
    def is_lost(self) -> bool:
        """Whether it was a file whose content cannot be restored."""
        return self.content is None and stat.S_ISREG(self.status.st_mode)

    def is_same(self, other: SavedEntry) -> bool:
        """Return whether it was not changed; the content of a file is not needed for that."""
        one, two = self.status, other.status
        if stat.S_ISREG(one.st_mode):  # no change leaves its last time as it was
            return Stamp.of(one) == Stamp.of(two)
        same_link = not stat.S_ISLNK(one.st_mode) or self.content == other.content
        return one.st_mode == two.st_mode and same_link


class Guard:
    """The protected directories of one workspace, by their paths in it, as they are when this is made."""

    def __init__(self, workspace: str, names: tuple[str, ...] = PROTECTED) -> None:
        self._workspace = open_directory(workspace)
        self._roots: dict[str, int | None] = {}
        self._closed: set[str] = set()  # directories that we could not look into
        self._folders_above = {path: _mode(path, self._workspace) for path in folders_above(names)}
        try:
            for name in names:
                self._roots[name] = _open_directory(name, self._workspace)
            self._before = dict(self._entries(with_content=True))
        except BaseException:
            self.close()
            raise

    def restore(self) -> list[str]:
        """Restore changed paths, and return them; raise CladaError if that fails. Called once."""
        try:
            failures = _try_each(self._clear_path, self._folders_above)
            moved = [name for name, root in self._roots.items() if root and self._was_moved(name, root)]
            failures |= _try_each(self._move_back, moved)
            before, after = self._before, dict(self._entries(with_content=False))
            if strayed := _find_moved_files(before, after):
                failures |= _try_each(lambda home: self._move(strayed[home], home), strayed)
                after = dict(self._entries(with_content=False))
            both = before.keys() & after.keys()
            different = [path for path in both if not before[path].is_same(after[path])]
            changed = sorted([*different, *(before.keys() ^ after.keys())])
            kept = {path for path in different if _is_kept(before[path], after[path])}
            wrong = {path for path in changed if path in after and path not in kept}
            tops = (path for path in changed if path in wrong and path.rpartition("/")[0] not in wrong)
            failures |= _try_each(self._remove, tops)
            failures |= _try_each(self._put_back, (path for path in changed if path in before))
            if failures:
                raise _restore_error(failures)
            return sorted({*moved, *changed})
        except OSError as error:
            raise _restore_error({"what the command changed": error}) from error
        finally:
            self.close()

    def close(self) -> None:
        """Close the directories, without putting anything back."""
        for root in (self._workspace, *self._roots.values()):
            if root is not None:
                os.close(root)

    def _entries(self, *, with_content: bool) -> Iterator[tuple[str, SavedEntry]]:
        """Return all entries of the protected directories, by path; no recursion, no link is followed."""
        room = _MOST_CONTENT if with_content else None
        folders: list[tuple[str, str]] = []  # each with the git directory that it is in
        for path in self._roots:
            if status := _status(path, self._workspace):
                yield path, SavedEntry(status, _content(path, self._workspace, status, room))
                folders += [(path, path)] if stat.S_ISDIR(status.st_mode) else []
        while folders:
            folder, top = folders.pop()
            handle = self._open_folder(folder, again=not with_content)
            if handle is None:
                continue
            try:
                with os.scandir(handle) as entries:  # which can be examined as long as the handle is open
                    found = {entry.name: entry for entry in entries}
                top = folder if found.keys() >= IN_GIT_DIRECTORY else top
                is_large, has_samples = _is_large(folder, top), folder == f"{top}/hooks"
                for name, entry in found.items():
                    if has_samples and name.endswith(".sample") and entry.is_file(follow_symlinks=False):
                        continue
                    path, status = f"{folder}/{name}", entry.stat(follow_symlinks=False)
                    if is_large and stat.S_ISREG(status.st_mode):
                        yield path, SavedEntry(status, None)
                    else:
                        content = _content(name, handle, status, room)
                        room = room and max(0, room - len(content or b""))
                        yield path, SavedEntry(status, content)
                        folders += [(path, top)] if stat.S_ISDIR(status.st_mode) else []
            finally:
                os.close(handle)

    def _open_folder(self, folder: str, *, again: bool) -> int | None:
        """Open a directory; `again` also one that the command has closed, with something in it perhaps."""
        if folder in self._closed:
            return None
        handle = _open_directory(folder, self._workspace)
        if handle is None and again:
            _try_each(lambda path: os.chmod(path, OWNER_ALL, dir_fd=self._workspace), [folder])
            return _open_directory(folder, self._workspace)
        if handle is None:
            self._closed.add(folder)
        return handle

    def _clear_path(self, folder: str) -> None:
        """Make sure that a folder above is one: through a link in its place, the way would lead elsewhere."""
        if not stat.S_ISDIR(_mode(folder, self._workspace)):
            self._remove(folder)
            os.mkdir(folder, stat.S_IMODE(self._folders_above[folder]), dir_fd=self._workspace)

    def _was_moved(self, name: str, root: int) -> bool:
        try:
            return not os.path.samestat(os.lstat(name, dir_fd=self._workspace), os.fstat(root))
        except OSError:
            return True

    def _move_back(self, name: str) -> None:
        """Move a protected directory back to its place: the open handle still knows where it is.

        A directory that is in its place is moved into it as a new entry: it may hold files that belong there.
        """
        place = os.readlink(f"/proc/self/fd/{self._roots[name]}")
        if os.path.isdir(place):
            aside = _new_name()
            os.rename(place, aside, dst_dir_fd=self._workspace)
            if _mode(name, self._workspace):
                self._move(name, f"{aside}/{aside}")
            self._move(aside, name)

    def _move(self, source: str, target: str) -> None:
        for folder in folders_above([target]):
            make_directory(folder, self._workspace)
        os.rename(source, target, src_dir_fd=self._workspace, dst_dir_fd=self._workspace)

    def _remove(self, path: str) -> None:
        """Remove the entry at a path; if that fails, move it aside."""
        try:
            remove_tree(path, self._workspace)
        except OSError:
            self._move(path, _new_name())

    def _put_back(self, path: str) -> None:
        entry = self._before[path]
        status, content = entry.status, entry.content or b""
        if stat.S_ISDIR(status.st_mode):
            make_directory(path, self._workspace)
        elif entry.content is None:
            raise OSError(errno.EFBIG, "its content was not remembered")
        else:
            self._remove(path)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(content, path, dir_fd=self._workspace)
            return
        if stat.S_ISREG(status.st_mode):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600, dir_fd=self._workspace), "wb") as file:
                file.write(content)
        os.chmod(path, stat.S_IMODE(status.st_mode), dir_fd=self._workspace)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=self._workspace)


def _find_moved_files(before: dict[str, SavedEntry], after: dict[str, SavedEntry]) -> dict[str, str]:
    """Return where files are now that cannot be put back, by their own places, which they have left."""
    lost = {before[path].status.st_ino: path for path in before.keys() - after.keys() if before[path].is_lost}
    new = {path: after[path].status.st_ino for path in after.keys() - before.keys()} if lost else {}
    return {lost[inode]: path for path, inode in new.items() if inode in lost}


def _new_name() -> str:
    return f"undone-{os.urandom(4).hex()}"


def _is_kept(before: SavedEntry, after: SavedEntry) -> bool:
    """Return whether something stays where it is: a directory, and a file that cannot be put back."""
    if before.is_lost:
        return stat.S_ISREG(after.status.st_mode)
    return stat.S_ISDIR(before.status.st_mode) and stat.S_ISDIR(after.status.st_mode)


def _is_large(folder: str, top: str) -> bool:
    """Return whether a folder of this git directory holds objects, which are too many to be remembered."""
    first, _, rest = folder[len(top) + 1 :].partition("/")
    second = rest.partition("/")[0]
    if first == "objects":  # but not its `info`, which says where other objects are
        return second == "pack" or len(second) == _HASH_START
    return (first, second) == ("lfs", "objects")


def _open_directory(name: str, directory: int) -> int | None:
    try:
        return open_directory(name, directory)
    except OSError as error:  # missing, or a file as in a linked worktree
        if error.errno in _OUT_OF_REACH:
            return None
        raise


def _try_each(action: Callable[[str], None], paths: Iterable[str]) -> dict[str, OSError]:
    """Do this with every path, even if it fails with others; return the failures."""
    failures: dict[str, OSError] = {}
    for path in paths:
        try:
            action(path)
        except OSError as error:
            failures[path] = error
    return failures


def _restore_error(failures: dict[str, OSError]) -> CladaError:
    listed = first_few(sorted(failures))
    reason = next(iter(failures.values())).strerror
    return CladaError(
        "permission_denied", f"{listed} could not be put back: {reason}", "look at it before you go on"
    )


def _content(name: str, directory: int, status: os.stat_result, room: int | None) -> bytes | None:
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=directory))
    if room is None or not stat.S_ISREG(status.st_mode) or status.st_size > max(room, _SMALL):
        return None
    try:
        handle = open_file(name, directory)
    except PermissionError:
        return None
    try:
        return read(handle, status.st_size)
    finally:
        os.close(handle)


def _status(path: str, directory: int) -> os.stat_result | None:
    """Return the status of a path; None if it is missing."""
    try:
        return os.lstat(path, dir_fd=directory)
    except OSError as error:
        if error.errno in _OUT_OF_REACH:
            return None
        raise


def _mode(path: str, directory: int) -> int:
    """Return the mode of a path; 0 if it is missing."""
    status = _status(path, directory)
    return status.st_mode if status else 0


def folders_above(paths: Iterable[str]) -> list[str]:
    """Return the folders in which these relative paths lie, the outer ones first."""
    found: set[str] = set()
    for path in paths:
        while path := path.rpartition("/")[0]:
            found.add(path)
    return sorted(found)
