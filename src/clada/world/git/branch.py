"""The commits of a run on the branch: one of the work before it, and one of its own changes.

They hold what git itself would commit, and are built in an index of their own. Afterwards the user's index
equals HEAD for the files that were committed, and all else that is staged stays staged. All of this is in
addition to the record from which a run is undone.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.clock import timestamp
from clada.world.git.commit import (
    SHORT_HASH,
    Head,
    commit_message,
    make_commit,
    read_author,
    read_head,
)
from clada.world.git.git import FATAL, git_call_error, hardened_git
from clada.world.git.index import check, clear_stale_ref_locks, index_copy, locked_index, remove_stale_copies
from clada.world.git.repository import git_error, head_name, os_errors_as_git_errors
from clada.world.git.select import PlannedRun, Selection
from clada.world.git.staging import (
    empty_tree,
    find_reversal,
    read_indexed,
    read_staged,
    set_entries,
    set_entry_lines,
    stage,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from clada.world.files.stat import Stamp
    from clada.world.git.git import Git
    from clada.world.git.index import IndexCopy, IndexLock
    from clada.world.git.repository import Repository
    from clada.world.git.staging import Indexed, Staged

    Found = tuple[str, dict[str, Staged], list[str]]  # HEAD, the staged entries, and the files to commit

ME = "me"  # the author that stands for the user
TRIES = 3  # where the user commits while a commit is being made


class _HeadMovedError(Exception):
    """HEAD has moved since the commit was made."""


class _FileSavedError(Exception):
    """Another program has saved a file that was staged: it is not the run's any more."""


class _LastCommit(Value):
    """State that the commit before the run passes to the one after it."""

    branch: str
    head: Head
    is_staged: bool = False  # whether the user's index has something that HEAD has not
    index: Stamp | None = None  # of the user's index then


class _Draft(Value):
    """The parts of a commit that is being made."""

    own: IndexCopy
    old: Head
    different: Mapping[str, Staged]  # entries of the user's index that differ from the old HEAD
    message: str


