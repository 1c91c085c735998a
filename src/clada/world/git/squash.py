"""Combines commits at the tip of the branch into one. Index and work tree stay as they are."""

from __future__ import annotations

from clada.world.git.commit import make_commit, read_head
from clada.world.git.git import git_call_error, hardened_git
from clada.world.git.index import check
from clada.world.git.repository import git_error, os_errors_as_git_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from clada.world.git.commit import Author
    from clada.world.git.git import Git
    from clada.world.git.repository import Repository

SHORT = 7  # characters of a commit's hash that are shown, as by git


def squash(
    repository: Repository, hashes: Collection[str], message: str, author: Author | None
) -> tuple[str, int]:
    """Replace these commits, which must be the last ones, by one; return it, and how many it replaces.

    Refuses if another commit is among them or above them, or if one of them was pushed. The repository's lock
    must be held.
    """
    with os_errors_as_git_errors():
        check(repository)
        git = hardened_git(repository)
        head = read_head(git)
        oldest, parents = _check_tip(git, head.commit, hashes)
        _refuse_pushed(git, oldest)
        made = make_commit(git, head.tree, parents, message, author)
        # The tree is that of HEAD, so index and work tree need no change; git refuses if HEAD has moved.
        reason = f"clada: combine {len(hashes)} commits"
        result = git.call("update-ref", "--create-reflog", "-m", reason, "HEAD", made, head.commit)
        if result.code != 0:
            raise git_call_error("update-ref", result)
    return made, len(hashes)


def _check_tip(git: Git, head: str, hashes: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """Return the oldest of the commits and its parents; refuse if the last commits are not exactly these."""
    words = (
        "log",
        f"--max-count={len(hashes)}",
        "--format=%H%x00%P%x00%s",
        "--end-of-options",
        head or "HEAD",
    )
    rows = [
        line.split("\0") for line in git.check_output(*words).decode(errors="replace").split("\n") if line
    ]
    for commit, parents, subject in rows:
        if commit not in hashes:
            what = f'commit {commit[:SHORT]} ("{subject}") is not of these runs, and is above one that is'
            raise git_error(what, "name all runs since then, or use git rebase --interactive")
        if " " in parents:
            raise git_error(f"commit {commit[:SHORT]} is a merge", "use git rebase --interactive")
    if not rows:
        raise git_error("there is no commit", "git log")
    return rows[-1][0], tuple(rows[-1][1].split())


def _refuse_pushed(git: Git, oldest: str) -> None:
    """Refuse if a remote branch has the oldest commit: it then has to stay."""
    words = ("for-each-ref", f"--contains={oldest}", "--format=%(refname:short)", "--count=1", "refs/remotes")
    if name := git.check_output(*words).decode(errors="replace").strip():
        raise git_error(
            f"commit {oldest[:SHORT]} was pushed: {name} has it", "git log --oneline @{upstream}.."
        )
