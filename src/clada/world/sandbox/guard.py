"""Protects `.git` and `.clada` from a command: remembers them before it runs, and puts them back after it.

Landlock cannot take a directory out of a writable one, and bubblewrap cannot protect what does not exist yet.
Only sample hooks are not looked at. The objects of git are, but they are too many to be remembered: new ones
are removed, and a change of the others is told.
"""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import Trouble
from clada.values import Value
from clada.world.files import paths
from clada.world.handles import open_directory, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The other names there are those by which another kind of file system knows the same directories.
PROTECTED = tuple(name for name in paths.PROTECTED if name.startswith("."))
_NOT_REMEMBERED = ("/objects/", "/lfs/")  # in paths: these are too large
_REMEMBERED = "/objects/info/"  # but not these, which say where other objects are
_FEW = 3  # changed paths that a message names
_MOST_CONTENT = 256 << 20  # bytes that are remembered; a change of more is reported but cannot be undone
# The path is missing, not a directory or not ours. Other errors, such as too many open files, are raised.
_OUT_OF_REACH = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}


class SavedEntry(Value):
    """A file, link or directory as it was."""

    mode: int
    stamp: tuple[int, ...]  # of a file: inode, size and times, which tell whether it was changed
    content: bytes | None  # of a file, if there was room to remember it; of a link, where it leads
    times: tuple[int, int]

    def is_same(self, other: SavedEntry) -> bool:
        """Return whether it was not changed; the content of a file is not needed for that."""
        same_link = not stat.S_ISLNK(self.mode) or self.content == other.content
        return self.mode == other.mode and self.stamp == other.stamp and same_link


class Guard:
    """The protected directories of one workspace, by their paths in it, as they are when this is made."""

    def __init__(self, workspace: str, names: tuple[str, ...] = PROTECTED) -> None:
        self._workspace = open_directory(workspace)
        self._roots: dict[str, int | None] = {}
        self._above = {path: _mode(path, self._workspace) for path in folders_above(names)}
        try:
            for name in names:
                self._roots[name] = _open_directory(name, self._workspace)
            self._before = dict(self._entries(with_content=True))
        except BaseException:
            self.close()
            raise

    def restore(self) -> list[str]:
        """Put back what changed, and return its paths; raise Trouble if that fails. Called once."""
        try:
            failures = _failures(self._make_way, self._above)
            moved = [name for name, root in self._roots.items() if root and self._was_moved(name, root)]
            failures |= _failures(self._move_back, moved)
            before, after = self._before, dict(self._entries(with_content=False))
            both = before.keys() & after.keys()
            changed = sorted(
                path for path in before | after if path not in both or not before[path].is_same(after[path])
            )
            kept = {
                path for path in both if stat.S_ISDIR(before[path].mode) and stat.S_ISDIR(after[path].mode)
            }
            wrong = {path for path in changed if path in after and path not in kept}
            tops = (path for path in changed if path in wrong and path.rpartition("/")[0] not in wrong)
            failures |= _failures(self._remove, tops)
            failures |= _failures(self._put_back, (path for path in changed if path in before))
            if failures:
                raise _not_put_back(failures)
            return sorted({*moved, *changed})
        except OSError as error:
            raise _not_put_back({"what the command changed": error}) from error
        finally:
            self.close()

    def close(self) -> None:
        """Close the directories, without putting anything back."""
        for root in (self._workspace, *self._roots.values()):
            if root is not None:
                os.close(root)

    def _entries(self, *, with_content: bool) -> Iterator[tuple[str, SavedEntry]]:
        """Return all entries of the protected directories, by path; no recursion, no link is followed."""
        room = _MOST_CONTENT if with_content else 0
        paths = list(self._roots)
        while paths:
            path = paths.pop()
            entry = _saved(path, self._workspace, room)
            if entry is None:
                continue
            room -= len(entry.content or b"")
            yield path, entry
            if stat.S_ISDIR(entry.mode):
                names = _names(path, self._workspace)
                paths += [f"{path}/{name}" for name in names if not name.endswith(".sample")]

    def _make_way(self, folder: str) -> None:
        """Make sure that a folder above is one: through a link in its place, the way would lead elsewhere."""
        if not stat.S_ISDIR(_mode(folder, self._workspace)):
            self._remove(folder)
            os.mkdir(folder, stat.S_IMODE(self._above[folder]), dir_fd=self._workspace)

    def _was_moved(self, name: str, root: int) -> bool:
        try:
            return not os.path.samestat(os.lstat(name, dir_fd=self._workspace), os.fstat(root))
        except OSError:
            return True

    def _move_back(self, name: str) -> None:
        """Move a protected directory back to its place: the open handle still knows where it is."""
        place = os.readlink(f"/proc/self/fd/{self._roots[name]}")
        if os.path.isdir(place):
            self._remove(name)
            os.rename(place, name, dst_dir_fd=self._workspace)

    def _remove(self, path: str) -> None:
        """Remove what is at the path; what cannot be removed is moved aside."""
        try:
            remove_tree(path, self._workspace)
        except OSError:
            aside = f"undone-{os.urandom(4).hex()}"
            os.rename(path, aside, src_dir_fd=self._workspace, dst_dir_fd=self._workspace)

    def _put_back(self, path: str) -> None:
        entry = self._before[path]
        if stat.S_ISDIR(entry.mode):
            _make_directory(path, self._workspace)
        elif entry.content is None:
            raise OSError(errno.EFBIG, "its content was not remembered")
        else:
            self._remove(path)
        if stat.S_ISLNK(entry.mode):
            os.symlink(entry.content or b"", path, dir_fd=self._workspace)
            return
        if stat.S_ISREG(entry.mode):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600, dir_fd=self._workspace), "wb") as file:
                file.write(entry.content or b"")
        os.chmod(path, stat.S_IMODE(entry.mode), dir_fd=self._workspace)
        os.utime(path, ns=entry.times, dir_fd=self._workspace)


