"""Records a run: what it changes goes into its journal first; commits on the branch are made besides."""

from __future__ import annotations

import os

from clada.errors import CladaError, Error, unforeseen
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.clock import timestamp
from clada.world.files.paths import display_path
from clada.world.git.repository import (
    as_git_error,
    check_identity,
    give_to_owner,
    os_errors_as_git_errors,
    suggest_no_git,
)
from clada.world.record import history, pending, unignored
from clada.world.record.changes import WORKSPACE, named
from clada.world.record.documents import refuse_again, status_to_keep
from clada.world.record.journal import Journal
from clada.world.record.snapshot import GITIGNORE, Snapshot
from clada.world.record.states import is_same_save
from clada.world.record.store import find_store, in_repository, outside_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from clada.report import Report
    from clada.settings import Settings
    from clada.world.files.workspace import Workspace
    from clada.world.git.branch import BranchCommits
    from clada.world.git.repository import Repository
    from clada.world.locks import RepositoryLock
    from clada.world.record.looks import Looks
    from clada.world.record.snapshot import Mark
    from clada.world.record.store import Store
    from clada.world.record.undo import RollBack
    from clada.world.world import World

NO_REPOSITORY = "not a git repository: the run is recorded by a snapshot, which clada undo takes back"
NOT_COMMITTED = "the changes are in the tree, not committed: repair this, then git add and git commit them"


class RunToRecord(Value):
    """What is known of a run before it begins."""

    what: str  # in words
    document: bytes = b""
    kept_settings: tuple[str, ...] = ()  # that decide what comes of the document: name=value
    planned: Sequence[str] | None = None  # paths that operations name; None: no commit before it is made
    wide: bool = False  # whether anything else may change, too
    resumes: bool = False  # it does what failed, or was skipped, in the last run of the same document
    undoes: int = 0
    continues: int = 0
    kept: bool = True  # in the history; else its journal serves this run alone
    reverts: tuple[str, ...] = ()  # of an undo: the commits that it takes back, the newest first
    consent: Callable[[str], bool] | None = None  # puts a question to a person
    stop: int | None = None  # a handle that is readable once the run is to end


