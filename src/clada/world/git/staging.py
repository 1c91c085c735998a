"""Read and change the entries of an index: the one that the given git uses."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git.git import git_call_error, hardened_git
from clada.world.git.repository import NoRepositoryError, find
from clada.world.git.status import FEW, WorkTree, with_parents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from clada.world.git.git import Git

NONE = "000000"  # the mode of what does not exist
GITLINK = "160000"  # the mode of a submodule
CACHED, SKIPPED = "H", "S"  # how git marks an entry without flags, and one that is not checked out
# The entry of a file after `git add -N`: the hash of an empty file, and a flag.
EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
INTENT_TO_ADD = 1 << 29
RAW = ("--raw", "-z", "--no-renames", "--no-abbrev")
IN_THE_WAY = b"appears as both a file and as a directory"


class IndexEntry(Value):
    """A mode and an object, as a commit or an index has them for a path."""

    mode: str
    name: str

    @property
    def is_there(self) -> bool:
        """Whether there is such a file."""
        return self.mode != NONE

    def line(self, path: str) -> str | None:
        """Return it as `git ls-files -s` prints it for this path; None if there is no such file."""
        return f"{self.mode} {self.name} 0\t{path}" if self.is_there else None


class Staged(Value):
    """A path whose entry in the index is not that of the last commit."""

    committed: IndexEntry
    indexed: IndexEntry
    announced: bool = False  # by git add -N: nothing of it is staged

    @property
    def is_taken_out(self) -> bool:
        """Whether the next commit is not to have the file, even if the tree has it."""
        return self.announced or not self.indexed.is_there

    @property
    def is_submodule(self) -> bool:
        """Whether it is, or was, a submodule."""
        return GITLINK in {self.committed.mode, self.indexed.mode}


def read_staged(git: Git, commit: str) -> dict[str, Staged]:
    """Return the entries of the index that differ from the commit; raise if there are unmerged files."""
    call = ("diff-index", "--cached", *RAW, "--ignore-submodules=none", commit or empty_tree(git), "--")
    found: dict[str, Staged] = {}
    unmerged = []
    for path, kind, old, new in _differences(git.check_output(*call)):
        if kind == "U":
            unmerged.append(path)
        found[path] = Staged(old, new)
    if unmerged:
        names = ", ".join(escape_controls(path) for path in dict.fromkeys(unmerged))
        message = f"there are unmerged files: {names}"
        raise CladaError("git_operation_failed", message, "resolve them and git add them")
    for path in _intended_to_add(
        git, [path for path, each in found.items() if each.indexed.name in EMPTY_BLOBS]
    ):
        found[path] = found[path].replace(announced=True)
    return found


def empty_tree(git: Git) -> str:
    """Return the name of the tree without files, which depends on the repository's hash."""
    return git.check_word("hash-object", "-t", "tree", "--stdin")


def _differences(raw: bytes) -> Iterator[tuple[str, str, IndexEntry, IndexEntry]]:
    """Yield each path that differs, in which way, and the entries before and after."""
    parts = os.fsdecode(raw).split("\0")[:-1]
    for line, path in zip(parts[0::2], parts[1::2], strict=True):
        old_mode, mode, old, name, kind = line[1:].split(" ")
        yield path, kind, IndexEntry(old_mode, old), IndexEntry(mode, name)


class Reversal(Value):
    """What takes commits back: the entries, what HEAD has in another way, and the commits that are gone."""

    entries: dict[str, IndexEntry]
    changed: list[str]
    gone: list[str]


def find_reversal(git: Git, made: Sequence[str], head: str) -> Reversal:
    """Return what takes these commits back, the newest first."""
    entries: dict[str, IndexEntry] = {}
    changed, gone = list[str](), list[str]()
    for commit in made:
        call = ("diff-tree", "-r", *RAW, "--end-of-options", commit)
        own = git.call(*call[:1], "--root", "--no-commit-id", *call[1:])
        since = git.call(*call, head)
        if own.code != 0 or since.code != 0:
            gone.append(commit)
            continue
        at_head = {path: new for path, _kind, _old, new in _differences(since.output)}
        for path, _kind, old, new in _differences(own.output):
            now = entries.get(path, at_head.get(path, new))
            if now == new:
                entries[path] = old
            elif now != old:
                changed.append(path)
    return Reversal(entries, changed, gone)


def _intended_to_add(git: Git, paths: Sequence[str]) -> list[str]:
    """Return the paths that are only intended to be added, by their flags, which git prints with --debug."""
    if not paths:
        return []
    limit = ["--", *paths] if len(paths) <= FEW else []
    pieces = os.fsdecode(git.check_output("ls-files", "-z", "--debug", *limit)).split("\0")
    found, name = [], pieces[0]
    for piece in pieces[1:]:
        *details, following = piece.split("\n", 5)
        if int(details[-1].rpartition(": ")[2], 16) & INTENT_TO_ADD:
            found.append(name)
        name = following
    wanted = set(paths)
    return [path for path in found if path in wanted]


