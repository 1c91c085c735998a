"""Makes commits: HEAD, authors, messages; and combines commits at the tip of the branch into one.

Nothing here runs `git add` or `git commit`, which would run filters and hooks and enter nested repositories.
"""

from __future__ import annotations

from clada import grammar
from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git.git import git_call_error, hardened_git
from clada.world.git.index import check
from clada.world.git.repository import git_error, os_errors_as_git_errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from clada.world.git.git import Git
    from clada.world.git.repository import Repository


NO_IDENTITY = (b"auto-detection is disabled", b"empty ident name")
SHORT_HASH = 7  # characters of a commit's hash that are shown, as by git


class Author(Value):
    """Who a commit is by."""

    name: str
    mail: str


class Head(Value):
    """What HEAD is: a commit and its tree; both empty before the first commit."""

    commit: str
    tree: str


def read_author(text: str) -> Author:
    """Return the author that `Name` or `Name <mail>` stands for."""
    read = grammar.read_author(text)
    if read is None:
        raise CladaError("git_operation_failed", f"not an author: {text!r}", f"write {grammar.AUTHOR}")
    return Author(*read)


def read_head(git: Git) -> Head:
    """Return what HEAD is."""
    questions = b"HEAD^{commit}\nHEAD^{tree}\n"
    lines = git.check_output("cat-file", "--batch-check", stdin=questions).decode().splitlines()
    if len(lines) != questions.count(b"\n"):  # git stops at a question that it cannot read
        raise CladaError("git_operation_failed", "git does not say where HEAD is", "try again")
    if lines[0].endswith(" missing"):
        return Head("", "")
    return Head(lines[0].split()[0], lines[1].split()[0])


def make_commit(git: Git, tree: str, parents: tuple[str, ...], text: str, author: Author | None) -> str:
    """Make a commit that no ref leads to yet; its committer is the user or, if unknown, the author.

    Without an author, the user is that, too.
    """
    call = ["commit-tree", "--no-gpg-sign", *(f"-p{parent}" for parent in parents), "-F", "-", tree]
    who = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.mail} if author else {}
    message = f"{text}\n".encode("utf-8", "surrogateescape")
    result = git.call(*call, stdin=message, **who)
    if author and result.code != 0 and any(words in result.errors for words in NO_IDENTITY):
        who |= {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.mail}
        result = git.call(*call, stdin=message, **who)
    if result.code != 0:
        raise git_call_error("commit-tree", result)
    return result.output.decode().strip()


MAX_LINES = 100  # upper limit of operations that a message lists
MAX_LINE = 200  # upper limit of characters of each


def commit_message(
    kind: str, time: str, subject: str | None, body: Sequence[str], numbers: Mapping[str, int | None]
) -> str:
    """Return the message, with numbers of runs as trailers; {run} and {time} in a given subject are those."""
    run = numbers.get("Clada-Run")
    given = [escape_controls(line.rstrip()) for line in (subject or "").strip().splitlines()]
    first = "\n".join(given).replace("{run}", str(run or "")).replace("{time}", time)
    lines = [f"- {_shorten(line)}" for line in body[:MAX_LINES]]
    if len(body) > MAX_LINES:
        lines.append(f"and {len(body) - MAX_LINES} more")
    trailers = [f"{name}: {number}" for name, number in numbers.items() if number]
    return "\n\n".join(
        "\n".join(part) for part in ([first or f"[clada:{kind}] {time}"], lines, trailers) if part
    )


def _shorten(line: str) -> str:
    shown = escape_controls(line)
    return shown if len(shown) <= MAX_LINE else f"{shown[: MAX_LINE - 1]}…"


# Combining commits.


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
            what = (
                f'commit {commit[:SHORT_HASH]} ("{subject}") is not of these runs, and is above one that is'
            )
            raise git_error(what, "name all runs since then, or use git rebase --interactive")
        if " " in parents:
            raise git_error(f"commit {commit[:SHORT_HASH]} is a merge", "use git rebase --interactive")
    if not rows:
        raise git_error("there is no commit", "git log")
    return rows[-1][0], tuple(rows[-1][1].split())


def _refuse_pushed(git: Git, oldest: str) -> None:
    """Refuse if a remote branch has the oldest commit: it then has to stay."""
    words = ("for-each-ref", f"--contains={oldest}", "--format=%(refname:short)", "--count=1", "refs/remotes")
    if name := git.check_output(*words).decode(errors="replace").strip():
        raise git_error(
            f"commit {oldest[:SHORT_HASH]} was pushed: {name} has it", "git log --oneline @{upstream}.."
        )