class Recording:
    """A context manager around a run. Whoever runs it sets what it did, and reads what was recorded.

    commands: whether a command ran, which may have changed anything.
    what: what the run was to do, in words; at its end, what it did. done: the same, an operation a line.
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
        """Take the lock to hold, unless it is held already, and what makes commits, if any are made."""
        self.store, self.branch = store, branch
        self.what, self.ended, self.commands = run.what, "ok", False
        self.done: Sequence[str] = ()
        self.commits: tuple[str | None, str | None] = (None, None)
        self.error: Error | None = None
        self.notes: tuple[str, ...] = ()
        self.tell: Callable[[Sequence[str]], None] = lambda _notes: None  # tells notes at once
        self._begun, self._lock, self._settings = run, lock, settings
        record = "commits" if branch else "snapshots"
        self._run = history.RecordedRun(0, "", run.what, store.prefix, record, run.undoes, run.continues)
        self._looks: Looks | None = None
        self._ignored: set[str] = set()  # what git ignored when an ignore file was changed
        self._is_undoable = False  # a rollback replaced what may be the user's: undo has to find this run
        self.workspace: Workspace | None = None  # in which it runs

    @property
    def number(self) -> int:
        """The number of the run in the history; 0 where it is not there."""
        return self._run.number if self._begun.kept else 0

    @property
    def has_changes(self) -> bool:
        """Whether the run left anything else than was there, and so will be what an undo takes back."""
        if not self.number or not self.snapshot.changed:
            return False
        try:
            from clada.world.record.undo import changes_files

            return changes_files(self.store, [self.store.journal(self.number)])
        except (ImportError, MemoryError, OSError, CladaError):
            return False  # an undo could not look at it either

    @property
    def looks(self) -> Looks:
        """The looks at the tree around commands."""
        if self._looks is None:
            from clada.world.record.looks import Looks

            self._looks = Looks(self.store, self.snapshot, self._settings.history_size)
        return self._looks

    def __enter__(self) -> Self:
        if self.store.repository is None:
            self.store.make_outside()  # there is nothing to lock else
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
        """Take part in a run: what is changed there is kept here first."""
        workspace.record_in(self.snapshot, self._begun.planned or () if self._settings.durable else ())
        self.workspace = workspace
        world.recording = world.takes_back = self

    def _unlock(self) -> None:
        if self.store.repository:
            give_to_owner(self.store.repository)
        if self._lock:
            self._lock.__exit__()

    def _begin(self) -> None:
        """Check that commits can be made, if any are; begin the journal, and record that the run starts."""
        begun, settings = self._begun, self._settings
        self.store.make(durable=settings.durable)
        self.store.clear_scratch()
        if not settings.again and not begun.resumes:
            refuse_again(self.store, begun.document)
        number = history.next_number(self.store)
        self._note_suspects(number - 1)
        if self.branch and begun.planned is not None:
            self.branch.prepare(begun.planned, wide=begun.wide, consent=begun.consent, stop=begun.stop)
            unignored.keep(self.store, self.branch.unignored)
            unignored.keep(self.store, self.branch.answers, unignored.ANSWERS)
        journal = Journal(self.store.journal(number))
        self._run = self._run.replace(number=number, when=timestamp())
        limit, durable = settings.snapshot_limit, settings.durable
        self.snapshot = Snapshot(journal, limit, durable=durable, consent=begun.consent)
        if self.branch and begun.planned is not None:
            self.snapshot.before_first_change = self._commit_before
        self.snapshot.before_ignoring = lambda: self._ignored.update(unignored.ignored_now(self.store))
        if begun.document:
            journal.add("document", *begun.kept_settings, data=begun.document)
        if begun.kept:
            history.start(self.store, self._run, durable=durable)

    def _commit_before(self) -> None:
        """Commit what is there, right before the run changes anything."""
        begun, branch = self._begun, self.branch
        assert branch  # noqa: S101 (for type checkers)
        with suggest_no_git(), os_errors_as_git_errors():
            pre = branch.before(
                begun.planned or (),
                wide=begun.wide,
                consent=begun.consent,
                run=self._run.number,
                stop=begun.stop,
            )
        self._take_notes()
        self.tell(self.notes)  # warnings come before what they warn of
        if pre:
            self.commits = (pre, None)
            self._run = self._run.replace(pre=pre)
            if begun.kept:
                history.add_pre(self.store, self._run.number, pre)

    # All or nothing.

    def mark(self) -> Mark:
        """Begin something that is taken back as a whole if a part of it fails, or if clada is killed."""
        mark = self.snapshot.mark()
        self.snapshot.all_or_nothing = True
        pending.add(self.store, self._run.number, mark.number)
        return mark

    def end_mark(self, mark: Mark, *, keep: bool) -> tuple[Error | None, frozenset[str]]:
        """End it, and take it back unless it is kept; return what went wrong, and the paths that remain."""
        error, remaining = None, frozenset[str]()
        if not keep and self.workspace:
            done = self._roll_back(mark, self.workspace)
            error, remaining = _error_of(done), done.remaining
            if done.failed:
                return error, remaining  # it stays pending, so that clada recover can put back the rest
        pending.remove(self.store)
        self.snapshot.all_or_nothing = False
        return error, remaining

    def _roll_back(self, mark: Mark, workspace: Workspace) -> RollBack:
        from clada.world.record.undo import RollBack, roll_back

        changed = [display_path(parts) for parts in self.snapshot.changed if parts not in mark.changed]
        try:
            done = roll_back(self.snapshot.journal.path, workspace, mark.number)
        except (CladaError, OSError) as raised:
            error = raised.error if isinstance(raised, CladaError) else as_git_error(raised).error
            done = RollBack(failed=dict.fromkeys(changed, error.message))
        self.snapshot.forget_since(mark, (*done.replaced, *done.remaining))
        if done.replaced:
            self._is_undoable = True
            self._note(
                "put back as before the command; it or another program had changed them: "
                f"{named(done.replaced, len(done.replaced))} (clada undo brings these versions back)"
            )
        return done

    def _note_suspects(self, number: int) -> None:
        """Name what differs since the run before was killed in a command: before this one changes more."""
        if self.store.was_looking(number):
            from clada.world.record.looks import note_suspects

            note_suspects(self.store, number, self._settings)

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
            self._keep_marks(files)
            self._keep_unignored(files)
            # Without a commit before, nothing was changed: what differs from HEAD is the user's.
            if self.branch and (files or unrecorded) and not self.snapshot.before_first_change:
                run = run.replace(post=self._commit(self.branch, files) or "")
        except Exception as error:  # noqa: BLE001 (whatever it is, the run's report has it)
            self._fail(error)
            run = run.replace(ended="failed")
        self.commits = (self.commits[0], run.post or None)
        if not self._begun.kept:
            return
        try:
            history.end(self.store, run, self.what)
            if run.number % history.PRUNE_EVERY == 0:
                history.prune(self.store, self._settings.history_size, self._settings.history_age)
        except Exception as error:  # noqa: BLE001 (as above)
            self._fail(error)

    def _settle(self) -> None:
        """Let the journal say what is there where a change has failed."""
        if self.snapshot.is_settled:
            return
        from clada.world.record.trees import states_of

        try:
            self.snapshot.settle(lambda paths: states_of(self.store.workspace, paths, self.snapshot.limit))
        except OSError as error:
            self._fail(error)

    def _keep_marks(self, changed: Sequence[str]) -> None:
        """Remember which of these places git has as not checked out: where they are now, it forgets that."""
        repository = self.store.repository
        if not repository or not repository.is_sparse:
            return
        from clada.world.git.git import hardened_git
        from clada.world.git.staging import not_checked_out

        prefix = self.store.prefix
        for path in not_checked_out(hardened_git(repository), [prefix + path for path in changed]):
            self.snapshot.journal.add("skipped", path.removeprefix(prefix))

    def _keep_unignored(self, changed: Sequence[str]) -> None:
        """Remember what git ignored before the run and does no longer: later commits leave it out, too."""
        moved = [(display_path(old), display_path(new)) for old, new in self.snapshot.moved]
        if not moved and not any(path.endswith(GITIGNORE) for path in changed):
            return
        prefix = self.store.prefix
        before = self._ignored.union(self._looks.ignored if self._looks else ())
        before |= {path.removeprefix(prefix) for path in (self.branch.ignored if self.branch else ())}
        found = unignored.no_longer(self.store, before | unignored.moved_along(before, moved))
        if found:
            self._note(
                f"no longer ignored by git, and left untracked (--commit-all takes them in): {named(found)}"
            )
            unignored.keep(self.store, unignored.listed(self.store).union(prefix + path for path in found))

    def _commit(self, branch: BranchCommits, changed: Sequence[str]) -> str | None:
        from clada.world.record.trees import stamp_now

        unkept = self._looks.unkept if self._looks else {}

        def is_ours(path: str) -> bool:
            stamp = stamp_now(self.store.workspace, path)
            if path in unkept:
                return is_same_save(unkept[path], stamp)
            return self.snapshot.is_as_left(path, stamp)

        moved = [(display_path(old), display_path(new)) for old, new in self.snapshot.moved]
        kind = "undo" if self._run.undoes else "post"
        try:
            return branch.after(
                [*changed, *unkept],
                moved,
                kind=kind,
                run=self.number,
                body=self.done,
                is_ours=is_ours,
                reverts=self._begun.reverts,
                undoes=self._run.undoes,
            )
        finally:
            self._take_notes()

    def _unrecorded(self) -> tuple[str, ...]:
        """Return what undo will not bring back, and tell the person of it."""
        lost = tuple(dict.fromkeys(self._looks.lost)) if self._looks else ()
        if lost:
            self._note(f"undo cannot bring back what commands changed here: {named(lost)}")
        if self._looks and self._looks.others:
            others = named(self._looks.others)
            self._note(f"saved, staged or committed by somebody else meanwhile, and left to them: {others}")
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

    def keep_report(self, report: Report) -> None:
        """Keep what was reported of the run, and close its journal."""
        if self._run.number == 0:
            return
        with self.snapshot.journal as journal:
            if not self._begun.kept and not self._is_undoable:
                os.unlink(journal.path)
                return
            try:
                for_llm = report.text(for_llm=True)
                journal.add("report", data=report.text().encode(errors="surrogateescape"))
                journal.add("llm", data=for_llm.encode(errors="surrogateescape"))
                statuses = map(status_to_keep, report.tasks)
                journal.add("tasks", data="\n".join(statuses).encode())
            except Exception:  # noqa: BLE001 (the report itself reaches who asked for it)
                return
        if not self._begun.kept:
            self._keep_for_undo()

    def _keep_for_undo(self) -> None:
        """Move the journal of a run that is not recorded to where undo finds it."""
        import shutil

        for store in (find_store(self.store.workspace), self.store):
            try:
                store.make()
                with store.lock(self._settings.lock_timeout):
                    run = self._run.replace(number=history.next_number(store), prefix=store.prefix)
                    shutil.move(self.snapshot.journal.path, store.journal(run.number))
                    history.start(store, run)
                    changed = len(self.snapshot.changed)
                    history.end(store, run.replace(ended=self.ended, changed=changed, commands=True))
            except OSError:
                continue  # the disk is full: it stays where it is
            return

    def _take_notes(self) -> None:
        for note in self.branch.notes if self.branch else ():
            self._note(note)

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes = (*self.notes, note)


def _error_of(done: RollBack) -> Error | None:
    """Return what a rollback has to say, path by path; None if everything is as it was."""
    parts = []
    if done.failed:
        reasons = (f"{path} ({reason})" for path, reason in done.failed.items())
        parts.append(f"not put back: {', '.join(map(escape_controls, reasons))}")
    if done.changed_since:
        since = named(done.changed_since, len(done.changed_since))
        parts.append(f"not put back, because another program has changed them meanwhile: {since}")
    if done.unattributed:
        left = named(done.unattributed, len(done.unattributed))
        parts.append(f"not put back, because there was no room to keep what is there now: {left}")
    if not parts:
        return None
    rest = "repair this, and clada recover puts back the rest"
    hint = rest if done.failed else "clada history show has what they were"
    return Error("io_error", "; ".join(parts), hint)


def recording(
    run: RunToRecord, settings: Settings, waiting: Callable[[], None] | None, stop: int | None
) -> Recording:
    """Return what records a run, as the settings have it."""
    store, branch = _place(run, settings)
    record = Recording(store, run, settings, store.lock(settings.lock_timeout, waiting, stop), branch)
    if settings.record == "auto" and not branch:
        record.notes = (NO_REPOSITORY,)
    return record


def refusal(run: RunToRecord, settings: Settings) -> Error | None:
    """Return why a run would not begin, if it could not be recorded. Nothing is touched, and nobody waits."""
    try:
        store, branch = _place(run, settings)
        with suggest_no_git(), os_errors_as_git_errors():
            if not settings.again and not run.resumes:
                refuse_again(store, run.document)
            if branch:
                branch.refuse(run.planned or (), run.consent)
    except CladaError as trouble:
        return trouble.error
    return None


def _place(run: RunToRecord, settings: Settings) -> tuple[Store, BranchCommits | None]:
    """Return where a run is recorded, and what makes its commits, if any are made."""
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
            unignored=unignored.listed(store),
        )
        return store, branch
    if run.kept:
        confined = settings.sandbox != "off"
        return find_store(settings.workspace, confined=confined, named=settings.repository), None
    return outside_store(settings.workspace), None


def _uncommitted(store: Store, repository: Repository, settings: Settings) -> frozenset[str]:
    """Return the files that stay out of commits unless they are tracked: this run's, and earlier answers."""
    own = [os.path.split(path) for path in (*settings.uncommitted, settings.lock_file) if path]
    paths = [os.path.join(os.path.realpath(directory), name) for directory, name in own]
    earlier = () if settings.commit_all else unignored.listed(store, unignored.ANSWERS)
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
