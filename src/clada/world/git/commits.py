"""Making a commit of the workspace's files, and of nothing else."""

from __future__ import annotations

import time

from clada import grammar
from clada.errors import Trouble
from clada.values import Value
from clada.world.git.calls import failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.git.calls import Git

NO_IDENTITY = (b"auto-detection is disabled", b"empty ident name")
KEPT_STAGED = "refs/clada/staged"


class Author(Value):
    """Who a commit is by."""

    name: str
    mail: str


class Head(Value):
    """Where HEAD is: a commit and its tree; both empty before the first commit."""

    commit: str
    tree: str


def read_author(text: str) -> Author:
    """Return the author that `Name` or `Name <mail>` stands for."""
    read = grammar.read_author(text)
    if read is None:
        raise Trouble("git_operation_failed", f"not an author: {text!r}", f"write {grammar.AUTHOR}")
    return Author(*read)


def timestamp() -> str:
    """Return the time in the form of `date -Iseconds`."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return f"{text[:-2]}:{text[-2:]}"


def head(git: Git) -> Head:
    """Return where HEAD is."""
    asked = b"HEAD^{commit}\nHEAD^{tree}\n"
    lines = git.ask("cat-file", "--batch-check", given=asked).decode().splitlines()
    if len(lines) != asked.count(b"\n"):  # git takes a question that it cannot read for the last one
        raise Trouble("git_operation_failed", "git does not say where HEAD is", "try again")
    if lines[0].endswith(" missing"):
        return Head("", "")
    return Head(lines[0].split()[0], lines[1].split()[0])


def commit_index(git: Git, prefix: str, subject: str, author: Author) -> tuple[str, str]:
    """Commit what the index holds below the prefix. Return HEAD, and the new commit or nothing."""
    parent = head(git)
    tree = _index_tree(git, prefix, parent)
    if tree == (parent.tree or empty_tree(git)):
        return parent.commit, ""
    made = record(git, tree, parent.commit, subject, author)
    return made, made


def record(git: Git, tree: str, parent: str, subject: str, author: Author) -> str:
    """Make a commit of the tree, and let HEAD lead to it."""
    made = make_commit(git, tree, (parent,) if parent else (), subject, author)
    git.ask("update-ref", "--create-reflog", "-m", f"clada: {subject}", "HEAD", made, parent)
    return made


def make_commit(git: Git, tree: str, parents: tuple[str, ...], subject: str, author: Author) -> str:
    """Make a commit that nothing leads to yet; its committer is the user or, where unknown, the author."""
    call = ["commit-tree", "--no-gpg-sign", *(f"-p{parent}" for parent in parents), "-F", "-", tree]
    who = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.mail}
    message = f"{subject}\n".encode()
    answer = git.call(*call, given=message, **who)
    if answer.code != 0 and any(words in answer.errors for words in NO_IDENTITY):
        who |= {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.mail}
        answer = git.call(*call, given=message, **who)
    if answer.code != 0:
        raise failed("commit-tree", answer)
    return answer.output.decode().strip()


def keep_staged(git: Git, author: Author) -> str:
    """Keep what is staged reachable, where the tree has moved on from it. Return the commit."""
    last = git.call("rev-parse", "-q", "--verify", KEPT_STAGED).output.decode().strip()
    parents = tuple(commit for commit in (head(git).commit, last) if commit)
    subject = f"[clada:staged] {timestamp()}"
    made = make_commit(git, git.word("write-tree", "--missing-ok"), parents, subject, author)
    git.ask("update-ref", "--create-reflog", "-m", f"clada: {subject}", KEPT_STAGED, made, last)
    return made


def empty_tree(git: Git) -> str:
    """Return the name of the tree without files, which depends on the repository's hash."""
    return git.word("hash-object", "-t", "tree", "--stdin")


def _index_tree(git: Git, prefix: str, parent: Head) -> str:
    """Return the whole tree to commit: the index below the prefix, and the last commit around it."""
    if not prefix:
        return git.word("write-tree", "--missing-ok")
    answer = git.call("write-tree", "--missing-ok", f"--prefix={prefix}")
    if answer.code != 0 and b"not found" not in answer.errors:
        raise failed("write-tree", answer)
    directory = answer.output.decode().strip()  # nothing where the last file below the prefix is gone
    return _spliced(git, parent.tree, prefix.rstrip("/").split("/"), directory) or empty_tree(git)


def _spliced(git: Git, tree: str, names: list[str], directory: str) -> str:
    """Return the tree with the directory at this place in it; nothing where that leaves it empty."""
    entries = _entries(git, tree)
    if names[1:]:
        inner = entries.get(names[0], "").split()
        directory = _spliced(git, inner[2] if inner[1:2] == ["tree"] else "", names[1:], directory)
    entries.pop(names[0], None)
    if directory:
        entries[names[0]] = f"040000 tree {directory}"
    if not entries:
        return ""
    given = "".join(f"{entry}\t{name}\0" for name, entry in entries.items())
    return git.word("mktree", "-z", "--missing", given=given.encode("utf-8", "surrogateescape"))


def _entries(git: Git, tree: str) -> dict[str, str]:
    """Return what is in one directory of a tree: `mode type object` by name."""
    if not tree:
        return {}
    listed = git.ask("ls-tree", "-z", tree).decode("utf-8", "surrogateescape").split("\0")[:-1]
    return {name: entry for entry, _, name in (line.partition("\t") for line in listed)}
