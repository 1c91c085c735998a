"""Making commits: what changed in the work tree, how it is staged, and the commit itself.

Nothing here runs `git add` or `git commit`, which would run filters and hooks and enter nested repositories.
"""

from __future__ import annotations

import os
import time
from errno import ENAMETOOLONG
from stat import S_ISDIR, S_ISLNK, S_ISREG

from clada import grammar
from clada.errors import Trouble
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.git.calls import git_failed, pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clada.world.git.calls import Git

NO_IDENTITY = (b"auto-detection is disabled", b"empty ident name")
KEPT_STAGED = "refs/clada/staged"
STATUS = tuple(
    "status --porcelain=v2 --branch -z --untracked-files=all --no-renames --ignore-submodules=all".split()
)
GITIGNORE = ".gitignore"
FEW = 50  # paths that git finds in its index faster than it can list the whole of it
INDEX_TRIES = 40  # while another git process holds the index, with a pause after each


# What changed.


class WorkTreeStatus(Value):
    """What differs between last commit, index and work tree, as paths below the repository's root."""

    head: str  # the commit that HEAD is; empty before the first one
    changed: tuple[str, ...] = ()  # in the work tree, against the index
    untracked: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()  # in the index, against the commit
    unmerged: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()  # repositories of their own, which are left alone
    partly_staged: tuple[str, ...] = ()  # staged and then changed again: committing the tree would lose that

    @property
    def clean(self) -> bool:
        """Whether there is nothing to record."""
        return not (self.changed or self.untracked or self.staged)


def status(git: Git, prefix: str) -> WorkTreeStatus:
    """Return what changed below the prefix, by one `git status`."""
    limit = ["--", prefix.rstrip("/")] if prefix else []
    found: dict[str, list[str]] = {name: [] for name in WorkTreeStatus.__match_args__[1:]}
    head = ""
    for line in os.fsdecode(git.check_output(*STATUS, *limit)).split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "1":
            _sort_tracked(rest, found)
        elif kind == "?":
            found["nested" if rest.endswith("/") else "untracked"].append(rest)
        elif kind == "u":
            found["unmerged"].append(rest.split(" ", 9)[9])
        elif rest.startswith("branch.oid ") and not rest.endswith("(initial)"):
            head = rest.partition(" ")[2]
    return WorkTreeStatus(head, **{name: tuple(paths) for name, paths in found.items()})


def _sort_tracked(fields: str, found: dict[str, list[str]]) -> None:
    in_index, in_tree, path = fields[0], fields[1], fields.split(" ", 7)[7]
    if in_index != ".":
        found["staged"].append(path)
    if in_tree != ".":
        found["changed"].append(path)
    if in_index not in ".D" and in_tree != ".":
        found["partly_staged"].append(path)


def refuse_unmerged(git: Git, found: WorkTreeStatus, prefix: str) -> None:
    """Raise if the index holds unmerged files: no commit can be made of it."""
    unmerged = found.unmerged
    if prefix and not unmerged:  # the status is that of the workspace, the index that of the repository
        listed = os.fsdecode(git.check_output("ls-files", "-u", "-z")).split("\0")[:-1]
        unmerged = tuple(entry.partition("\t")[2] for entry in listed)
    if unmerged:
        names = ", ".join(escape_controls(path) for path in dict.fromkeys(unmerged))
        raise Trouble(
            "git_operation_failed",
            f"there are unmerged files: {names}",
            "resolve them and git add them",
        )


def is_off_limits(path: str) -> bool:
    """Return whether undo and stash must leave the path alone: approvals, git's own, and what leads out."""
    return any(part in {"..", ".", ""} or is_protected(part) for part in path.split("/"))