class BranchCommits:
    """The commits of a run on the current branch: one of the work before it, and one of its changes.

    The repository's lock must be held. Errors are CladaError.
    """

    def __init__(  # noqa: PLR0913 (what the settings say of commit)
        self,
        repository: Repository,
        author: str,
        *,
        message: str | None = None,
        commit_all: bool = False,
        uncommitted: frozenset[str] = frozenset(),
        unignored: frozenset[str] = frozenset(),
    ) -> None:
        """Take the settings.

        Both are paths below the repository's root. uncommitted: files that stay out unless git tracks them;
        unignored: places that git ignored before an earlier run, and that stay out for that.
        """
        self._repository, self._message = repository, message
        self._author = None if author == ME else read_author(author)
        self.selection = Selection(repository, unignored, commit_all=commit_all, uncommitted=uncommitted)
        self._before: _LastCommit | None = None
        self._prepared: tuple[Stamp | None, Found] | None = None  # the index that was read, and the result
        self._unreported: str | None = None  # a commit that was made when an interrupt came

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user, in order."""
        return self.selection.notes

    # Before the run.

    def prepare(self, run: PlannedRun) -> None:
        """Raise if commits could not be made, as `before` would.

        Nothing is committed. `before` uses the result, unless the index has changed by then.
        """
        with os_errors_as_git_errors(), index_copy(self._repository, self._ready_git(run)) as own:
            self._prepared = own.seen, self.selection.select_before(own.git, run, own)

    def before(self, run: PlannedRun, number: int | None = None) -> str | None:
        """Make the commit before the run of this number, and return it; None if none is due.

        If it raises, none is made.
        """
        with os_errors_as_git_errors():
            git = self._ready_git(run)
            message = self._build_message("pre", number, ())
            for _ in range(TRIES):
                try:
                    with index_copy(self._repository, git) as own:
                        branch = head_name(self._repository)
                        prepared, self._prepared = self._prepared, None
                        if prepared and prepared[0] == own.seen:
                            found = prepared[1]
                        else:
                            found = self.selection.select_before(own.git, run, own)
                        return self._commit_before(own, branch, found, message)
                except _HeadMovedError:
                    continue  # the user was faster
        raise git_error("HEAD moves all the time: no commit was made", "try again")

    def _ready_git(self, run: PlannedRun) -> Git:
        """Return a git that can make commits here; raise if none can be made now."""
        check(self._repository)
        git = hardened_git(self._repository).replace(stop=run.stop)
        self._refuse_without_identity(git)
        remove_stale_copies(self._repository)
        return git

    def _commit_before(self, own: IndexCopy, branch: str, found: Found, message: str) -> str | None:
        commit, different, paths = found
        paths = self.selection.only_checked_out(own.git, paths)
        head = Head(commit, "")  # its tree is asked for where it matters
        self._before = _LastCommit(branch, head, bool(different), own.seen)
        taken = {*paths, *(path for path, each in different.items() if self._is_taken_in(path, each))}
        if not taken:
            return None
        stage(own.git, paths)
        return self._commit(_Draft(own, head, different, message), taken)

    def refuse(self, run: PlannedRun) -> None:
        """Raise what `before` would raise, and touch nothing."""
        with os_errors_as_git_errors():
            check(self._repository, dry=True)
            git = hardened_git(self._repository, refresh=False)
            self._refuse_without_identity(git)
            self.selection.select_before(git, run)

    def _refuse_without_identity(self, git: Git) -> None:
        if self._author is None and git.call("var", "GIT_AUTHOR_IDENT").code != 0:
            raise git_error(
                "git does not know who you are",
                "git config --global user.name NAME, and user.email MAIL; or give --git-author a name",
            )

    # After the run.

    def after(  # noqa: PLR0913 (what to commit, what not, and the words for it)
        self,
        touched: Iterable[str],
        moved: Sequence[tuple[str, str]] = (),
        *,
        kind: str = "post",
        run: int,
        body: Sequence[str] = (),
        is_ours: Callable[[str], bool] = lambda _path: True,
        reverts: Sequence[str] = (),
        undoes: int = 0,
    ) -> str | None:
        """Commit these paths as they are in the tree now, and nothing else; return the commit, or None.

        touched: files below the workspace, or directories with all in them; moved: from where to where.
        kind: post or undo, which `undoes` a run. body: the operations, one a line. is_ours: whether a file is
        still as the run left it. reverts: the commits that an undo takes back, the newest first; then the
        tree does not count.
        """
        prefix = self._repository.prefix
        names = sorted({prefix + name.rstrip("/") for name in touched if not name.startswith("/")})
        if not names:
            return None
        places = [(prefix + old.rstrip("/"), prefix + new.rstrip("/")) for old, new in moved]
        with os_errors_as_git_errors():
            check(self._repository)
            git = hardened_git(self._repository)
            message = self._build_message(kind, run, body, undoes)
            for _ in range(TRIES):
                try:
                    with index_copy(self._repository, git) as own:
                        draft = self._draft(own, git, message)
                        if reverts:
                            return self._commit_reversal(draft, reverts, names)
                        return self._commit_touched(draft, names, places, is_ours)
                except _HeadMovedError:
                    self.find_head(git)
                except _FileSavedError:
                    continue  # it is left out the next time
        raise git_error(
            "HEAD kept moving, so no commit was made", "commit the changes yourself: git commit -a"
        )

    def find_head(self, git: Git | None = None) -> None:
        """Read HEAD again; files that the user committed meanwhile are no longer staged.

        Raise if no commit can be made: there are unmerged files, or it is another branch than before.
        """
        git = git or hardened_git(self._repository)
        last, head, branch = self._before, read_head(git), head_name(self._repository)
        if last is None:
            read_staged(git, head.commit)
        if last is not None and branch != last.branch:
            raise _switched_error(last.branch, branch)
        if last is not None and not branch and last.head.commit:
            ancestor = git.call("merge-base", "--is-ancestor", last.head.commit, head.commit or "HEAD")
            if ancestor.code != 0:
                raise _switched_error(last.head.commit[:12], head.commit[:12])
        self._before = _LastCommit(branch, head)

    def _draft(self, own: IndexCopy, git: Git, message: str) -> _Draft:
        if self._before is None:
            self.find_head(git)
        last = self._before
        assert last is not None  # noqa: S101 (for type checkers)
        branch = head_name(self._repository)
        if branch != last.branch:
            raise _switched_error(last.branch, branch)
        unchanged = own.seen == last.index and not last.is_staged
        return _Draft(own, last.head, {} if unchanged else read_staged(own.git, last.head.commit), message)

    def _commit_reversal(self, draft: _Draft, reverts: Sequence[str], names: Sequence[str]) -> str | None:
        """Take these commits back, as far as the undo has done so in the tree."""
        found = find_reversal(draft.own.git, reverts, draft.old.commit)
        undone, selection = set(names), self.selection
        if found.gone:
            commits_gone = ", ".join(commit[:SHORT_HASH] for commit in found.gone)
            selection.note(f"not committed, as what the run had committed is gone from git: {commits_gone}")
        changed = sorted(undone.intersection(found.changed))
        selection.note_paths("not committed, as HEAD has something else by now", changed)
        taken = {path: entry for path, entry in found.entries.items() if path in undone}
        set_entries(draft.own.git, taken)
        return self._commit(draft, taken)

    def _commit_touched(
        self,
        draft: _Draft,
        names: Sequence[str],
        moved: Sequence[tuple[str, str]],
        is_ours: Callable[[str], bool],
    ) -> str | None:
        """Commit the files that the run left, except those that another program has saved since."""
        selection = self.selection
        found = selection.select_after(draft.own.git, names, moved, draft.different)
        paths = [path for path in found if is_ours(selection.below_workspace(path))]
        left = sorted(set(found).difference(paths).intersection(names))
        selection.note_paths("saved by another program meanwhile, and not committed", left)
        stage(draft.own.git, paths)
        if not all(is_ours(selection.below_workspace(path)) for path in paths):
            raise _FileSavedError
        return self._commit(draft, paths)

    # Making a commit.

    def _commit(self, draft: _Draft, paths: Collection[str]) -> str | None:
        """Commit these files as the draft's index has them; all else as it was."""
        git, different = draft.own.git, draft.different
        taken = frozenset(paths)
        if not taken:
            return self._unreported
        set_entries(git, {path: each.committed for path, each in different.items() if path not in taken})
        tree = git.check_word("write-tree", "--missing-ok")
        if tree == _tree_of(git, draft.old):
            return self._unreported
        parents = (draft.old.commit,) if draft.old.commit else ()
        made = make_commit(git, tree, parents, draft.message, self._author)
        self._set_head(draft, Head(made, tree), taken)
        return made

    def _is_taken_in(self, path: str, each: Staged) -> bool:
        """Return whether the commit before the run has the tree's version of a staged file."""
        if not path.startswith(self._repository.prefix) or each.is_submodule or each.announced:
            return False
        return each.indexed.is_there or not os.path.lexists(os.path.join(self._repository.root, path))

    def _set_head(self, draft: _Draft, made: Head, taken: frozenset[str]) -> None:
        """Set HEAD to the commit, and update the user's index: committed files are no longer staged."""
        own, last = draft.own, self._before
        with locked_index(self._repository) as lock:
            if last and head_name(self._repository) != last.branch:
                raise _HeadMovedError
            if own.is_current and not draft.different:
                self._move(own, lock, draft, made)
                return
            with index_copy(self._repository, own.git) as users:
                now = draft.different if own.is_current else read_staged(users.git, draft.old.commit)
                committed = read_indexed(own.git, taken)
                replaced = taken - _find_still_staged(draft.different, now, committed)
                _replace_entries(users.git, committed, replaced, len(made.tree))
                self._move(users, lock, draft, made)
                self._note_staged_in_part(draft.different, committed, replaced)
                if self._before:
                    self._before = self._before.replace(is_staged=bool(now.keys() - replaced))

    def _note_staged_in_part(
        self, different: Mapping[str, Staged], committed: Mapping[str, Indexed], replaced: Collection[str]
    ) -> None:
        """Name the files of which something else was staged than has been committed."""
        lines = {path: entry.line for path, entry in committed.items()}
        paths = [
            path
            for path, each in different.items()
            if path in replaced and each.indexed.line(path) != lines.get(path)
        ]
        self.selection.note_paths("staged in part, and committed as a whole", paths)

    def _move(self, new: IndexCopy, lock: IndexLock, draft: _Draft, made: Head) -> None:
        """Set HEAD, and the index with it, even where an interrupt comes between.

        A run that must end waits for this moment: git that is ended at making a lock can leave it behind.
        """
        git = new.git.replace(stop=None)
        lock.record_pending(new, made.commit)
        reason = f"clada: {draft.message.splitlines()[0]}"
        call = ("update-ref", "--create-reflog", "-m", reason, "HEAD", made.commit, draft.old.commit)
        try:
            result = git.call(*call)
        except BaseException:
            if read_head(git).commit == made.commit:
                self._replace_index(new, made)
                self._unreported = made.commit
            raise
        killed = result.code > FATAL
        if killed:  # nothing else removes its locks
            clear_stale_ref_locks(self._repository, made.commit)
        if result.code == 0 or (killed and read_head(git).commit == made.commit):
            self._replace_index(new, made)
        elif read_head(git).commit != draft.old.commit:
            raise _HeadMovedError
        else:
            raise git_call_error("update-ref", result)

    def _replace_index(self, new: IndexCopy, made: Head) -> None:
        place = new.replace_users()
        if self._before is not None:
            branch = head_name(self._repository)
            self._before = self._before.replace(branch=branch, head=made, index=place)

    # Words.

    def _build_message(self, kind: str, run: int | None, body: Sequence[str], undoes: int = 0) -> str:
        subject = self._message if kind == "post" else None
        trailers = {"Clada-Run": run, "Clada-Undoes": undoes}
        return commit_message(kind, timestamp(), subject, body, trailers)


