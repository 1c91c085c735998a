"""Finds the files of a workspace that look like secrets, in bounded time, and learns their values."""

from __future__ import annotations

import os
import stat

from clada.values import Value
from clada.world.files.walk import walk
from clada.world.secrets.masking import Mask
from clada.world.secrets.names import DIRECTORIES, in_secret_directory, is_revealed, looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_ENTRIES = 50_000  # of the workspace that are looked at: about a tenth of a second
MOST_FILES, LARGEST, MOST_BYTES = 200, 256 << 10, 2 << 20  # of secret files whose values are read
SKIPPED = frozenset((".git", ".clada"))  # no command may name them
# Directories of other people's packages are looked at last.
DEPENDENCIES = frozenset("node_modules .venv venv site-packages vendor .tox target __pycache__".split())


class SecretFiles(Value):
    """The files that look like secrets, as paths in the workspace; `whole` if all of it was looked at.

    `links` are other names of these files (hard links), which do not look like secrets.
    """

    paths: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    whole: bool = True


class WorkspaceSecrets:
    """What is known of the secrets in a workspace: looked for before a command runs, and not before that."""

    def __init__(self, root: str, reveal: Sequence[str]) -> None:
        self._root, self._reveal = root, tuple(reveal)
        self.mask = Mask()  # values stay known for the whole run, wherever their file goes
        self.files = SecretFiles()
        self.is_stale = True  # whether files may have changed since they were looked for

    def refresh(self) -> None:
        """Look for secret files, and learn their values, unless nothing has changed."""
        if not self.is_stale:
            return
        self.files = find_secret_files(self._root, self._reveal)
        room = MOST_BYTES
        for path in self.files.paths[:MOST_FILES]:
            content = _content(os.path.join(self._root, path), min(LARGEST, room))
            self.mask.add(path, content)
            room -= len(content)
        self.is_stale = False

    def names(self, path: str) -> bool:
        """Return whether a path of the workspace names a file, or a directory, that looks like a secret."""
        if is_revealed(path, self._reveal):
            return False
        status = _status(self._root, path)
        if status and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            self.refresh()
            if path in self.files.links:
                return True
        if os.path.isdir(os.path.join(self._root, path)):
            return in_secret_directory(path.lower().split("/"))
        return looks_secret(path)


def find_secret_files(root: str, reveal: Sequence[str] = ()) -> SecretFiles:
    """Return the files below a directory that look like secrets: outer ones first, following no link."""
    seen = _Walk(root)
    found = [path for path, _inode in seen if looks_secret(path) and not is_revealed(path, reveal)]
    linked = {status.st_ino for path in found if (status := _status(root, path)) and status.st_nlink > 1}
    names = [path for path, inode in _Walk(root) if inode in linked] if linked else []
    links = tuple(path for path in names if path not in found and not is_revealed(path, reveal))
    return SecretFiles(tuple(found), links, seen.whole)


class _Walk:
    """Yields the files below a directory with their inodes, the outer ones first, in bounded time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.whole = False  # whether all was seen that is not other people's packages, once it has ended

    def __iter__(self) -> Iterator[tuple[str, int]]:
        left, dependencies = MOST_ENTRIES, list[str]()
        for start in ([""], dependencies):
            for directory in walk(self._root, _skip_unreadable, start=start, breadth_first=True):
                if left <= 0:
                    return
                left -= len(directory.entries)
                folders = [name for name in directory.enter if name.lower() not in SKIPPED]
                directory.enter, inside = folders, set(directory.enter)
                yield from (
                    (directory.join(entry.name), entry.inode())
                    for entry in directory.entries
                    if entry.name not in inside
                )
                if start is not dependencies:
                    directory.enter = [name for name in folders if name not in DEPENDENCIES]
                    dependencies += [directory.join(name) for name in folders if name in DEPENDENCIES]
            self.whole = True


def _skip_unreadable(_path: str, _error: OSError) -> None:
    """Skip a directory that this user cannot read: commands cannot read it either."""


def _status(root: str, path: str) -> os.stat_result | None:
    try:
        return os.lstat(os.path.join(root, path))
    except OSError:
        return None  # it is gone


def excluded_names(found: SecretFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of files, and of directories, without which a walk passes over all these files."""
    files, folders = dict.fromkeys(path.rpartition("/")[2] for path in found.links), dict[str, None]()
    for path in found.paths:
        *above, name = path.split("/")
        known = next((each for each in above if each.lower() in DIRECTORIES), None)
        if known:
            folders[known] = None
        elif looks_secret(name):
            files[name] = None
        else:  # only its directory says what it is, as in .docker/config.json
            folders[above[-1]] = None
    return tuple(files), tuple(folders)


def _content(path: str, most: int) -> bytes:
    """Return the start of a regular file, also through a link; nothing if it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(handle, "rb", buffering=0) as file:
        return file.read(max(0, most)) or b"" if stat.S_ISREG(os.fstat(handle).st_mode) else b""
