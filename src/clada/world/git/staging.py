"""What changed in the tree, and how it is put into git's index without running or adding anything foreign."""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import Trouble
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.git.calls import failed, pause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clada.world.git.calls import Git

STATUS = tuple(
    "status --porcelain=v2 --branch -z --untracked-files=all --no-renames --ignore-submodules=all".split()
)
KINDS = tuple("changed untracked staged unmerged nested overlaid".split())
LEADING_OUT = ("..", ".", "")  # parts that no path of git's has
RULES = ".gitignore"
FEW = 50  # paths that git matches against its index faster than it can list the whole of it
PATIENCE = 40  # tries to get at an index that another git process holds, with a pause after each


class Scan(Value):
    """What differs between the last commit, the index and the tree, as paths below the repository's root."""

    head: str  # the commit that HEAD is; empty before the first one
    changed: tuple[str, ...] = ()  # in the tree, against the index
    untracked: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()  # in the index, against the commit
    unmerged: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()  # repositories of their own, which are left alone
    overlaid: tuple[str, ...] = ()  # staged and then changed again: a commit of the tree alone would lose it

    @property
    def clean(self) -> bool:
        """Whether there is nothing to record."""
        return not (self.changed or self.untracked or self.staged)


class Touched(Value):
    """What a run touched: what there is to stage of it, and what git does not record, gone or not."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    nested: (
        bool  # whether some of it is in a repository of its own: only a scan of the tree can tell the rest
    )


def scan(git: Git, prefix: str) -> Scan:
    """Look for what changed below the prefix."""
    limit = ["--", prefix.rstrip("/")] if prefix else []
    parts = os.fsdecode(git.ask(*STATUS, *limit)).split("\0")
    found: dict[str, list[str]] = {name: [] for name in KINDS}
    head = ""
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "1":
            _sort_tracked(rest, found)
        elif kind == "?":
            found["nested" if rest.endswith("/") else "untracked"].append(rest)
        elif kind == "u":
            found["unmerged"].append(rest.split(" ", 9)[9])
        elif rest.startswith("branch.oid ") and not rest.endswith("(initial)"):
            head = rest.partition(" ")[2]
    return Scan(head, **{name: tuple(paths) for name, paths in found.items()})


def _sort_tracked(fields: str, found: dict[str, list[str]]) -> None:
    states, path = fields[:2], fields.split(" ", 7)[7]
    if states[0] != ".":
        found["staged"].append(path)
    if states[1] != ".":
        found["changed"].append(path)
    if states[0] not in ".D" and states[1] != ".":
        found["overlaid"].append(path)


def refuse_unmerged(git: Git, found: Scan, prefix: str) -> None:
    """Raise where the index holds files that were left unmerged: no commit can be made of it."""
    unmerged = found.unmerged
    if prefix and not unmerged:  # the scan did not look outside the workspace
        listed = os.fsdecode(git.ask("ls-files", "-u", "-z")).split("\0")[:-1]
        unmerged = tuple(entry.partition("\t")[2] for entry in listed)
    if unmerged:
        names = ", ".join(escape_controls(path) for path in dict.fromkeys(unmerged))
        raise Trouble(
            "git_operation_failed",
            f"there are unmerged files: {names}",
            "resolve them and git add them",
        )


def protected(path: str) -> bool:
    """Tell whether neither undo nor a stash may touch the path: approvals, git's own, and what leads out."""
    return any(part in LEADING_OUT or is_protected(part) for part in path.split("/"))


def stage(git: Git, paths: Collection[str]) -> None:
    """Put these files into the index as they are in the tree now, or take them out of it."""
    tree = Tree(git.root)
    plain = [path for path in paths if tree.kind(path) in {"file", "gone"}]
    odd = [path for path in paths if tree.kind(path) not in {"file", "gone"}]
    if odd:
        _update(git, odd, "--force-remove")
    if plain:
        _update(git, plain, "--add", "--remove", "--replace")


def _update(git: Git, paths: Iterable[str], *flags: str) -> None:
    call = ("update-index", *flags, "-z", "--stdin")
    given = _lines(paths)
    answer = git.call(*call, given=given)
    for _ in range(PATIENCE):
        if answer.code == 0 or b"index.lock" not in answer.errors:
            break
        pause()
        answer = git.call(*call, given=given)
    if answer.code != 0:
        raise failed("update-index", answer)


