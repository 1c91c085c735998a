"""Files that no commit is to take in although they lie in the work tree: named in the repository's own list.

The list is `info/exclude` in the git directory: it is nobody's but this clone's.
"""

from __future__ import annotations

import os

from clada.world.git.calls import hardened_git
from clada.world.git.staging import indexed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.git.repository import Repository

COMMENT = "# clada watch: answers, and the reports on them"
SPECIAL = "\\*?[]!# "


def exclude(repository: Repository, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Name those of these files and directories in the list that are in the work tree.

    Return what was not in the list before; and which of the files, or of those in the directories, are
    tracked: the list has no effect on them.
    """
    inside = [path for path in (_below_root(repository, path) for path in paths) if path]
    tracked = list(indexed(hardened_git(repository), inside))
    return _add(repository, [path for path in inside if path not in tracked]), tracked


def _add(repository: Repository, paths: Sequence[str]) -> list[str]:
    lines = [f"/{_escaped(path)}" for path in paths]
    place = os.path.join(repository.common_dir, "info", "exclude")
    try:
        with open(place, encoding="utf-8", errors="surrogateescape", opener=_no_link) as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    there = text.split("\n")
    new = [line for line in lines if line not in there]
    if new:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        lead = "" if not text or text.endswith("\n") else "\n"
        comment = [] if COMMENT in there else [COMMENT]
        with open(place, "a", encoding="utf-8", errors="surrogateescape", opener=_no_link) as file:
            file.write(lead + "".join(f"{line}\n" for line in (*comment, *new)))
    return new


def _below_root(repository: Repository, path: str) -> str:
    """Return a path from the root of the repository, a directory's with a slash; empty if it is outside."""
    below = os.path.relpath(_real(path), repository.root)
    if below == ".." or below.startswith("../") or "\n" in below:
        return ""
    return f"{below}/" if os.path.isdir(path) else below


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _real(path: str) -> str:
    directory, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(directory), name)


def _escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in SPECIAL else char for char in path)
