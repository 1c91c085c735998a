"""Records a run: saves each path in its journal before it changes, and makes the commits before and after."""

from __future__ import annotations

import os

from clada.errors import CladaError, Error, unforeseen
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.clock import timestamp
from clada.world.files.paths import display_path
from clada.world.files.stat import Stamp, is_same_save
from clada.world.git.repository import (
    as_git_error,
    check_identity,
    give_to_owner,
    os_errors_as_git_errors,
    suggest_no_git,
)
from clada.world.record import formerly_ignored, history
from clada.world.record.documents import refuse_again, status_to_save
from clada.world.record.journal import Journal
from clada.world.record.restore import Rollback, roll_back
from clada.world.record.snapshot import GITIGNORE, Snapshot
from clada.world.record.states import states_of
from clada.world.record.store import find_store, in_repository, outside_store
from clada.world.record.tree_diff import WORKSPACE, changes_files, format_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from clada.model import Task
    from clada.report import Report
    from clada.settings import Settings
    from clada.world.files.workspace import Workspace
    from clada.world.git.branch import BranchCommits
    from clada.world.git.repository import Repository
    from clada.world.git.select import PlannedRun
    from clada.world.locks import RepositoryLock
    from clada.world.record.scan import TreeScan
    from clada.world.record.snapshot import Mark
    from clada.world.record.store import Store
    from clada.world.world import World

NO_REPOSITORY = "not a git repository: recorded by a snapshot; clada undo reverts it"
NOT_COMMITTED = "the changes are in the tree, not committed: repair this, then git add and git commit them"


class RunToRecord(Value):
    """What is known of a run before it begins."""

    what: str  # a description
    document: bytes = b""
    saved_settings: tuple[str, ...] = ()  # for a resume: name=value
    planned: Sequence[str] | None = None  # paths that operations name; None: no commit is made before it
    wide: bool = False  # whether other paths may change, too
    resumes: bool = False  # whether it does the rest of an earlier run of the same document
    undoes: int = 0
    continues: int = 0
    in_history: bool = True  # else its journal is only for a rollback, and removed at the end
    reverts: tuple[str, ...] = ()  # of an undo: the commits that it reverts, the newest first
    consent: Callable[[str], bool] | None = None  # asks the user a yes-or-no question
    stop: int | None = None  # a handle that becomes readable when the run must end

    @property
    def planned_run(self) -> PlannedRun:
        """The part of it that the commits of the run depend on."""
        from clada.world.git.select import PlannedRun  # late: only for runs with commits

        return PlannedRun(self.planned or (), self.wide, self.consent, self.stop)