def _open_directory(name: str, directory: int) -> int | None:
    try:
        return open_directory(name, directory)
    except OSError as error:  # missing, or a file as in a linked worktree
        if error.errno in _OUT_OF_REACH:
            return None
        raise


def _failures(action: Callable[[str], None], paths: Iterable[str]) -> dict[str, OSError]:
    """Do this with every path, even if it fails with others; return the failures."""
    failures: dict[str, OSError] = {}
    for path in paths:
        try:
            action(path)
        except OSError as error:
            failures[path] = error
    return failures


def _not_put_back(failures: dict[str, OSError]) -> Trouble:
    listed = first_few(sorted(failures))
    reason = next(iter(failures.values())).strerror
    return Trouble(
        "permission_denied", f"{listed} could not be put back: {reason}", "look at it before you go on"
    )


def first_few(paths: list[str]) -> str:
    """Return the first few of these paths, and how many more there are."""
    rest = len(paths) - _FEW
    return ", ".join(paths[:_FEW]) + (f" and {rest} more" if rest > 0 else "")


def _saved(path: str, directory: int, room: int) -> SavedEntry | None:
    """Return what is at the path, with its content if that is at most `room` bytes; None if it is missing."""
    try:
        found = os.lstat(path, dir_fd=directory)
        is_file = stat.S_ISREG(found.st_mode)
        content = None
        if stat.S_ISLNK(found.st_mode):
            content = os.fsencode(os.readlink(path, dir_fd=directory))
        elif (
            is_file
            and found.st_size <= room
            and (_REMEMBERED in path or not any(part in path for part in _NOT_REMEMBERED))
        ):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, dir_fd=directory), "rb") as file:
                content = file.read()
    except OSError as error:
        if error.errno in _OUT_OF_REACH:
            return None
        raise
    stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_file else ()
    return SavedEntry(found.st_mode, stamp, content, (found.st_atime_ns, found.st_mtime_ns))


def _mode(path: str, directory: int) -> int:
    """Return what kind of file is at a path, and its rights; 0 if it is missing."""
    try:
        return os.lstat(path, dir_fd=directory).st_mode
    except OSError:
        return 0


def folders_above(paths: Iterable[str]) -> list[str]:
    """Return the folders in which these relative paths lie, the outer ones first."""
    found: set[str] = set()
    for path in paths:
        while path := path.rpartition("/")[0]:
            found.add(path)
    return sorted(found)


def _names(path: str, directory: int) -> list[str]:
    handle = _open_directory(path, directory)
    if handle is None:
        return []
    try:
        return os.listdir(handle)
    finally:
        os.close(handle)


def _make_directory(path: str, directory: int) -> None:
    try:
        os.mkdir(path, dir_fd=directory)
    except FileExistsError:
        return