class TouchedFiles(Value):
    """What a run touched: the files to stage, and those that git does not record, present or gone."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    nested: bool  # whether some are in a repository of their own: the status of the whole tree is needed then


def touched(git: Git, names: Iterable[str]) -> TouchedFiles:
    """Return which of these files and directories are to be staged, and which git ignores."""
    tree = WorkTree(git.root)
    paths = sorted({name.rstrip("/") for name in names})
    present = [file for path in paths if not tree.is_listed(path) for file in tree.files(path)]
    absent = [path for path in paths if tree.kind(path) not in {"file", "nested"}]
    indexed = _indexed(git, absent)
    gone = _gone(tree, absent, indexed)
    # Where a .gitignore changed, git can no longer tell what it ignored before; many caches have their own.
    rules = tuple(path.removesuffix(GITIGNORE) for path in paths if f"/{path}".endswith(f"/{GITIGNORE}"))
    lost = [path for path in gone if tree.kind(path) == "beyond" or f"{path}/".startswith(rules)]
    ignored = _ignored(git, [*present, *sorted(set(gone).difference(lost))])
    staged = [path for path in present if path not in ignored]
    removed = [path for path in indexed if tree.kind(path) != "file"]
    nested = any(kind == "nested" for kind in tree.kinds.values())
    return TouchedFiles((*staged, *removed), (*ignored, *lost), nested)


def _gone(tree: WorkTree, absent: list[str], indexed: list[str]) -> list[str]:
    """Return the files that are gone and in no commit: git ignored them, or they came and went in the run."""
    directories = {above for path in (*absent, *indexed) for above in with_parents(path.rpartition("/")[0])}
    known = directories.union(indexed)
    return [path for path in absent if path not in known and tree.kind(path) in {"gone", "beyond"}]


def _ignored(git: Git, paths: list[str]) -> dict[str, None]:
    """Return which of these files are ignored and not tracked."""
    if not paths:
        return {}
    # check-ignore cannot be told that names are literal: without ./ a colon in front would be magic
    stdin = _nul_terminated(f"./{path}" for path in paths)
    result = git.call("check-ignore", "-z", "--stdin", stdin=stdin, GIT_LITERAL_PATHSPECS="0")
    if result.code not in {0, 1}:  # 1: none is
        raise git_failed("check-ignore", result)
    return dict.fromkeys(path[2:] for path in os.fsdecode(result.output).split("\0")[:-1])


def _indexed(git: Git, paths: list[str]) -> list[str]:
    """Return the files that the index holds at or below these paths."""
    if not paths:
        return []
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "-z", *limit)).split("\0")[:-1]
    if limit:
        return listed
    wanted = set(paths)
    return [path for path in listed if not wanted.isdisjoint(with_parents(path))]


def with_parents(path: str) -> Iterable[str]:
    """Return the path and every directory that it is in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


class WorkTree:
    """Looks at the files without following links, and remembers what it saw."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.kinds: dict[str, str] = {"": "directory"}
        self._listed: set[str] = set()  # directories

    def kind(self, path: str) -> str:
        """Return file (or link), directory, nested (with a .git), gone, beyond (a link or file), or other."""
        unknown, above = [], path
        while above not in self.kinds:
            unknown.append(above)
            above = above.rpartition("/")[0]
        for each in reversed(unknown):
            self.kinds[each] = self._look(each)
        return self.kinds[path]

    def _look(self, path: str) -> str:
        above = self.kinds[path.rpartition("/")[0]]
        if above != "directory":
            return above if above in {"gone", "nested"} else "beyond"
        full = os.path.join(self._root, path)
        try:
            mode = os.lstat(full).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError as error:
            if error.errno == ENAMETOOLONG:  # git cannot name it either
                return "other"
            raise
        if S_ISDIR(mode):
            return "nested" if os.path.lexists(os.path.join(full, ".git")) else "directory"
        return "file" if S_ISREG(mode) or S_ISLNK(mode) else "other"

    def is_listed(self, path: str) -> bool:
        """Return whether this is in a directory whose files were returned."""
        return path.rpartition("/")[0] in self._listed

    def files(self, path: str) -> Iterable[str]:
        """Return the file, or all files in the directory."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            kind = self.kind(path)
            if kind == "file":
                yield path
            elif kind == "directory":
                self._listed.add(path)
                names = sorted(os.listdir(os.path.join(self._root, path)), reverse=True)
                waiting += [f"{path}/{name}" if path else name for name in names]


# Staging.


def stage(git: Git, paths: Collection[str]) -> None:
    """Put these files into the index as they are in the work tree, or remove them from it."""
    tree = WorkTree(git.root)
    plain = [path for path in paths if tree.kind(path) in {"file", "gone"}]
    others = [path for path in paths if tree.kind(path) not in {"file", "gone"}]
    if others:
        _update_index(git, others, "--force-remove")
    if plain:
        _update_index(git, plain, "--add", "--remove", "--replace")


def _update_index(git: Git, paths: Iterable[str], *flags: str) -> None:
    call = ("update-index", *flags, "-z", "--stdin")
    stdin = _nul_terminated(paths)
    result = git.call(*call, stdin=stdin)
    for _ in range(INDEX_TRIES):
        if result.code == 0 or b"index.lock" not in result.errors:
            break
        pause()
        result = git.call(*call, stdin=stdin)
    if result.code != 0:
        raise git_failed("update-index", result)


