"""What a workspace has that others act on: repositories nested in it, approvals, and programs.

git runs what the configuration of a repository says, wherever somebody types `git status`; so a command must
not change one that is there, and a new one is told of.
"""

from __future__ import annotations

import os
import time
from stat import S_ISREG

from clada.text.escape import first_few
from clada.values import Value
from clada.world.autorun import ASK, INSTALLED, autorun_of
from clada.world.handles import NO_FOLLOW
from clada.world.sandbox.guard import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Modes = Iterable[tuple[str, int, int]]  # paths, with the mode that each had and the one that it has

_BARE = {"HEAD", "objects", "refs"}  # the names by which git knows a repository without a work tree
_MOST = 200_000  # entries that are looked at
_FRESH = 50_000_000  # nanoseconds in which the clock of a file system may stand still
_SET_ID, _EXECUTABLE = 0o6000, 0o111
_PLAIN, _PROGRAM, _PRIVILEGED = range(3)  # what a file is, by its mode
# Of git's index: its header, where an entry has its mode and its object, and how long the name of that is.
_HEADER, _MODE, _OBJECT, _HASH, _LONG_HASH = 12, 24, 40, 20, 32
_EXTENDED, _GITLINK, _LARGEST_INDEX = 0x40, b"\0\0\xe0\0", 64 << 20


class Folder(Value):
    """What a folder has: other folders, repositories, and files."""

    stamp: tuple[int, int] | None  # changes with whatever is made or removed here; None: too fresh to tell
    folders: tuple[str, ...]
    nested: tuple[str, ...]
    files: frozenset[str]  # names of regular ones
    size: int  # how many entries it has in all


_EMPTY = Folder(None, (), (), frozenset(), 0)


class Tree(Value):
    """What a walk has found, as paths below the workspace; `whole` if it has seen everything.

    Programs and privileged files are those that were less than that in the walk before.
    """

    nested: frozenset[str]
    folders: Mapping[str, Folder]
    powers: Mapping[str, int]  # what files are that are not plain, as far as that was looked for
    programs: frozenset[str]
    privileged: frozenset[str]  # setuid and setgid files
    whole: bool

    def has(self, path: str) -> bool:
        """Whether the walk has seen a regular file or a folder at this path."""
        above, _, name = path.rpartition("/")
        folder = self.folders.get(above, _EMPTY)
        return path in self.folders or name in folder.files


def look(workspace: str, before: Tree | None = None, changed: Modes | None = None) -> Tree:
    """Walk through the workspace, following no link, and not into repositories.

    Folders that have not changed since the walk before are not read again. Every file is looked at, unless it
    is told which ones have `changed` their mode: then only those that are new are.
    """
    known = before.folders if before else {}
    found: dict[str, Folder] = {}
    powers: dict[str, int] = {}
    left, waiting = _MOST, [""]
    fresh = time.time_ns() - _FRESH
    while waiting and left > 0:
        path = waiting.pop()
        place = f"{workspace}/{path}" if path else workspace
        stamp, old = _stamp(place, fresh), known.get(path, _EMPTY)
        now = old if stamp and old.stamp == stamp else _folder(path, stamp, _entries(place))
        if before:
            powers.update(_powers(path, place, now.files - old.files))
        if changed is None:
            powers.update(_powers(path, place, _runnable(place, now.files)))
        found[path] = now
        waiting += now.folders
        left -= now.size
    nested = {path for folder in found.values() for path in folder.nested}
    nested |= _empty_submodules(workspace, nested)
    made = _made(before.powers, powers, changed or ()) if before else {}
    privileged = frozenset(path for path, power in made.items() if power == _PRIVILEGED)
    return Tree(frozenset(nested), found, powers, frozenset(made) - privileged, privileged, not waiting)


def _made(before: Mapping[str, int], now: Mapping[str, int], changed: Modes) -> dict[str, int]:
    """Return what has more power than it had."""
    made = {path: power for path, power in now.items() if power > before.get(path, _PLAIN)}
    return made | {path: _power(new) for path, old, new in changed if _power(new) > _power(old)}


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
    files = frozenset(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    if path and {entry.name for entry in entries} >= _BARE:
        return Folder(stamp, (), (path,), files, len(entries))
    start = f"{path}/" if path else ""
    own = [entry.name for entry in entries if entry.name[0] == "." and entry.name.casefold() in PROTECTED]
    folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    below = tuple(f"{start}{name}" for name in folders if name not in own)
    nested = tuple(f"{start}{name}" for name in own) if path else ()
    return Folder(stamp, below, nested, files, len(entries))


def _runnable(place: str, names: Iterable[str]) -> list[str]:
    """Return the files that we may run. To ask that takes half as long as to ask for a mode."""
    may, run = os.access, os.X_OK
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW)
    except OSError:
        return []  # it is gone
    try:
        return [name for name in names if may(name, run, dir_fd=folder)]
    finally:
        os.close(folder)


def _powers(path: str, place: str, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield what files of a folder are that are not plain, with their paths below the workspace."""
    for name in names:
        try:
            power = _power(os.lstat(f"{place}/{name}").st_mode)
        except OSError:
            continue
        if power:
            yield f"{path}/{name}" if path else name, power


def _power(mode: int) -> int:
    """Return what a file of this mode is; anything that is no file is plain."""
    if not mode & (_SET_ID | _EXECUTABLE) or not S_ISREG(mode):
        return _PLAIN
    return _PRIVILEGED if mode & _SET_ID else _PROGRAM


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
    if found := sorted(_new_autorun_files(before, after)):
        yield f"the command made files that run by themselves: {first_few(found)}"


def _new_autorun_files(before: Tree, after: Tree) -> Iterator[str]:
    """Yield new files that a person would be asked about, but for those of installed packages."""
    for path, folder in after.folders.items():
        for name in folder.files - before.folders.get(path, _EMPTY).files:
            parts = (*path.split("/"), name) if path else (name,)
            found = autorun_of(parts)
            if found and found.level == ASK and found.reason != INSTALLED:
                yield "/".join(parts)
