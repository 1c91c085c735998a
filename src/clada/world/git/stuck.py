"""Why git does not come to an end: a pipe where it expects a file makes it wait for ever."""

from __future__ import annotations

import os
from stat import S_ISFIFO

from clada.errors import Trouble
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

READ_BY_GIT = frozenset((".gitignore", ".gitattributes", ".gitmodules", ".mailmap"))


def refuse_pipes(root: str, git_dir: str) -> None:
    """Raise, naming it, where there is a pipe that git would read."""
    for path in (*_pipes(root, READ_BY_GIT), *_pipes(git_dir, None)):
        raise Trouble(
            "git_operation_failed",
            f"{escape_controls(path)} is a pipe, and git waits for it without end",
            "remove it",
        )


def _pipes(top: str, names: frozenset[str] | None) -> Iterator[str]:
    for directory, directories, files in os.walk(top):
        directories[:] = [name for name in directories if name not in {".git", "objects"}]
        for name in files:
            path = os.path.join(directory, name)
            if (names is None or name in names) and _is_pipe(path):
                yield path


def _is_pipe(path: str) -> bool:
    try:
        return S_ISFIFO(os.lstat(path).st_mode)
    except OSError:
        return False  # it has gone meanwhile: git does not wait for it