class Recorder:
    """A context manager around a run. The caller sets what the run did, and reads what was recorded.

    commands: whether a command ran, which may have changed anything.
    what: what the run was to do, in words; at its end, what it did. done: the same, an operation a line.
    tasks: the tasks of the document, as they ended.
    ended: how the run ended: ok, failed or interrupted. After an exception, that is decided here.
    """

    def __init__(
        self,
        store: Store,
        run: RunToRecord,
        settings: Settings,
        lock: RepositoryLock | None,
        branch: BranchCommits | None = None,
    ) -> None:
        """`lock` is None if the caller holds it; `branch` makes commits, if any are made."""
        self.store, self.branch = store, branch
        self.what, self.ended, self.commands = run.what, "ok", False
        self.done: Sequence[str] = ()
        self.tasks: Sequence[Task] = ()
        self.commits: tuple[str | None, str | None] = (None, None)
        self.error: Error | None = None
        self.notes: tuple[str, ...] = ()
        self.tell: Callable[[Sequence[str]], None] = lambda _notes: None  # shows notes at once
        self._to_record, self._lock, self._settings = run, lock, settings
        record = "commits" if branch else "snapshots"
        self._run = history.RecordedRun(0, "", run.what, store.prefix, record, run.undoes, run.continues)
        self._scan: TreeScan | None = None
        self._marks: list[Mark] = []  # of atomic parts that are not ended
        self._ignored: set[str] = set()  # paths that git ignored when an ignore file was changed
        self._is_undoable = False  # a rollback replaced files that may be the user's: undo must find this run
        self.workspace: Workspace | None = None  # in which it runs

    @property
    def number(self) -> int:
        """The number of the run in the history; 0 where it is not there."""
        return self._run.number if self._to_record.in_history else 0

    @property
    def has_changes(self) -> bool:
        """Whether the run changed any file, so that an undo without a number reverts it."""
        if not self.number or not self.snapshot.changed:
            return False
        try:
            return changes_files(self.store.workspace, [self.store.journal(self.number)])
        except (MemoryError, OSError, CladaError):
            return False  # an undo could not read it either

    @property
    def scan(self) -> TreeScan:
        """The scans of the tree around commands."""
        if self._scan is None:
            from clada.world.record.scan import TreeScan  # here, because most runs have no commands

            self._scan = TreeScan(self.store, self.snapshot, self._settings.history_size)
        return self._scan

    def __enter__(self) -> Self:
        if self.store.repository is None:
            self.store.make_outside()  # the lock is in it
        with suggest_no_git():
            if self._lock:
                self._lock.__enter__()
        try:
            with suggest_no_git(), os_errors_as_git_errors():
                self._begin()
        except BaseException:
            self.close()
            self._run = self._run.replace(number=0)  # it has not begun
            self._unlock()
            raise
        return self

    def begin(self, workspace: Workspace, world: World) -> None:
        """Record the changes of a workspace from now on."""
        workspace.record_in(self.snapshot, self._to_record.planned or () if self._settings.durable else ())
        self.workspace = workspace
        world.recording = world.takes_back = self

    def _unlock(self) -> None:
        if self.store.repository:
            give_to_owner(self.store.repository)
        try:
            self.store.give_to_owner()
        except OSError as error:
            self._fail(error)
        if self._lock:
            self._lock.__exit__()

    def _begin(self) -> None:
        """Check that commits can be made, if any are; create the journal, and record that the run starts."""
        to_record, settings = self._to_record, self._settings
        self.store.make(durable=settings.durable)
        self.notes += tuple(self.store.clear_scratch())
        if not settings.again and not to_record.resumes:
            refuse_again(self.store, to_record.document)
        number = history.next_number(self.store)
        if self.store.was_scanning(number - 1):  # it was killed in a command: name what differs since
            from clada.world.record.scan import find_suspects

            find_suspects(self.store, number - 1, settings)
        if self.branch and to_record.planned is not None:
            self.branch.prepare(to_record.planned_run)
            formerly_ignored.leave_out(self.store, self.branch.selection.unignored)
            formerly_ignored.leave_out(self.store, self.branch.selection.answers, formerly_ignored.ANSWERS)
        journal = Journal(self.store.journal(number))
        self._run = self._run.replace(number=number, when=timestamp())
        limit, durable = settings.snapshot_limit, settings.durable
        self.snapshot = Snapshot(journal, limit, durable=durable, consent=to_record.consent)
        if self.branch and to_record.planned is not None:
            self.snapshot.before_first_change = self._commit_before
        self.snapshot.before_ignoring = lambda: self._ignored.update(formerly_ignored.ignored_now(self.store))
        if to_record.document:
            journal.add("document", *to_record.saved_settings, data=to_record.document)
        if to_record.in_history:
            history.start(self.store, self._run, to_record.document)

    def _commit_before(self) -> None:
        """Commit what is there, right before the run changes anything."""
        to_record, branch = self._to_record, self.branch
        assert branch  # noqa: S101 (for type checkers)
        with suggest_no_git(), os_errors_as_git_errors():
            pre = branch.before(to_record.planned_run, self._run.number)
        self._take_notes()
        self.tell(self.notes)  # a warning comes before its subject
        if pre:
            self.commits = (pre, None)
            self._run = self._run.replace(pre=pre)
            if to_record.in_history:
                history.add_pre(self.store, self._run.number, pre)

    # Atomic parts.

    def mark(self) -> Mark:
        """Begin an atomic part: it is rolled back if an operation fails, or if clada is killed."""
        mark = self.snapshot.mark()
        self._marks.append(mark)
        if len(self._marks) == 1:  # one inside of another is rolled back with it
            self.snapshot.all_or_nothing = True
            history.add_pending(self.store, self._run.number, mark.number)
        return mark

    def end_mark(self, mark: Mark, *, keep: bool) -> tuple[Error | None, frozenset[str]]:
        """End it, and roll it back unless `keep`; return the error, and the paths that were not put back."""
        error, remaining = None, frozenset[str]()
        self._marks.remove(mark)
        if not keep and self.workspace:
            done = self._roll_back(mark, self.workspace)
            error, remaining = _error_of(done), done.remaining
            if done.failed:
                return error, remaining  # it stays pending, so that clada recover can put back the rest
        if self._marks:
            return error, remaining
        history.remove_pending(self.store, self._run.number)
        self.snapshot.all_or_nothing = False
        return error, remaining

    def _roll_back(self, mark: Mark, workspace: Workspace) -> Rollback:
        changed = [display_path(parts) for parts in self.snapshot.changed if parts not in mark.changed]
        try:
            done = roll_back(self.snapshot.journal.path, workspace, mark.number)
        except (CladaError, OSError) as raised:
            error = raised.error if isinstance(raised, CladaError) else as_git_error(raised).error
            done = Rollback(failed=dict.fromkeys(changed, error.message))
        self.snapshot.forget_since(mark, (*done.replaced, *done.remaining))
        if done.replaced:
            self._is_undoable = True
            self._note(
                "put back as before the command; it or another program had changed them: "
                f"{format_paths(done.replaced, None)} (clada undo brings these versions back)"
            )
        return done

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        if kind is not None:
            self.ended = "failed" if issubclass(kind, Exception) else "interrupted"
        try:
            self._end()
        except KeyboardInterrupt:
            if self.ended != "interrupted":  # the first one: what the run changed is recorded before it ends
                self.ended = "interrupted"
                self._end()
            raise
        finally:
            self._unlock()

    def _end(self) -> None:
        """Commit what the run changed, and record its end; a failure is kept in `error`, not raised."""
        try:
            if self.store.repository:
                check_identity(self.store.repository)  # nothing is written into another one
        except CladaError as trouble:
            self._fail(trouble)
            return
        self._settle()
        changed = [display_path(parts) for parts in self.snapshot.changed]
        unrecorded = self._unrecorded()
        run = self._run.replace(
            ended=self.ended, commands=self.commands, changed=len(changed), unrecorded=unrecorded
        )
        try:
            files = [path for path in changed if path != WORKSPACE]
            self._save_skipped(files)
            self._save_formerly_ignored(files)
            # Without a commit before, nothing was changed: what differs from HEAD is the user's.
            if self.branch and (files or unrecorded) and not self.snapshot.before_first_change:
                run = run.replace(post=self._commit(self.branch, files) or "")
        except Exception as error:  # noqa: BLE001 (any error is in the run's report)
            self._fail(error)
            run = run.replace(ended="failed")
        self.commits = (self.commits[0], run.post or None)
        if not self._to_record.in_history:
            return
        try:
            history.end(self.store, run, self.what, map(status_to_save, self.tasks))
            if run.number % history.PRUNE_EVERY == 0:
                history.prune(self.store, self._settings.history_size, self._settings.history_age)
        except Exception as error:  # noqa: BLE001 (as above)
            self._fail(error)

    def _settle(self) -> None:
        """Record which announced changes have failed."""
        if self.snapshot.is_settled:
            return
        try:
            self.snapshot.settle(lambda paths: states_of(self.store.workspace, paths, self.snapshot.limit))
        except OSError as error:
            self._fail(error)

    def _save_skipped(self, changed: Sequence[str]) -> None:
        """Save which of these paths git has as not checked out, because it forgets that once they exist."""
        repository = self.store.repository
        if not repository or not repository.is_sparse:
            return
        from clada.world.git.git import hardened_git
        from clada.world.git.staging import not_checked_out

        prefix = self.store.prefix
        for path in not_checked_out(hardened_git(repository), [prefix + path for path in changed]):
            self.snapshot.journal.add("skipped", path.removeprefix(prefix))

    def _save_formerly_ignored(self, changed: Sequence[str]) -> None:
        """Save which paths git ignored before the run and not any more: later commits leave them out."""
        moved = [(display_path(old), display_path(new)) for old, new in self.snapshot.moved]
        if not moved and not any(path.endswith(GITIGNORE) for path in changed):
            return
        prefix = self.store.prefix
        before = self._ignored.union(self._scan.ignored if self._scan else ())
        before |= {
            path.removeprefix(prefix) for path in (self.branch.selection.ignored if self.branch else ())
        }
        moved_along = formerly_ignored.moved_along(before, moved)
        found = formerly_ignored.no_longer(self.store, before | moved_along)
        if found:
            why = "no longer ignored by git, and left untracked (--commit-all takes them in)"
            self._note(f"{why}: {format_paths(found)}")
            known = formerly_ignored.left_out(self.store)
            formerly_ignored.leave_out(self.store, known.union(prefix + path for path in found))

    def _commit(self, branch: BranchCommits, changed: Sequence[str]) -> str | None:
        unsaved = self._scan.unsaved if self._scan else {}

        def is_ours(path: str) -> bool:
            stamp = Stamp.at(os.path.join(self.store.workspace, path))
            if path in unsaved:
                return is_same_save(unsaved[path], stamp)
            return self.snapshot.is_as_left(path, stamp)

        moved = [(display_path(old), display_path(new)) for old, new in self.snapshot.moved]
        kind = "undo" if self._run.undoes else "post"
        try:
            return branch.after(
                [*changed, *unsaved],
                moved,
                kind=kind,
                run=self.number,
                body=self.done,
                is_ours=is_ours,
                reverts=self._to_record.reverts,
                undoes=self._run.undoes,
            )
        finally:
            self._take_notes()

    def _unrecorded(self) -> tuple[str, ...]:
        """Return the paths that undo cannot bring back, and add notes on them."""
        lost = tuple(dict.fromkeys(self._scan.lost)) if self._scan else ()
        if lost:
            self._note(f"undo cannot bring back what commands changed here: {format_paths(lost)}")
        if self._scan and self._scan.others:
            others = format_paths(self._scan.others)
            self._note(f"saved, staged or committed by another program meanwhile, and left alone: {others}")
        return (*lost, *(display_path(parts) for parts in self.snapshot.outside))

    def _fail(self, bug: Exception) -> None:
        if isinstance(bug, OSError):
            bug = as_git_error(bug)
        error = bug.error if isinstance(bug, CladaError) else unforeseen(bug)
        hint = NOT_COMMITTED if self.branch else error.hint
        self.error = self.error or error.replace(type="git_operation_failed", hint=hint)

    def close(self) -> None:
        """Close the journal of a run of which there is no report."""
        if self._run.number:
            self.snapshot.journal.close()

    def save_report(self, report: Report) -> None:
        """Save the report of the run, and close its journal."""
        if self._run.number == 0:
            return
        with self.snapshot.journal as journal:
            if not self._to_record.in_history and not self._is_undoable:
                os.unlink(journal.path)
                return
            try:
                for_llm = report.text(for_llm=True)
                journal.add("report", data=report.text().encode(errors="surrogateescape"))
                journal.add("llm", data=for_llm.encode(errors="surrogateescape"))
            except Exception:  # noqa: BLE001 (the caller gets the report itself)
                return
        if not self._to_record.in_history:
            self._move_to_history()

    def _move_to_history(self) -> None:
        """Move the journal of a run that is not recorded to where undo finds it."""
        import shutil  # here, because it is slow to load

        for store in (find_store(self.store.workspace), self.store):
            try:
                store.make()
                with store.lock(self._settings.lock_timeout):
                    run = self._run.replace(number=history.next_number(store), prefix=store.prefix)
                    shutil.move(self.snapshot.journal.path, store.journal(run.number))
                    history.start(store, run)
                    changed = len(self.snapshot.changed)
                    history.end(store, run.replace(ended=self.ended, changed=changed, commands=True))
            except (OSError, CladaError):
                continue  # the disk is full: it stays where it is
            return

    def _take_notes(self) -> None:
        for note in self.branch.notes if self.branch else ():
            self._note(note)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes = (*self.notes, note)


