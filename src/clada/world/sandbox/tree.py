"""What a workspace has that others act on: repositories nested in it, approvals, and programs.

git runs what the configuration of a repository says, wherever somebody types `git status`; so a command must
not change one that is there, and a new one is told of.
"""

from __future__ import annotations

import os
import time

from clada.values import Value
from clada.world.sandbox.guard import PROTECTED, first_few

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BARE = {"HEAD", "objects", "refs"}  # the names by which git knows a repository without a work tree
_MOST = 200_000  # entries that are looked at
_FRESH = 50_000_000  # nanoseconds in which the clock of a file system may stand still
_SET_ID, _EXECUTABLE = 0o6000, 0o111
# Of git's index: its header, where an entry has its mode and its object, and how long the name of that is.
_HEADER, _MODE, _OBJECT, _HASH, _LONG_HASH = 12, 24, 40, 20, 32
_EXTENDED, _GITLINK, _LARGEST_INDEX = 0x40, b"\0\0\xe0\0", 64 << 20


class Folder(Value):
    """What a folder has: those in it, repositories, and all else by name."""

    stamp: tuple[int, int] | None  # changes with whatever is made or removed here; None: too fresh to tell
    folders: tuple[str, ...]
    nested: tuple[str, ...]
    names: frozenset[str]


class Tree(Value):
    """What a walk has found, as paths below the workspace; `whole` if it has seen everything.

    Programs are those that were not there in the walk before.
    """

    nested: frozenset[str]
    folders: Mapping[str, Folder]
    programs: frozenset[str]
    privileged: frozenset[str]  # setuid and setgid files
    whole: bool


def look(workspace: str, before: Tree | None = None) -> Tree:
    """Walk through the workspace, following no link, and not into repositories.

    What has not changed since the walk before is not read again.
    """
    known = before.folders if before else {}
    found: dict[str, Folder] = {}
    made: list[tuple[str, int]] = []
    left, waiting = _MOST, [""]
    fresh = time.time_ns() - _FRESH
    while waiting and left > 0:
        path = waiting.pop()
        place = f"{workspace}/{path}" if path else workspace
        stamp, old = _stamp(place, fresh), known.get(path)
        if not (old and stamp and old.stamp == stamp):
            entries = _entries(place)
            if before:
                made += _programs(path, entries, old.names if old else frozenset())
            old = _folder(path, stamp, entries)
        found[path] = old
        waiting += old.folders
        left -= len(old.names)
    nested = {path for folder in found.values() for path in folder.nested}
    nested |= _empty_submodules(workspace, nested)
    privileged = frozenset(path for path, mode in made if mode & _SET_ID)
    programs = frozenset(path for path, _mode in made) - privileged
    return Tree(frozenset(nested), found, programs, privileged, not waiting)


def _stamp(place: str, fresh: int) -> tuple[int, int] | None:
    """Return what is different once something in a folder is; None if it was changed only just now.

    Its last time cannot be set back. The clock goes in steps, though: two changes may have the same.
    """
    try:
        status = os.lstat(place)
    except OSError:
        return None
    return (status.st_ino, status.st_ctime_ns) if status.st_ctime_ns < fresh else None


def _folder(path: str, stamp: tuple[int, int] | None, entries: list[os.DirEntry[str]]) -> Folder:
    names = frozenset(entry.name for entry in entries)
    if path and names >= _BARE:
        return Folder(stamp, (), (path,), names)
    start = f"{path}/" if path else ""
    own = [name for name in names if name.casefold() in PROTECTED]
    folders = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    below = tuple(f"{start}{name}" for name in folders if name not in own)
    return Folder(stamp, below, tuple(f"{start}{name}" for name in own) if path else (), names)