class Indexed(Value):
    """An entry of the index: its flag as git prints it, and its fields."""

    line: str
    tag: str
    mode: str

    @property
    def is_flagged(self) -> bool:
        """Whether git was told not to look at the file in the tree."""
        return self.tag != CACHED


def read_indexed(git: Git, paths: Collection[str]) -> dict[str, Indexed]:
    """Return the entries of the index at or below these paths."""
    if not paths:
        return {}
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-v", "-z", *limit)).split("\0")[:-1]
    wanted = set(paths)
    found = {}
    for entry in listed:
        fields, _, path = entry.partition("\t")
        if limit or not wanted.isdisjoint(with_parents(path)):
            tag, _, line = fields.partition(" ")
            found[path] = Indexed(f"{line}\t{path}", tag, line[: len(NONE)])
    return found


def stage(git: Git, paths: Collection[str]) -> None:
    """Put these files into the index as they are in the tree, or take them out; but no flagged ones."""
    tree = WorkTree(git.root)
    plain = [path for path in paths if tree.kind(path) in {"file", "gone"}]
    others = [path for path in paths if tree.kind(path) not in {"file", "gone"}]
    if others:
        git.check_output("update-index", "--force-remove", "-z", "--stdin", stdin=_lines(others))
    if plain:
        _stage_plain(git, plain)


def _stage_plain(git: Git, paths: Sequence[str]) -> None:
    call = ("update-index", "--add", "--remove", "--ignore-skip-worktree-entries", "-z", "--stdin")
    result = git.call(*call, stdin=_lines(paths))
    if result.code != 0 and IN_THE_WAY in result.errors:  # a file is where a directory was, or a submodule is
        free = outside_submodules(git, paths)
        result = git.call(*call[:2], "--replace", *call[2:], stdin=_lines(free))
    if result.code != 0:
        raise git_call_error("update-index", result)


def remove_missing(git: Git, paths: Sequence[str]) -> list[str]:
    """Take files out that are gone from the tree; return those that git itself would leave in.

    They are outside of the sparse checkout, and so merely not checked out.
    """
    if not paths:
        return []
    call = ("rm", "-q", "-f", "--cached", "--pathspec-from-file=-", "--pathspec-file-nul")
    result = git.call(*call, stdin=_lines(paths))
    if result.code not in {0, 1}:  # 1: it leaves some in
        raise git_call_error("rm", result)
    left = read_indexed(git, paths)
    return [path for path in paths if path in left]


def not_checked_out(git: Git, paths: Collection[str]) -> list[str]:
    """Return which of these files the index has as not checked out, whether or not they are there by now."""
    # Else git takes the mark for gone, once there is such a file.
    as_marked = git.replace(command=(*git.command, "-c", "sparse.expectFilesOutsideOfPatterns=true"))
    return [path for path, entry in read_indexed(as_marked, paths).items() if entry.tag == SKIPPED]


def mark_not_checked_out(git: Git, paths: Collection[str]) -> None:
    """Mark files of the user's index that are gone from the tree as not checked out."""
    unmarked = [path for path, entry in read_indexed(git, paths).items() if not entry.is_flagged]
    if unmarked:
        git.check_output("update-index", "--skip-worktree", "-z", "--stdin", stdin=_lines(unmarked))


def submodules(workspace: str) -> list[str]:
    """Return the submodules that the index has below a workspace, checked out or not."""
    try:
        repository = find(workspace)
    except NoRepositoryError:
        return []
    found = _gitlinks(hardened_git(repository))
    return [path.removeprefix(repository.prefix) for path in found if path.startswith(repository.prefix)]


def _gitlinks(git: Git) -> list[str]:
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z")).split("\0")
    return [line.partition("\t")[2] for line in listed if line.startswith(GITLINK)]


def outside_submodules(git: Git, paths: Iterable[str]) -> list[str]:
    """Return which of these files are not where the index has a submodule, checked out or not."""
    nested = set(_gitlinks(git))
    return [path for path in paths if nested.isdisjoint(with_parents(path))]


def set_entries(git: Git, entries: Mapping[str, IndexEntry]) -> None:
    """Give these paths these entries, or none."""
    gone_first = sorted(entries.items(), key=lambda item: item[1].is_there)
    set_entry_lines(git, (f"{entry.mode} {entry.name}\t{path}" for path, entry in gone_first))


def set_entry_lines(git: Git, lines: Iterable[str]) -> None:
    """Give paths the entries that these lines say, as git prints them."""
    stdin = _lines(lines)
    if stdin:
        git.check_output("update-index", "--add", "--replace", "-z", "--index-info", stdin=stdin)


def _lines(texts: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(text) + b"\0" for text in texts)
