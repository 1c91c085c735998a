"""Files that no commit is to take in although they lie in the work tree: named in the repository's own list.

The list is `info/exclude` in the git directory: it is nobody's but this clone's.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.git.repository import Repository

COMMENT = "# clada watch: answers, and the reports on them"
SPECIAL = "\\*?[]!# "


def exclude(repository: Repository, paths: Sequence[str]) -> list[str]:
    """Name those of these files in the list that are in the work tree; return what was not there before."""
    inside = [os.path.relpath(path, repository.root) for path in map(_real, paths)]
    lines = [f"/{_escaped(path)}" for path in inside if not path.startswith("..") and "\n" not in path]
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


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _real(path: str) -> str:
    directory, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(directory), name)


def _escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in SPECIAL else char for char in path)
