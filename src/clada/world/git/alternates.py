"""Objects that a repository has of another one (`objects/info/alternates`), as after `git clone --shared`.

What a repository brings along may name any other on this machine, whose files `git show` would then print.
So those elsewhere count only if the user has named them, or if clada itself has made the repository.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.world.handles import open_file, read_at_most
from clada.world.sandbox.mounts import is_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clada.world.git.repository import Repository

KEY = "clada.alternates"  # of the user's own git configuration: a path, once or more often
_LARGEST = 1 << 16  # bytes of such a file
_MOST = 100  # object directories, those of others included
_lent: dict[str, str] = {}  # by git directories that this process has made: whose objects they have


def lend(objects: str, git_dir: str) -> None:
    """Let a git directory that was made by this process have the objects of another repository."""
    _lent[git_dir] = os.path.realpath(objects)


def alternates(repository: Repository) -> list[str]:
    """Return the object directories that a repository uses besides its own, whosever they are."""
    found = [os.path.join(repository.common_dir, "objects")]
    for objects in found:  # it grows
        found += [other for other in _named(objects) if other not in found and len(found) < _MOST]
    return found[1:]


def refuse_others(repository: Repository, users: Callable[[], list[str]]) -> None:
    """Raise CladaError if the repository borrows objects from outside the given directories."""
    own = (repository.root, repository.git_dir, repository.common_dir)
    waiting = [os.path.join(repository.common_dir, "objects")]
    allowed: list[str] | None = None
    for objects in waiting:  # it grows
        for other in _named(objects):
            if other in waiting:
                continue
            if any(is_in(other, place) for place in own) and len(waiting) < _MOST:
                waiting.append(other)
            elif other != _lent.get(repository.git_dir):
                allowed = users() if allowed is None else allowed
                if not any(is_in(other, place) for place in allowed):
                    raise _foreign(objects, other)


def _named(objects: str) -> Iterator[str]:
    """Yield what an object directory names as others, as git reads it."""
    path = os.path.join(objects, "info", "alternates")
    try:
        handle = open_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        data = read_at_most(handle, _LARGEST + 1)
    finally:
        os.close(handle)
    for line in os.fsdecode(data).split("\n"):
        if len(data) > _LARGEST or line.startswith('"') or "\0" in line:  # which git reads in its own way
            message = f"{escape_controls(path)} is not as git writes it"
            raise CladaError("git_operation_failed", message, "look at it, and repair it")
        if line and not line.startswith("#"):
            yield os.path.realpath(os.path.join(objects, line))


def _foreign(objects: str, other: str) -> CladaError:
    place = escape_controls(other)
    message = f"{escape_controls(objects)}/info/alternates leads to another repository's objects, {place}"
    remedy = f"if its files may be seen here, run git config --global --add {KEY} {place}"
    copied = "if not, run git repack -a -d and remove that file"
    return CladaError("git_operation_failed", message, f"{remedy}; {copied}")
