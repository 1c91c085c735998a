"""What a command must leave alone in `.git` and `.clada`: remembered before it runs, put back after.

Landlock cannot take a folder out of a writable one, and bubblewrap cannot protect what is not there yet.
Objects, logs and sample hooks are not looked at: objects are named by their content, and nothing acts on
the others.
"""

from __future__ import annotations

import os
import stat

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PROTECTED = (".git", ".clada")
IGNORED = ("objects", "logs", "lfs")
_MOST_CONTENT = 256 << 20  # bytes that are remembered; beyond, a change is told but cannot be undone
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(Value):
    """A file, link or folder as it was: what it is, and what it holds."""

    mode: int
    stamp: tuple[int, ...]
    content: bytes | None
    times: tuple[int, int]


class Guard:
    """The protected parts of one workspace, as they are now."""

    def __init__(self, workspace: str, names: tuple[str, ...] = PROTECTED) -> None:
        self._workspace = os.open(workspace, _DIRECTORY)
        self._roots = {name: _open_folder(name, self._workspace) for name in names}
        self._before = dict(self._entries(with_content=True))

    def restore(self) -> list[str]:
        """Put back what changed, and return its paths. Called once."""
        try:
            moved = [name for name, root in self._roots.items() if root and self._bring_back(name, root)]
            after = dict(self._entries(with_content=False))
            changed = sorted(path for path in self._before | after if _differ(self._before, after, path))
            for path in reversed(changed):  # what is inside a folder comes after it
                if path in after and not self._stays_folder(path, after[path]):
                    _remove(path, self._workspace)
            for path in changed:
                if path in self._before:
                    self._put(path, self._before[path])
            return sorted({*moved, *changed})
        finally:
            for root in (self._workspace, *self._roots.values()):
                if root is not None:
                    os.close(root)

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

    def _bring_back(self, name: str, root: int) -> bool:
        """Move a protected folder back that was moved away: the open handle still knows where it is."""
        if _same_place(name, self._workspace, root):
            return False
        place = os.readlink(f"/proc/self/fd/{root}")
        if os.path.isdir(place):
            _remove(name, self._workspace)
            os.rename(place, name, dst_dir_fd=self._workspace)
        return True

    def _stays_folder(self, path: str, entry: Entry) -> bool:
        before = self._before.get(path)
        return before is not None and stat.S_ISDIR(before.mode) and stat.S_ISDIR(entry.mode)

    def _put(self, path: str, entry: Entry) -> None:
        if stat.S_ISDIR(entry.mode):
            _make_folder(path, self._workspace)
        elif entry.content is None:
            return
        else:
            _remove(path, self._workspace)
        if stat.S_ISLNK(entry.mode):
            os.symlink(entry.content or b"", path, dir_fd=self._workspace)
            return
        if stat.S_ISREG(entry.mode):
            _write(path, entry.content or b"", self._workspace)
        os.chmod(path, stat.S_IMODE(entry.mode), dir_fd=self._workspace)
        os.utime(path, ns=entry.times, dir_fd=self._workspace)


def _open_folder(name: str, folder: int) -> int | None:
    try:
        return os.open(name, _DIRECTORY, dir_fd=folder)
    except OSError:  # not there, or a file: a linked worktree's
        return None


def _same_place(name: str, folder: int, root: int) -> bool:
    try:
        return os.path.samestat(os.lstat(name, dir_fd=folder), os.fstat(root))
    except FileNotFoundError:
        return False


def _look(path: str, folder: int, room: int) -> Entry | None:
    """Return what is at the path; its content too, as far as there is room for it."""
    try:
        found = os.lstat(path, dir_fd=folder)
        is_file = stat.S_ISREG(found.st_mode)
        content = None
        if stat.S_ISLNK(found.st_mode):
            content = os.fsencode(os.readlink(path, dir_fd=folder))
        elif is_file and found.st_size <= room:
            content = _read(path, folder)
    except OSError:
        return None
    stamp = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns) if is_file else ()
    return Entry(found.st_mode, stamp, content, (found.st_atime_ns, found.st_mtime_ns))


def _differ(before: dict[str, Entry], after: dict[str, Entry], path: str) -> bool:
    if path not in before or path not in after:
        return True
    was, now = before[path], after[path]
    both_links = stat.S_ISLNK(was.mode) and stat.S_ISLNK(now.mode)
    return was.mode != now.mode or was.stamp != now.stamp or (both_links and was.content != now.content)


def _names(path: str, folder: int) -> list[str]:
    if os.path.basename(path) in IGNORED:
        return []
    handle = _open_folder(path, folder)
    if handle is None:
        return []
    try:
        return os.listdir(handle)
    finally:
        os.close(handle)


def _read(path: str, folder: int) -> bytes:
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        return file.read()


def _write(path: str, content: bytes, folder: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(content)


def _make_folder(path: str, folder: int) -> None:
    try:
        os.mkdir(path, dir_fd=folder)
    except FileExistsError:
        return


def _remove(path: str, folder: int) -> None:
    """Remove what is at the path, following no link; what is made so that it cannot be, is moved aside."""
    try:
        _remove_all(path, folder)
    except (OSError, RecursionError):
        os.rename(path, f"undone-{os.urandom(4).hex()}", src_dir_fd=folder, dst_dir_fd=folder)


def _remove_all(path: str, folder: int) -> None:
    handle = _open_folder(path, folder)
    if handle is None:
        _unlink(path, folder)
        return
    try:
        for name in os.listdir(handle):
            _remove_all(name, handle)
    finally:
        os.close(handle)
    os.rmdir(path, dir_fd=folder)


def _unlink(path: str, folder: int) -> None:
    try:
        os.unlink(path, dir_fd=folder)
    except FileNotFoundError:
        return