def _find_still_staged(
    before: Mapping[str, Staged], now: Mapping[str, Staged], committed: Mapping[str, Indexed]
) -> set[str]:
    """Return the staged files that stay staged, because that undoes nothing.

    The user staged them while the commit was made, or the commit has of them what HEAD had.
    """
    lines = {path: entry.line for path, entry in committed.items()}
    newer = {path for path, each in now.items() if each != before.get(path)}
    return newer.union(path for path, each in before.items() if each.committed.line(path) == lines.get(path))


def _replace_entries(
    users: Git, committed: Mapping[str, Indexed], paths: Collection[str], digits: int
) -> None:
    """Give the paths in the user's index the entries that were committed; all others stay as they are."""
    gone = (f"0 {'0' * digits}\t{path}" for path in paths if path not in committed)
    # Not flagged ones: git would take their flags away.
    there = [entry for path, entry in committed.items() if path in paths and not entry.is_flagged]
    set_entry_lines(users, [*gone, *(entry.line for entry in there)])


def _tree_of(git: Git, head: Head) -> str:
    """Return the tree of a commit, or that of none."""
    if not head.commit:
        return empty_tree(git)
    return head.tree or git.check_word("rev-parse", "--verify", f"{head.commit}^{{tree}}")


def _switched_error(old: str, new: str) -> CladaError:
    names = [name.removeprefix("refs/heads/") or "a detached HEAD" for name in (old, new)]
    message = f"{escape_controls(names[0])} was left for {escape_controls(names[1])} during the run"
    return git_error(
        f"{message}, so no commit was made", "commit the changes yourself, on the branch of your choice"
    )
