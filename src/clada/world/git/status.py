"""What differs between the last commit, the index and the work tree, and what is in the work tree."""

from __future__ import annotations

import os
from errno import ENAMETOOLONG
from stat import S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.paths import is_protected
from clada.world.git.git import git_call_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.world.git.git import Git


STATUS = tuple(
    "status --porcelain=v2 --branch -z --untracked-files=all --no-renames --ignore-submodules=all".split()
)
FEW = 50  # paths that git finds in its index faster than it can list the whole of it


class WorkTreeStatus(Value):
    """What differs between last commit, index and work tree, as paths below the repository's root."""

    head: str  # the commit that HEAD is; empty before the first one
    changed: tuple[str, ...] = ()  # in the work tree, against the index
    untracked: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()  # in the index, against the commit
    unmerged: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()  # repositories of their own, which are left alone
    ignored: tuple[str, ...] = ()  # files, and directories with a slash at the end; only if asked for
    announced: tuple[str, ...] = ()  # in the index, without content as yet


def work_tree_status(git: Git, prefix: str, *, ignored: bool = False) -> WorkTreeStatus:
    """Return the changes below the prefix, by one `git status`; with `ignored`, also ignored paths."""
    limit = [*(["--ignored=matching"] if ignored else []), *(["--", prefix.rstrip("/")] if prefix else [])]
    found: dict[str, list[str]] = {name: [] for name in WorkTreeStatus.__match_args__[1:]}
    head: str | None = None
    for line in os.fsdecode(git.check_output(*STATUS, *limit)).split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "1":
            _add_tracked(rest, found)
        elif kind == "?":
            found["nested" if rest.endswith("/") else "untracked"].append(rest)
        elif kind == "!":
            found["ignored"].append(rest)
        elif kind == "u":
            found["unmerged"].append(rest.split(" ", 9)[9])
        elif rest.startswith("branch.oid "):
            head = rest.partition(" ")[2].removesuffix("(initial)")
    if head is None:
        raise CladaError("git_operation_failed", "git does not say where HEAD is", "try again")
    return WorkTreeStatus(head, **{name: tuple(paths) for name, paths in found.items()})


def _add_tracked(fields: str, found: dict[str, list[str]]) -> None:
    in_index, in_tree, path = fields[0], fields[1], fields.split(" ", 7)[7]
    if in_index != ".":
        found["staged"].append(path)
    if in_tree != ".":
        found["changed"].append(path)
    if in_tree == "A":
        found["announced"].append(path)


def is_off_limits(path: str) -> bool:
    """Return whether undo and stash must leave the path alone: approvals, git's own, and what leads out."""
    return any(part in {"..", ".", ""} or is_protected(part) for part in path.split("/"))


def ignored_files(git: Git, paths: list[str]) -> dict[str, None]:
    """Return which of these files are ignored and not tracked."""
    if not paths:
        return {}
    # check-ignore cannot be told that names are literal: without ./ a colon in front would be magic
    stdin = b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)
    result = git.call("check-ignore", "-z", "--stdin", stdin=stdin, GIT_LITERAL_PATHSPECS="0")
    if result.code not in {0, 1}:  # 1: none is
        raise git_call_error("check-ignore", result)
    return dict.fromkeys(path[2:] for path in os.fsdecode(result.output).split("\0")[:-1])


def with_parents(path: str) -> Iterable[str]:
    """Return the path and every directory that it is in."""
    while path:
        yield path
        path = path.rpartition("/")[0]


class WorkTree:
    """Reads the status of files without following links, and caches it."""

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
