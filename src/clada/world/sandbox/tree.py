"""Files that other programs act on: nested repositories, approvals, executables.

git runs programs that the configuration of a repository names as soon as a user types `git status` in it. So
a command must not change an existing repository, and a new one is reported. This scan enters ignored
directories, which the scan of a recorded run leaves out (record/scan.py).
"""

from __future__ import annotations

import os
from stat import S_ISREG

from clada.errors import CladaError
from clada.text.escape import first_few
from clada.values import Value
from clada.world.autorun import ASK, INSTALLED, autorun_of
from clada.world.files.walk import skip_error, walk
from clada.world.git.staging import submodules
from clada.world.sandbox.guard import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clada.world.files.walk import Directory

    Modes = Iterable[tuple[str, int, int]]  # paths, with the mode that each had and the one that it has

_BARE = {"HEAD", "objects", "refs"}  # the names by which git recognises a repository without a work tree
_MOST = 200_000  # entries that are examined
_SET_ID, _EXECUTABLE = 0o6000, 0o111
_PLAIN, _PROGRAM, _PRIVILEGED = range(3)  # kinds of files, by their mode


class Tree(Value):
    """The result of a scan, as paths below the workspace; `whole` if it has seen everything.

    Programs and privileged files are those that were less than that in the scan before.
    """

    nested: frozenset[str]
    files: Mapping[str, frozenset[str]]  # by directory: the names of regular files
    powers: Mapping[str, int]  # kinds of files that are not plain, of those that were examined
    programs: frozenset[str]
    privileged: frozenset[str]  # setuid and setgid files
    submodules: tuple[str, ...]
    whole: bool

    def has(self, path: str) -> bool:
        """Whether the scan has seen a regular file or a directory at this path."""
        above, _, name = path.rpartition("/")
        return path in self.files or name in self.files.get(above, ())


def scan(workspace: str, before: Tree | None = None, changed: Modes | None = None) -> Tree:
    """Walk through the workspace, following no link, and not into repositories.

    `before` is an earlier scan of the same run. The mode of every file is examined, unless `changed` says
    which files have changed theirs: then only those of new files are.
    """
    nested: set[str] = set()
    files: dict[str, frozenset[str]] = {}
    powers: dict[str, int] = {}
    left = _MOST
    for directory in walk(workspace, skip_error):  # commands cannot read those either
        if left <= 0:
            break
        left -= len(directory.entries)
        nested.update(_nested_repositories(directory))
        names = frozenset(entry.name for entry in directory.entries if entry.is_file(follow_symlinks=False))
        files[directory.path] = names
        if before:
            powers.update(_powers(directory, names - before.files.get(directory.path, frozenset())))
        if changed is None:
            # Asking whether we may run a file is quicker than asking for its mode.
            runnable = [name for name in names if os.access(name, os.X_OK, dir_fd=directory.handle)]
            powers.update(_powers(directory, runnable))
    links = before.submodules if before else tuple(_submodules(workspace))
    nested.update(path for path in links if f"{path}/.git" not in nested and _is_folder_of(workspace, path))
    made = _gained_powers(before.powers, powers, changed or ()) if before else {}
    privileged = frozenset(path for path, power in made.items() if power == _PRIVILEGED)
    programs = frozenset(made) - privileged
    return Tree(frozenset(nested), files, powers, programs, privileged, links, left > 0)


def _nested_repositories(directory: Directory) -> list[str]:
    """Return the repositories and approvals in a directory, and keep the walk out of them."""
    names = {entry.name for entry in directory.entries}
    if directory.path and names >= _BARE:
        directory.enter = []
        return [directory.path]
    own = [name for name in names if name[0] == "." and name.casefold() in PROTECTED]
    directory.enter = [name for name in directory.enter if name not in own]
    return [directory.join(name) for name in own] if directory.path else []


def _powers(directory: Directory, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the files of a directory that are not plain: their paths below the workspace, and kinds."""
    for name in names:
        try:
            power = _power(os.lstat(name, dir_fd=directory.handle).st_mode)
        except OSError:
            continue  # it is gone
        if power:
            yield directory.join(name), power


def _power(mode: int) -> int:
    """Return the kind of a file with this mode; anything but a regular file is plain."""
    if not mode & (_SET_ID | _EXECUTABLE) or not S_ISREG(mode):
        return _PLAIN
    return _PRIVILEGED if mode & _SET_ID else _PROGRAM


def _gained_powers(before: Mapping[str, int], now: Mapping[str, int], changed: Modes) -> dict[str, int]:
    """Return the files that have more rights than before."""
    made = {path: power for path, power in now.items() if power > before.get(path, _PLAIN)}
    return made | {path: _power(new) for path, old, new in changed if _power(new) > _power(old)}


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
    if after.privileged:
        yield f"the command made setuid or setgid files: {first_few(sorted(after.privileged))}"
    if after.programs:
        yield f"the command made executables: {first_few(sorted(after.programs))}"
    if found := sorted(_new_autorun_files(before, after)):
        yield f"the command made files that run by themselves: {first_few(found)}"


def _new_autorun_files(before: Tree, after: Tree) -> Iterator[str]:
    """Yield new files that a person would be asked about, but for those of installed packages."""
    for path, names in after.files.items():
        for name in names - before.files.get(path, frozenset()):
            parts = (*path.split("/"), name) if path else (name,)
            found = autorun_of(parts)
            if found and found.level == ASK and found.reason != INSTALLED:
                yield "/".join(parts)