def _programs(path: str, entries: list[os.DirEntry[str]], known: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Yield the programs that are new in a folder, with their mode."""
    for entry in entries:
        if entry.name not in known and (mode := _mode(entry)):
            yield f"{path}/{entry.name}" if path else entry.name, mode


def _empty_submodules(workspace: str, nested: set[str]) -> set[str]:
    """Return the folders of submodules that are not checked out: git would take what is put there for one."""
    missing = (path for path in gitlinks(_git_directory(workspace)) if f"{path}/.git" not in nested)
    return {path for path in missing if _is_folder_of(workspace, path)}


def _git_directory(workspace: str) -> str:
    """Return where the index of a work tree is: a linked one has a file that says so."""
    path = os.path.join(workspace, ".git")
    text = os.fsdecode(_content(path, 1 << 12))
    return os.path.join(workspace, text[8:].strip()) if text.startswith("gitdir: ") else path


def _is_folder_of(workspace: str, path: str) -> bool:
    """Return whether a path that others wrote is a folder of the workspace, through no link or `..`."""
    real = os.path.realpath(workspace)
    full = f"{real}/{path}"
    return full != real and os.path.realpath(full) == full and os.path.isdir(full)


def gitlinks(git_directory: str) -> Iterator[str]:
    """Yield the submodules that an index names, and the parts that several indexes share."""
    names = [entry.name for entry in _entries(git_directory) if entry.name.startswith("sharedindex.")]
    common = os.path.join(git_directory, os.fsdecode(_content(f"{git_directory}/commondir", 1 << 12)).strip())
    is_long = b"sha256" in _content(os.path.join(common, "config"), 1 << 20).lower()
    for name in ("index", *names):
        data = _content(os.path.join(git_directory, name), _LARGEST_INDEX)
        if data[:4] == b"DIRC" and _GITLINK in data:
            yield from _links_in(data, _OBJECT + (_LONG_HASH if is_long else _HASH))


def _links_in(data: bytes, flags: int) -> Iterator[str]:
    """Yield the submodules in an index; `flags` is where an entry has its flags, behind the object's name."""
    is_compressed = data[4:8] == b"\0\0\0\4"  # each name is told by what differs from the one before
    at, name = _HEADER, b""
    for _ in range(int.from_bytes(data[8:_HEADER], "big")):
        is_extended = data[at + flags : at + flags + 1] and data[at + flags] & _EXTENDED
        start = at + flags + (4 if is_extended else 2)
        kept = 0
        if is_compressed:
            removed, start = _number(data, start)
            kept = max(0, len(name) - removed)
        stop = data.find(b"\0", start)
        if stop < 0:
            return
        name = name[:kept] + data[start:stop]
        if data[at + _MODE : at + _MODE + 4] == _GITLINK:
            yield os.fsdecode(name)
        at = stop + 1 if is_compressed else at + (stop - at + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number as git writes it in as few bytes as it takes, and where it ends."""
    value = -1
    for end in range(at, min(at + 8, len(data))):
        value = (value + 1 << 7) + (data[end] & 0x7F)
        if data[end] < 0x80:  # noqa: PLR2004 (the highest bit: more follows)
            return value, end + 1
    return 0, len(data)


def _content(path: str, most: int) -> bytes:
    """Return what a file holds, that is no link; nothing where there is none."""
    try:
        with open(path, "rb", opener=_not_through_links) as file:
            return file.read(most)
    except OSError:
        return b""


def _not_through_links(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # closed to us, too deep, or gone
        return []


def _mode(entry: os.DirEntry[str]) -> int:
    """Return the bits of a file that make it a program; 0 if it is none."""
    try:
        if entry.is_file(follow_symlinks=False):
            mode = entry.stat(follow_symlinks=False).st_mode
            return mode & (_SET_ID | _EXECUTABLE)
    except OSError:
        return 0
    return 0


def news(before: Tree, after: Tree) -> Iterator[str]:
    """Return what a person should know of that was not there before."""
    if not before.whole or not after.whole:
        return
    if (
        nested := after.nested - before.nested
    ):  # all of them: one that is not named may be the one that counts
        yield f"the command made {', '.join(sorted(nested))}: git and clada act on what is in there"
    if after.privileged:
        yield f"the command made setuid or setgid files: {first_few(sorted(after.privileged))}"
    if after.programs:
        yield f"the command made executables: {first_few(sorted(after.programs))}"
