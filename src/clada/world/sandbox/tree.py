"""What a workspace has that others act on: repositories nested in it, approvals, and programs.

git runs what the configuration of a repository says, wherever somebody types `git status`; so a command must
not change one that is there, and a new one is told of.
"""

from __future__ import annotations

import os

from clada.values import Value
from clada.world.sandbox.guard import PROTECTED, first_few

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BARE = {"HEAD", "objects", "refs"}  # the names by which git knows a repository without a work tree
_MOST = 200_000  # entries that are looked at
_SET_ID, _EXECUTABLE = 0o6000, 0o111
# Of git's index: its header, and where an entry has its mode, its flags and its name.
_HEADER, _MODE, _FLAGS, _NAME = 12, 24, 60, 62
_EXTENDED, _GITLINK, _LARGEST_INDEX = 0x40, b"\0\0\xe0\0", 64 << 20


class Tree(Value):
    """What a walk has found, as paths below the workspace; `whole` if it has seen everything."""

    nested: frozenset[str]
    programs: frozenset[str]
    privileged: frozenset[str]  # setuid and setgid files
    whole: bool


def look(workspace: str) -> Tree:
    """Walk through the workspace, following no link, and not into repositories."""
    nested: set[str] = set()
    programs: set[str] = set()
    privileged: set[str] = set()
    left = _MOST
    folders = [""]
    while folders and left > 0:
        folder = folders.pop()
        entries = _entries(os.path.join(workspace, folder))
        left -= len(entries)
        if folder and {entry.name for entry in entries} >= _BARE:
            nested.add(folder)
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name.casefold() in PROTECTED:
                nested.update([path] if folder else [])
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif mode := _mode(entry):
                (privileged if mode & _SET_ID else programs).add(path)
    nested |= _empty_submodules(workspace, nested)
    return Tree(frozenset(nested), frozenset(programs), frozenset(privileged), not folders)


def _empty_submodules(workspace: str, nested: set[str]) -> set[str]:
    """Return the folders of submodules that are not checked out: git would take what is put there for one."""
    links = _gitlinks(os.path.join(workspace, ".git", "index"))
    missing = (path for path in links if f"{path}/.git" not in nested)
    return {path for path in missing if _is_folder_of(workspace, path)}


def _is_folder_of(workspace: str, path: str) -> bool:
    """Return whether a path that others wrote is a folder of the workspace, through no link or `..`."""
    real = os.path.realpath(workspace)
    full = f"{real}/{path}"
    return full != real and os.path.realpath(full) == full and os.path.isdir(full)


def _gitlinks(index: str) -> Iterator[str]:
    """Return the submodules that an index names, in the versions of it that git writes by default."""
    try:
        with open(os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(_LARGEST_INDEX)
    except OSError:
        return
    if data[:4] != b"DIRC" or data[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or _GITLINK not in data:
        return
    at = _HEADER
    for _ in range(int.from_bytes(data[8:_HEADER], "big")):
        is_extended = data[at + _FLAGS : at + _NAME] and data[at + _FLAGS] & _EXTENDED
        start = at + _NAME + (2 if is_extended else 0)
        stop = data.find(b"\0", start)
        if stop < 0:
            return
        if data[at + _MODE : at + _MODE + 4] == _GITLINK:
            yield os.fsdecode(data[start:stop])
        at += (stop - at + 8) // 8 * 8


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
    if nested := after.nested - before.nested:
        yield f"the command made {first_few(sorted(nested))}: git and clada act on what is in there"
    if privileged := after.privileged - before.privileged:
        yield f"the command made setuid or setgid files: {first_few(sorted(privileged))}"
    if programs := after.programs - before.programs:
        yield f"the command made executables: {first_few(sorted(programs))}"
