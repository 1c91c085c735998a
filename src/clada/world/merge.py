"""Three-way merges: a change that was made to one version of a file, carried over to another.

`git merge-file` merges where git is installed, else the package merge3 (clada[merge]). Both merge by lines.
"""

from __future__ import annotations

import os
import tempfile

from clada.errors import CladaError
from clada.text.diff import split_lines
from clada.values import Value
from clada.world.git.harden import environment
from clada.world.git.repository import git_program
from clada.world.processes.run import capture

NAMES = ("the file now", "what the model saw", "the answer")
MOST_CONFLICTS = 127  # what the exit code of git merge-file can say; above it are errors


class Merged(Value):
    """What came of a merge; with conflicts, the text has markers and is never written."""

    content: bytes
    conflicts: int


def merge(base: bytes, now: bytes, answer: bytes, workspace: str) -> Merged | None:
    """Return `now` with the changes from `base` to `answer`; None where nothing can merge."""
    if base == now:
        return Merged(answer, 0)
    try:
        program = git_program(workspace)
    except CladaError:
        return _merge_without_git(base, now, answer)
    with tempfile.TemporaryDirectory(prefix="clada-") as folder:
        paths = [os.path.join(folder, name) for name in ("now", "base", "answer")]
        for path, data in zip(paths, (now, base, answer), strict=True):
            with open(path, "wb") as file:
                file.write(data)
        labels = [word for name in NAMES for word in ("-L", name)]
        outside = {**environment(os.environ, workspace), "GIT_DIR": folder}  # no repository's configuration
        done = capture([program, "merge-file", "-p", "-q", *labels, *paths], outside)
    return Merged(done.output, done.code) if 0 <= done.code <= MOST_CONFLICTS else None


def _merge_without_git(base: bytes, now: bytes, answer: bytes) -> Merged | None:
    try:
        from merge3 import Merge3  # optional
    except ImportError:
        return None
    merged = Merge3(split_lines(base), split_lines(now), split_lines(answer))
    conflicts = sum(region[0] == "conflict" for region in merged.merge_regions())
    lines = merged.merge_lines(name_a=NAMES[0].encode(), name_b=NAMES[2].encode())
    return Merged(b"".join(lines), conflicts)