def touched(git: Git, names: Iterable[str]) -> Touched:
    """Return what to stage of these files and directories, and which of them git ignores."""
    tree = Tree(git.root)
    paths = sorted({name.rstrip("/") for name in names})
    present = [file for path in paths for file in tree.files(path)]
    absent = [path for path in paths if tree.kind(path) not in {"file", "nested"}]
    indexed = _indexed(git, absent)
    gone = _gone(tree, absent, indexed)
    rules = _changed_rules(paths)
    lost = [path for path in gone if tree.kind(path) == "beyond" or _is_below(path, rules)]
    ignored = _ignored(git, [*present, *sorted(set(gone).difference(lost))])
    staged = [path for path in present if path not in ignored]
    removed = [path for path in indexed if tree.kind(path) != "file"]
    nested = any(kind == "nested" for kind in tree.kinds.values())
    return Touched((*staged, *removed), (*ignored, *lost), nested)


def _gone(tree: Tree, absent: list[str], indexed: list[str]) -> list[str]:
    """Return the files that are gone and in no commit: git ignored them, or they came and went in the run."""
    directories = {above for path in (*absent, *indexed) for above in lineage(path.rpartition("/")[0])}
    known = directories.union(indexed)
    return [path for path in absent if path not in known and tree.kind(path) in {"gone", "beyond"}]


def _changed_rules(paths: list[str]) -> set[str]:
    """Return the directories in which git can no longer tell what it ignored: many caches have own rules."""
    return {path.removesuffix(RULES) for path in paths if f"/{path}".endswith(f"/{RULES}")}


def _is_below(path: str, directories: set[str]) -> bool:
    """Tell whether the path is in one of these directories, which end in a slash; the root is nothing."""
    return not directories.isdisjoint(("", *(f"{above}/" for above in lineage(path))))


def _ignored(git: Git, paths: list[str]) -> dict[str, None]:
    """Return which of these files are ignored, and not tracked all the same."""
    if not paths:
        return {}
    # check-ignore cannot be told that names are literal: without ./ a colon in front would be magic
    given = _lines(f"./{path}" for path in paths)
    answer = git.call("check-ignore", "-z", "--stdin", given=given, GIT_LITERAL_PATHSPECS="0")
    if answer.code not in {0, 1}:  # 1: none is
        raise failed("check-ignore", answer)
    return dict.fromkeys(path[2:] for path in os.fsdecode(answer.output).split("\0")[:-1])


def _indexed(git: Git, paths: list[str]) -> list[str]:
    """Return the files that the index holds at or below these paths."""
    if not paths:
        return []
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.ask("ls-files", "-z", *limit)).split("\0")[:-1]
    if limit:
        return listed
    wanted = set(paths)
    return [path for path in listed if not wanted.isdisjoint(lineage(path))]


def lineage(path: str) -> Iterable[str]:
    """Return the path and every directory that it is in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def _lines(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


class Tree:
    """Looks at the tree without following links, and remembers what it saw."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.kinds: dict[str, str] = {"": "directory"}

    def kind(self, path: str) -> str:
        """Return file (or link), directory, nested (with a .git), gone, beyond (a link or file), or other."""
        known = self.kinds.get(path)
        if known is None:
            known = self.kinds[path] = self._look(path)
        return known

    def _look(self, path: str) -> str:
        above = self.kind(path.rpartition("/")[0])
        if above != "directory":
            return above if above in {"gone", "nested"} else "beyond"
        full = os.path.join(self._root, path)
        try:
            mode = os.lstat(full).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        if S_ISDIR(mode):
            return "nested" if os.path.lexists(os.path.join(full, ".git")) else "directory"
        return "file" if S_ISREG(mode) or S_ISLNK(mode) else "other"

    def files(self, path: str) -> Iterable[str]:
        """Return the file, or all files in the directory."""
        kind = self.kind(path)
        if kind == "file":
            yield path
        elif kind == "directory":
            for name in sorted(os.listdir(os.path.join(self._root, path))):
                yield from self.files(f"{path}/{name}" if path else name)
