"""What a command must leave alone in `.git` and `.clada`: remembered before it runs, put back after.

Landlock cannot take a directory out of a writable one, and bubblewrap cannot protect what is not there yet.
Objects, logs and sample hooks are not looked at: objects are named by their content, and nothing acts on
the others.
"""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import Trouble
from clada.values import Value
from clada.world.files import paths
from clada.world.handles import open_directory, open_file, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# The others are names by which another kind of file system knows the same directories.
PROTECTED = tuple(name for name in paths.PROTECTED if name.startswith("."))
_LISTED = 3  # changed paths that a message names
IGNORED = ("objects", "logs", "lfs")
_MOST_CONTENT = 256 << 20  # bytes that are remembered; beyond, a change is told but cannot be undone
# What a path that is not there, not a directory or not ours says; a system out of handles says otherwise.
_OUT_OF_REACH = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}


class Entry(Value):
    """A file, link or directory as it was: what it is, and what it holds."""

    mode: int
    stamp: tuple[int, ...]
    content: bytes | None
    times: tuple[int, int]


class Guard:
    """The protected parts of one workspace, as they are now."""

    def __init__(self, workspace: str, names: tuple[str, ...] = PROTECTED) -> None:
        self._workspace = open_directory(workspace)
        self._roots: dict[str, int | None] = {}
        try:
            for name in names:
                self._roots[name] = _open_directory(name, self._workspace)
            self._before = dict(self._entries(with_content=True))
        except BaseException:
            self.close()
            raise

    def restore(self) -> list[str]:
        """Put back what changed, and return its paths; raise Trouble where that fails. Called once."""
        try:
            return self._restore()
        except OSError as error:
            raise _not_put_back({"what the command changed": error}) from error
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the directories, without putting anything back."""
        for root in (self._workspace, *self._roots.values()):
            if root is not None:
                os.close(root)

    def _restore(self) -> list[str]:
        moved = [name for name, root in self._roots.items() if root and self._is_elsewhere(name, root)]
        failures = _failures(self._bring_back, moved)
        after = dict(self._entries(with_content=False))
        changed = sorted(path for path in self._before | after if _differ(self._before, after, path))
        wrong = {path for path in changed if path in after and not self._stays_directory(path, after[path])}
        failures |= _failures(
            self._remove, (path for path in changed if path in wrong and _parent(path) not in wrong)
        )
        failures |= _failures(self._put, (path for path in changed if path in self._before))
        if failures:
            raise _not_put_back(failures)
        return sorted({*moved, *changed})

    def _entries(self, *, with_content: bool) -> Iterator[tuple[str, Entry]]:
        room = _MOST_CONTENT if with_content else 0
        paths = list(self._roots)
        while paths:
            path = paths.pop()
            entry = _look(path, self._workspace, room)
            if entry is None:
                continue
            room -= len(entry.content or b"")
            yield path, entry
            if stat.S_ISDIR(entry.mode):
                names = _names(path, self._workspace)
                paths += [f"{path}/{name}" for name in names if not name.endswith(".sample")]

    def _is_elsewhere(self, name: str, root: int) -> bool:
        try:
            return not os.path.samestat(os.lstat(name, dir_fd=self._workspace), os.fstat(root))
        except OSError:
            return True

    def _bring_back(self, name: str) -> None:
        """Move a protected directory back that was moved away: the open handle still knows where it is."""
        place = os.readlink(f"/proc/self/fd/{self._roots[name]}")
        if os.path.isdir(place):
            self._remove(name)
            os.rename(place, name, dst_dir_fd=self._workspace)

    def _remove(self, path: str) -> None:
        """Remove what is at the path; what is made so that it cannot be, is moved aside."""
        try:
            remove_tree(path, self._workspace)
        except OSError:
            aside = f"undone-{os.urandom(4).hex()}"
            os.rename(path, aside, src_dir_fd=self._workspace, dst_dir_fd=self._workspace)

    def _stays_directory(self, path: str, entry: Entry) -> bool:
        before = self._before.get(path)
        return before is not None and stat.S_ISDIR(before.mode) and stat.S_ISDIR(entry.mode)

    def _put(self, path: str) -> None:
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
            _write(path, entry.content or b"", self._workspace)
        os.chmod(path, stat.S_IMODE(entry.mode), dir_fd=self._workspace)
        os.utime(path, ns=entry.times, dir_fd=self._workspace)


def _open_directory(name: str, directory: int) -> int | None:
    try:
        return open_directory(name, directory)
    except OSError as error:  # not there, or a file: a linked worktree's
        if error.errno in _OUT_OF_REACH:
            return None
        raise


def _failures(action: Callable[[str], None], paths: Iterable[str]) -> dict[str, OSError]:
    """Do this with every path, whatever comes of the others; return those with which it failed."""
    tried = {path: _failure(action, path) for path in paths}
    return {path: error for path, error in tried.items() if error}


def _failure(action: Callable[[str], None], path: str) -> OSError | None:
    try:
        action(path)
    except OSError as error:
        return error
    return None


def _not_put_back(failures: dict[str, OSError]) -> Trouble:
    listed = listing(sorted(failures))
    reason = next(iter(failures.values())).strerror
    return Trouble(
        "permission_denied", f"{listed} could not be put back: {reason}", "look at it before you go on"
    )


def listing(paths: list[str]) -> str:
    """Return the first few of these paths, and how many more there are."""
    rest = len(paths) - _LISTED
    return ", ".join(paths[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _look(path: str, directory: int, room: int) -> Entry | None:
    """Return what is at the path; its content too, as far as there is room for it."""
    try:
        found = os.lstat(path, dir_fd=directory)
        is_file = stat.S_ISREG(found.st_mode)
        content = None
        if stat.S_ISLNK(found.st_mode):
            content = os.fsencode(os.readlink(path, dir_fd=directory))
        elif is_file and found.st_size <= room:
            content = _read(path, directory)
    except OSError as error:
        if error.errno in _OUT_OF_REACH:
            return None
        raise
    stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_file else ()
    return Entry(found.st_mode, stamp, content, (found.st_atime_ns, found.st_mtime_ns))


def _differ(before: dict[str, Entry], after: dict[str, Entry], path: str) -> bool:
    if path not in before or path not in after:
        return True
    was, now = before[path], after[path]
    both_links = stat.S_ISLNK(was.mode) and stat.S_ISLNK(now.mode)
    return was.mode != now.mode or was.stamp != now.stamp or (both_links and was.content != now.content)


def _names(path: str, directory: int) -> list[str]:
    if os.path.basename(path) in IGNORED:
        return []
    handle = _open_directory(path, directory)
    if handle is None:
        return []
    try:
        return os.listdir(handle)
    finally:
        os.close(handle)


def _read(path: str, directory: int) -> bytes:
    with open(open_file(path, directory), "rb") as file:
        return file.read()


def _write(path: str, content: bytes, directory: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600, dir_fd=directory), "wb") as file:
        file.write(content)


def _make_directory(path: str, directory: int) -> None:
    try:
        os.mkdir(path, dir_fd=directory)
    except FileExistsError:
        return