def _error_of(done: Rollback) -> Error | None:
    """Return the error of a rollback, by path; None if everything is as it was."""
    parts = []
    if done.failed:
        reasons = (f"{path} ({reason})" for path, reason in done.failed.items())
        parts.append(f"not put back: {', '.join(map(escape_controls, reasons))}")
    if done.changed_since:
        since = format_paths(done.changed_since, None)
        parts.append(f"not put back, because another program has changed them meanwhile: {since}")
    if done.unattributed:
        left = format_paths(done.unattributed, None)
        parts.append(f"not put back, because there was no room to save their present content: {left}")
    if not parts:
        return None
    rest = "fix this, then put back the rest: clada recover"
    hint = rest if done.failed else "see their earlier content: clada history show"
    return Error("io_error", "; ".join(parts), hint)


def make_recorder(
    run: RunToRecord, settings: Settings, waiting: Callable[[], None] | None, stop: int | None
) -> Recorder:
    """Return the recorder of a run, as the settings have it."""
    store, branch = _choose_store(run, settings)
    recorder = Recorder(store, run, settings, store.lock(settings.lock_timeout, waiting, stop), branch)
    if settings.record == "auto" and not branch:
        recorder.notes = (NO_REPOSITORY,)
    return recorder


def refusal(run: RunToRecord, settings: Settings) -> Error | None:
    """Return why a run would be refused, if it could not be recorded; nothing is changed or waited for."""
    try:
        store, branch = _choose_store(run, settings)
        with suggest_no_git(), os_errors_as_git_errors():
            if not settings.again and not run.resumes:
                refuse_again(store, run.document)
            if branch:
                branch.refuse(run.planned_run)
    except CladaError as trouble:
        return trouble.error
    return None


