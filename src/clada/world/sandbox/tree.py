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
    return Tree(frozenset(nested), frozenset(programs), frozenset(privileged), not folders)


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
