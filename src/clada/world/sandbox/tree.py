"""Files that other programs act on: nested repositories, approvals, executables.

git runs programs that the configuration of a repository names as soon as a user types `git status` in it. So
a command must not change an existing repository, and a new one is reported. This scan enters ignored
directories, which the scan of a recorded run leaves out (record/scan.py).
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import first_few
from clada.values import Value
from clada.world.autorun import ASK, INSTALLED, autorun_of
from clada.world.files.walk import skip_error, walk
from clada.world.git.staging import submodules
from clada.world.sandbox.guard import IN_GIT_DIRECTORY, PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clada.world.files.walk import Directory

_MOST = 200_000  # entries that are examined
_SET_ID, _EXECUTABLE = 0o6000, 0o111


class Tree(Value):
    """The result of a scan, as paths below the workspace; `whole` if it has seen everything."""

    nested: frozenset[str]  # repositories and approvals
    directories: frozenset[str]
    modes: Mapping[str, int]  # of regular files
    submodules: tuple[str, ...]
    whole: bool

    def has(self, path: str) -> bool:
        """Whether the scan has seen a regular file or a directory at this path."""
        return path in self.modes or path in self.directories


def scan(workspace: str, before: Tree | None = None) -> Tree:
    """Walk through the workspace, following no link, and not into repositories.

    `before` is an earlier scan of the same run, which knows the submodules.
    """
    nested: set[str] = set()
    directories: set[str] = set()
    modes: dict[str, int] = {}
    left = _MOST
    for directory in walk(workspace, skip_error):  # commands cannot read those either
        if left <= 0:
            break
        left -= len(directory.entries)
        nested.update(_nested_repositories(directory))
        directories.add(directory.path)
        modes.update(_file_modes(directory))
    links = before.submodules if before else tuple(_submodules(workspace))
    nested.update(path for path in links if f"{path}/.git" not in nested and _is_folder_of(workspace, path))
    return Tree(frozenset(nested), frozenset(directories), modes, links, left > 0)


def _nested_repositories(directory: Directory) -> list[str]:
    """Return the repositories and approvals in a directory, and keep the walk out of them."""
    names = {entry.name for entry in directory.entries}
    if directory.path and names >= IN_GIT_DIRECTORY:
        directory.enter = []
        return [directory.path]
    own = [name for name in names if name[0] == "." and name.casefold() in PROTECTED]
    directory.enter = [name for name in directory.enter if name not in own]
    return [directory.join(name) for name in own] if directory.path else []


def _file_modes(directory: Directory) -> Iterator[tuple[str, int]]:
    """Yield the regular files of a directory, with their modes."""
    for entry in directory.entries:
        if entry.is_file(follow_symlinks=False):
            try:
                yield directory.join(entry.name), entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue  # it is gone


def _submodules(workspace: str) -> list[str]:
    """Return the submodules of the workspace's repository, checked out or not.

    A repository that clada refuses to work with has none: its own configuration is not trusted either.
    """
    try:
        return submodules(workspace)
    except (CladaError, OSError):
        return []


def _is_folder_of(workspace: str, path: str) -> bool:
    """Return whether a path that others wrote is a folder of the workspace, through no link or `..`."""
    real = os.path.realpath(workspace)
    full = f"{real}/{path}"
    return full != real and os.path.realpath(full) == full and os.path.isdir(full)


def describe_new(before: Tree, after: Tree) -> Iterator[str]:
    """Yield a sentence on each kind of new files that the user should know of."""
    if not before.whole or not after.whole:
        return
    # All of them: one that is not named may be the one that counts.
    if nested := after.nested - before.nested:
        yield f"the command made {', '.join(sorted(nested))}: git and clada would use it"
    privileged = _gained(before, after, _SET_ID)
    if privileged:
        yield f"the command made setuid or setgid files: {first_few(privileged)}"
    if programs := [path for path in _gained(before, after, _EXECUTABLE) if path not in privileged]:
        yield f"the command made executables: {first_few(programs)}"
    if found := sorted(filter(_runs_by_itself, after.modes.keys() - before.modes.keys())):
        yield f"the command made files that run by themselves: {first_few(found)}"


def _gained(before: Tree, after: Tree, bits: int) -> list[str]:
    """Return the files that have one of these bits of the mode, and had none of them before."""
    return sorted(
        path for path, mode in after.modes.items() if mode & bits and not before.modes.get(path, 0) & bits
    )


def _runs_by_itself(path: str) -> bool:
    """Whether a person would be asked about a new file; files of installed packages are left out."""
    found = autorun_of(tuple(path.split("/")))
    return found is not None and found.level == ASK and found.reason != INSTALLED