def _choose_store(run: RunToRecord, settings: Settings) -> tuple[Store, BranchCommits | None]:
    """Return the store for a run, and what makes its commits, if any are made."""
    found = _repository(settings) if settings.record in {"auto", "commits"} else None
    if found:
        from clada.world.git.branch import BranchCommits

        store = in_repository(found)
        branch = BranchCommits(
            found,
            settings.git_author,
            message=settings.message,
            commit_all=settings.commit_all,
            uncommitted=_uncommitted(store, found, settings),
            unignored=formerly_ignored.left_out(store),
        )
        return store, branch
    if run.in_history:
        confined = settings.sandbox != "off"
        return find_store(settings.workspace, confined=confined, named=settings.repository), None
    return outside_store(settings.workspace), None


def _uncommitted(store: Store, repository: Repository, settings: Settings) -> frozenset[str]:
    """Return the files that stay out of commits unless they are tracked: this run's, and earlier answers."""
    own = [os.path.split(path) for path in (*settings.uncommitted, settings.lock_file) if path]
    paths = [os.path.join(os.path.realpath(directory), name) for directory, name in own]
    earlier = () if settings.commit_all else formerly_ignored.left_out(store, formerly_ignored.ANSWERS)
    return frozenset(earlier).union(os.path.relpath(path, repository.root) for path in paths)


def _repository(settings: Settings) -> Repository | None:
    """Return the repository in which commits are made; None where there is none, and none was asked for."""
    from clada.world.git.repository import NoRepositoryError, find

    with suggest_no_git():
        try:
            return find(settings.workspace, confined=settings.sandbox != "off", named=settings.repository)
        except NoRepositoryError:
            if settings.record == "commits" or settings.repository is not None:
                raise
    return None