def _nul_terminated(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


# Committing.


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
        raise Trouble("git_operation_failed", f"not an author: {text!r}", f"write {grammar.AUTHOR}")
    return Author(*read)


def timestamp() -> str:
    """Return the time in the form of `date -Iseconds`."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return f"{text[:-2]}:{text[-2:]}"


def head(git: Git) -> Head:
    """Return what HEAD is."""
    questions = b"HEAD^{commit}\nHEAD^{tree}\n"
    lines = git.check_output("cat-file", "--batch-check", stdin=questions).decode().splitlines()
    if len(lines) != questions.count(b"\n"):  # git stops at a question that it cannot read
        raise Trouble("git_operation_failed", "git does not say where HEAD is", "try again")
    if lines[0].endswith(" missing"):
        return Head("", "")
    return Head(lines[0].split()[0], lines[1].split()[0])


def commit_index(git: Git, prefix: str, subject: str, author: Author) -> tuple[str, str]:
    """Commit what the index holds below the prefix. Return HEAD, and the new commit if there is one."""
    parent = head(git)
    tree = _index_tree(git, prefix, parent)
    if tree == (parent.tree or empty_tree(git)):
        return parent.commit, ""
    made = commit_tree(git, tree, parent.commit, subject, author)
    return made, made


def commit_tree(git: Git, tree: str, parent: str, subject: str, author: Author) -> str:
    """Make a commit of the tree, and set HEAD to it."""
    made = make_commit(git, tree, (parent,) if parent else (), subject, author)
    git.check_output("update-ref", "--create-reflog", "-m", f"clada: {subject}", "HEAD", made, parent)
    return made


def make_commit(git: Git, tree: str, parents: tuple[str, ...], subject: str, author: Author) -> str:
    """Make a commit that no ref leads to yet; its committer is the user or, if unknown, the author."""
    call = ["commit-tree", "--no-gpg-sign", *(f"-p{parent}" for parent in parents), "-F", "-", tree]
    who = {"GIT_AUTHOR_NAME": author.name, "GIT_AUTHOR_EMAIL": author.mail}
    message = f"{subject}\n".encode()
    result = git.call(*call, stdin=message, **who)
    if result.code != 0 and any(words in result.errors for words in NO_IDENTITY):
        who |= {"GIT_COMMITTER_NAME": author.name, "GIT_COMMITTER_EMAIL": author.mail}
        result = git.call(*call, stdin=message, **who)
    if result.code != 0:
        raise git_failed("commit-tree", result)
    return result.output.decode().strip()


def keep_staged(git: Git, author: Author) -> str:
    """Keep what is staged in a commit under refs/clada/staged, and return the commit."""
    last = git.call("rev-parse", "-q", "--verify", KEPT_STAGED).output.decode().strip()
    parents = tuple(commit for commit in (head(git).commit, last) if commit)
    subject = f"[clada:staged] {timestamp()}"
    made = make_commit(git, git.check_word("write-tree", "--missing-ok"), parents, subject, author)
    git.check_output("update-ref", "--create-reflog", "-m", f"clada: {subject}", KEPT_STAGED, made, last)
    return made


def empty_tree(git: Git) -> str:
    """Return the name of the tree without files, which depends on the repository's hash."""
    return git.check_word("hash-object", "-t", "tree", "--stdin")


def _index_tree(git: Git, prefix: str, parent: Head) -> str:
    """Return the whole tree to commit: the index below the prefix, and the last commit around it."""
    if not prefix:
        return git.check_word("write-tree", "--missing-ok")
    result = git.call("write-tree", "--missing-ok", f"--prefix={prefix}")
    if result.code != 0 and b"not found" not in result.errors:
        raise git_failed("write-tree", result)
    directory = result.output.decode().strip()  # empty if the last file below the prefix is gone
    return _with_subtree(git, parent.tree, prefix.rstrip("/").split("/"), directory) or empty_tree(git)


def _with_subtree(git: Git, tree: str, names: list[str], subtree: str) -> str:
    """Return the tree with another one at this place in it; empty if that leaves it without entries."""
    entries: dict[str, str] = {}  # `mode type object` by name
    if tree:
        listed = git.check_output("ls-tree", "-z", tree).decode("utf-8", "surrogateescape").split("\0")[:-1]
        entries = {name: entry for entry, _, name in (line.partition("\t") for line in listed)}
    if names[1:]:
        inner = entries.get(names[0], "").split()
        subtree = _with_subtree(git, inner[2] if inner[1:2] == ["tree"] else "", names[1:], subtree)
    entries.pop(names[0], None)
    if subtree:
        entries[names[0]] = f"040000 tree {subtree}"
    if not entries:
        return ""
    stdin = "".join(f"{entry}\t{name}\0" for name, entry in entries.items())
    return git.check_word("mktree", "-z", "--missing", stdin=stdin.encode("utf-8", "surrogateescape"))
