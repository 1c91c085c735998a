"""The stash, for a document: it never takes the approvals away, and never brings others."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.text.escape import escape_controls
from clada.world.git import staging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.world.git.calls import Git


def limits(git: Git) -> list[str]:
    """Return what keeps a stash from taking approvals that are not committed; mostly there are none.

    With such limits git adds untracked files before it stashes them, so nested repositories are left out too.
    """
    found = staging.scan(git, "")
    if not any(staging.protected(path) for path in (*found.changed, *found.untracked, *found.staged)):
        return []
    nested = [f":(top,exclude,literal){path}" for path in found.nested]
    return ["--", ":(top)", ":(top,exclude,glob,icase)**/.clada/**", *nested]


def refuse_approvals(git: Git, words: Sequence[str]) -> None:
    """Raise where a stash that is to be applied holds approvals."""
    names = [word for word in words if not word.startswith("-")]
    stash = names[0] if names else "stash@{0}"
    if stash.isascii() and stash.isdecimal():
        stash = f"stash@{{{stash}}}"
    held = _paths(git, "diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{stash}^1", stash)
    held += _paths(git, "ls-tree", "-r", "-z", "--name-only", f"{stash}^3")  # the untracked files, if any
    approvals = [path for path in held if staging.protected(path)]
    if approvals:
        raise Trouble(
            "permission_denied", f"the stash holds {escape_controls(approvals[0])}, which is protected"
        )


def _paths(git: Git, *call: str) -> list[str]:
    """Return what git lists; nothing where there is no such stash, which git itself will say."""
    answer = git.call(*call)
    return os.fsdecode(answer.output).split("\0")[:-1] if answer.code == 0 else []
