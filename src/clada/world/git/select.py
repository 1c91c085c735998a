"""Selects the files for the commits of a run, notes why others are left out, and refuses early."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls, first_few
from clada.values import Value
from clada.world.git.filters import filtered_files, unfit_files
from clada.world.git.git import hardened_git
from clada.world.git.repository import git_error, knows_workspace
from clada.world.git.staging import GITLINK, outside_submodules, read_indexed, read_staged, remove_missing
from clada.world.git.status import (
    WorkTree,
    WorkTreeStatus,
    ignored_files,
    with_parents,
    work_tree_status,
)
from clada.world.secrets.names import looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clada.world.git.git import Git
    from clada.world.git.index import IndexCopy
    from clada.world.git.repository import Repository
    from clada.world.git.staging import Staged


LARGE = 10 << 20  # bytes of an untracked file that is not committed unasked
MAX_NAMED = 10  # files that a note names
MANY = 500  # untracked files that are committed unasked, at most
SNAPSHOTS = "use --record=snapshots"


class PlannedRun(Value):
    """What is known of a run before it changes anything."""

    paths: Sequence[str] = ()  # below the workspace, which file operations name
    wide: bool = False  # whether anything else may change too, by commands, moves and removals
    consent: Callable[[str], bool] | None = None  # asks a person a yes/no question, if one can be asked
    stop: int | None = None  # a handle that becomes readable when the run must end

    @property
    def may_change_ignored(self) -> bool:
        """Whether the run may change which files git ignores."""
        return self.wide or any(os.path.basename(path) == ".gitignore" for path in self.paths)


class Selection:
    """Selects the files of a repository to commit, below the workspace. Errors are CladaError."""

    def __init__(
        self,
        repository: Repository,
        unignored: frozenset[str],
        *,
        commit_all: bool,
        uncommitted: frozenset[str] = frozenset(),
    ) -> None:
        self.notes: tuple[str, ...] = ()  # for the user, in order
        self.ignored: frozenset[str] = frozenset()  # files and directories that were ignored before the run
        self.unignored = unignored  # the same, before an earlier run
        self.answers = frozenset[str]()  # those of `uncommitted` that are untracked
        self._uncommitted = uncommitted  # files that stay out unless they are tracked
        self._repository, self._commit_all = repository, commit_all

    # Before the run.

    def select_before(
        self, git: Git, run: PlannedRun, own: IndexCopy | None = None
    ) -> tuple[str, dict[str, Staged], list[str]]:
        """Return HEAD, the staged entries, and the files that the commit before the run takes from the tree.

        Raise what keeps it from being made. own: the index of this git; without one, nothing is written, and
        ignored paths are not remembered.
        """
        _refuse_unknown_workspace(self._repository, git)
        try:
            ignored = own is not None and run.may_change_ignored
            found = work_tree_status(git, self._repository.prefix, ignored=ignored)
        except CladaError:
            self._refuse_unfit(git, filtered_files(git), (), dry=True)  # git says less of that
            raise
        self._forget_unignored(found.untracked)
        elsewhere = (path for path in self._uncommitted if not path.startswith(self._repository.prefix))
        self.answers = self._uncommitted.intersection(found.untracked).union(elsewhere)
        nothing = own is not None and _is_as_committed(self._repository, own, found)
        different = {} if nothing else read_staged(git, found.head)
        paths = self._files_to_stage(found, different)
        self._refuse_unfit(git, paths, run.paths, dry=own is None)
        self._ask_about_many(found.untracked, paths, run.consent)
        self.ignored = frozenset(path.rstrip("/") for path in found.ignored)
        return found.head, different, paths

    def _forget_unignored(self, untracked: Sequence[str]) -> None:
        """Forget places at which nothing is untracked: it was added, is ignored again, or is gone."""
        if self.unignored:
            there = {place for path in untracked for place in with_parents(path)}
            prefix = self._repository.prefix
            self.unignored = frozenset(
                place for place in self.unignored if place in there or not place.startswith(prefix)
            )

    def _files_to_stage(self, found: WorkTreeStatus, different: Mapping[str, Staged]) -> list[str]:
        """Return the files to stage for the commit before the run."""
        for path in found.nested:
            self.note(
                f"{escape_controls(self.below_workspace(path))} is a repository of its own: not recorded"
            )
        taken_out = self._find_taken_out(different, (*found.changed, *found.untracked))
        new = [path for path in found.untracked if path not in taken_out and path not in self._uncommitted]
        left_out = self._find_left_out(new)
        return [path for path in (*found.changed, *new) if path not in taken_out and path not in left_out]

    def only_checked_out(self, git: Git, paths: list[str]) -> list[str]:
        """Return these files without those that are gone because they are not checked out."""
        if not self._repository.is_sparse:
            return paths
        gone = [path for path in paths if not os.path.lexists(os.path.join(git.root, path))]
        left = remove_missing(git, gone)
        self.note_paths("outside of the sparse checkout, and not removed", left)
        return [path for path in paths if path not in left]

    def _refuse_unfit(self, git: Git, paths: Sequence[str], planned: Sequence[str], *, dry: bool) -> None:
        """Raise if one of these files, or of those that the run will write, cannot be committed."""
        tree = WorkTree(git.root)
        present = [path for path in paths if tree.kind(path) == "file"]
        coming = [self._repository.prefix + path for path in planned]
        unfit = unfit_files(self._repository, git, present, coming, dry=dry)
        if unfit:
            more = f" (and {len(unfit) - 1} more)" if len(unfit) > 1 else ""
            message = f"{escape_controls(self.below_workspace(unfit[0].path))}{more} cannot be committed"
            raise git_error(f"{message}: clada does not apply {unfit[0].because}", SNAPSHOTS)

    def _ask_about_many(
        self, untracked: Sequence[str], paths: Sequence[str], consent: Callable[[str], bool] | None
    ) -> None:
        count = len(set(untracked).intersection(paths))
        if count <= MANY or self._commit_all:
            return
        if consent is not None and consent(f"Commit {count} untracked files that are here before the run?"):
            return
        raise git_error(
            f"there are {count} untracked files, and the commit before the run would take them all in",
            f"name in .gitignore what is not to be committed, {SNAPSHOTS}, or commit them with --commit-all",
        )

    # After the run.

    def select_after(
        self,
        git: Git,
        names: Sequence[str],
        moved: Sequence[tuple[str, str]],
        different: Mapping[str, Staged],
    ) -> list[str]:
        """Return which files of those that the run touched the commit after it can take."""
        tree = WorkTree(git.root)
        present = [file for name in names if not tree.is_listed(name) for file in tree.files(name)]
        absent = [name for name in names if tree.kind(name) not in {"file", "nested"}]
        try:
            ignored = ignored_files(git, present)
        except CladaError:  # git refuses what is in a submodule, checked out or not
            present = outside_submodules(git, present)
            ignored = ignored_files(git, present)
        taken_out = self._find_taken_out(different, present)
        present = [path for path in present if path not in ignored and path not in taken_out]
        own = self._uncommitted.intersection(present)
        suspects = [path for path in present if path not in own and self._stays_untracked(path, moved)]
        known = read_indexed(git, [*absent, *suspects, *own])
        left_out = self._find_left_out([path for path in suspects if path not in known], moved)
        left_out |= own.difference(known)
        present = [path for path in present if path not in left_out]
        unfit = {each.path: each.because for each in unfit_files(self._repository, git, present)}
        for path, because in unfit.items():
            shown = escape_controls(self.below_workspace(path))
            self.note(f"{shown} is not committed: clada does not apply {because}")
        gone = [
            path
            for path, entry in known.items()
            if not entry.is_flagged and entry.mode != GITLINK and tree.kind(path) not in {"file", "nested"}
        ]
        return [*(path for path in present if path not in unfit), *gone]

    # What stays out.

    def _find_taken_out(self, different: Mapping[str, Staged], paths: Iterable[str]) -> set[str]:
        """Return which files the user took out of the index, or only announced: the tree does not decide."""
        taken_out = {path for path in paths if path in different and different[path].is_taken_out}
        root = self._repository.root
        present = sorted(path for path in taken_out if os.path.lexists(os.path.join(root, path)))
        announced = [path for path in present if different[path].announced]
        removed = [path for path in present if not different[path].announced]
        self.note_paths("not committed, because git add -N only announces them", announced)
        self.note_paths("not committed, as you have taken them out of the index", removed)
        return taken_out

    def _stays_untracked(self, path: str, moved: Sequence[tuple[str, str]]) -> bool:
        """Return whether a file stays off the branch, unless it is tracked."""
        if self._was_ignored(path, moved):
            return True
        return not self._commit_all and (
            looks_secret(path)
            or _is_large(os.path.join(self._repository.root, path))
            or self._was_ignored_earlier(path)
        )

    def _was_ignored_earlier(self, path: str) -> bool:
        return bool(self.unignored) and not self.unignored.isdisjoint(with_parents(path))

    def _was_ignored(self, path: str, moved: Sequence[tuple[str, str]]) -> bool:
        """Return whether git ignored the file before the run, where it was then."""
        if not self.ignored:
            return False
        places = [path, *(old + path[len(new) :] for old, new in moved if f"{path}/".startswith(f"{new}/"))]
        return any(not self.ignored.isdisjoint(with_parents(place)) for place in places)

    def _find_left_out(self, untracked: Sequence[str], moved: Sequence[tuple[str, str]] = ()) -> set[str]:
        """Return which of these files stay off the branch, and say so."""
        ignored = [path for path in untracked if self._was_ignored(path, moved)]
        self.note_paths("left untracked, as git ignored them before the run", ignored)
        rest = [path for path in untracked if path not in ignored and self._stays_untracked(path, moved)]
        earlier = [path for path in rest if self._was_ignored_earlier(path)]
        reasons = {
            "git ignored them before an earlier run": earlier,
            "they look like secrets or are over 10 MB": [path for path in rest if path not in earlier],
        }
        for why, paths in reasons.items():
            self.note_paths(f"left untracked, as {why} (--commit-all takes them in)", sorted(paths))
        return {*ignored, *rest}

    # Words.

    def note_paths(self, text: str, paths: Sequence[str]) -> None:
        """Tell the user something about some of the paths, if there are any."""
        if paths:
            named = first_few([self.below_workspace(path) for path in paths], MAX_NAMED)
            self.note(f"{text}: {named}")

    def note(self, note: str) -> None:
        """Tell the user something, once."""
        if note not in self.notes:
            self.notes = (*self.notes, note)

    def below_workspace(self, path: str) -> str:
        """Return a path of the repository as one below the workspace."""
        return path.removeprefix(self._repository.prefix)


def _refuse_unknown_workspace(repository: Repository, git: Git) -> None:
    """Raise if the repository is one further up that has no file of the workspace."""
    if knows_workspace(repository, git):
        return
    root = escape_controls(repository.root)
    raise git_error(
        f"the repository is {root}, and it has no file of this workspace",
        f"git init here, {SNAPSHOTS}; or, if that is the one, --repository={root} or git add a file here",
    )


def _is_as_committed(repository: Repository, own: IndexCopy, found: WorkTreeStatus) -> bool:
    """Whether a status has shown that nothing is staged. It is silent of submodules and of other folders."""
    if repository.prefix or own.has_submodules or not found.head:
        return False
    return not (found.staged or found.unmerged or found.announced)


def _is_large(path: str) -> bool:
    """Return whether a file is too large to be committed unasked."""
    try:
        return os.lstat(path).st_size > LARGE
    except OSError:
        return False  # removed since it was listed, so no commit takes it in


COMMENT = "# clada watch: answers, and the reports on them"
SPECIAL = "\\*?[]!# "


def exclude(repository: Repository, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Name those of these files and directories in the list that are in the work tree.

    Return what was not in the list before; and which of the files, or of those in the directories, are
    tracked: the list has no effect on them.
    """
    inside = [path for path in (_below_root(repository, path) for path in paths) if path]
    tracked = list(read_indexed(hardened_git(repository), inside))
    return _add(repository, [path for path in inside if path not in tracked]), tracked


def _add(repository: Repository, paths: Sequence[str]) -> list[str]:
    lines = [f"/{_escape(path)}" for path in paths]
    place = os.path.join(repository.common_dir, "info", "exclude")
    try:
        with open(place, encoding="utf-8", errors="surrogateescape", opener=_no_link) as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    there = text.split("\n")
    new = [line for line in lines if line not in there]
    if new:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        lead = "" if not text or text.endswith("\n") else "\n"
        comment = [] if COMMENT in there else [COMMENT]
        with open(place, "a", encoding="utf-8", errors="surrogateescape", opener=_no_link) as file:
            file.write(lead + "".join(f"{line}\n" for line in (*comment, *new)))
    return new


def _below_root(repository: Repository, path: str) -> str:
    """Return a path from the root of the repository, a directory's with a slash; empty if it is outside."""
    directory, name = os.path.split(os.path.abspath(path))
    below = os.path.relpath(os.path.join(os.path.realpath(directory), name), repository.root)
    if below == ".." or below.startswith("../") or "\n" in below:
        return ""
    return f"{below}/" if os.path.isdir(path) else below


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _escape(path: str) -> str:
    return "".join(f"\\{char}" if char in SPECIAL else char for char in path)
