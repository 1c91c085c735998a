"""Undoes a run, from its journal alone: what it changed is put back, where it still is as the run left it.

An undo is a run of its own, with a journal of its own: undoing it is redo. One that was stopped half way is
brought to its end by the next: places that are as they were before the run are done already.
"""

from __future__ import annotations

import os

from clada.errors import CladaError, system_words
from clada.values import Value
from clada.world.files.paths import Parts, new_on_the_way
from clada.world.files.workspace import Workspace
from clada.world.git.repository import os_errors_as_git_errors
from clada.world.record import history
from clada.world.record.caches import is_cache
from clada.world.record.changes import ChangedPlace, Changes, diff_of, named
from clada.world.record.looks import note_suspects
from clada.world.record.recording import Recording, RunToRecord
from clada.world.record.restoring import OpenedUp, RestoreStep, look_at, put_back, state_now
from clada.world.record.states import State
from clada.world.record.store import Store, around, find_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clada.settings import Settings
    from clada.world.git.branch import BranchCommits
    from clada.world.record.changes import Contents, Modes
    from clada.world.record.history import RecordedRun

STOPPED = ("killed", "failed", "interrupted")
LISTED = "clada history lists the runs"
NO_RUN = "no run is recorded for this workspace"


class Undone(Value):
    """What an undo did, or would do."""

    run: RecordedRun  # the one that was undone
    number: int = 0  # of the undo itself, which can be undone in turn
    commit: str | None = None
    restored: tuple[str, ...] = ()  # put back as they were, below the workspace
    removed: tuple[str, ...] = ()  # that did not exist before the run
    notes: tuple[str, ...] = ()  # what could not be restored
    changes: Contents = ()  # type: ignore[assignment]  # what a diff is made of
    modes: Modes = ()  # type: ignore[assignment]


def undo(
    settings: Settings,
    number: int | None = None,
    *,
    waiting: Callable[[], None] | None = None,
    record: str | None = None,
) -> Undone:
    """Undo the last run that changed something, or the one with this number.

    With dry_run in the settings, only say what that would change. It is recorded as the run was, unless
    `record` says otherwise.
    """
    store = find_store(settings.workspace, confined=settings.sandbox != "off")
    if not os.path.isdir(store.runs):
        raise _trouble(NO_RUN, elsewhere(store) or LISTED)
    with os_errors_as_git_errors(), store.lock(settings.lock_timeout, waiting):
        run, stopped = _chosen(store, number)
        journals = _journals(store, run)
        if store.was_looking(run.number):
            note_suspects(store, run.number, settings)
        branch = None if settings.dry_run else _branch(store, settings, record or run.record)
        with (
            Changes(journals) as changes,
            Changes(_journals(store, stopped) if stopped else []) as begun,
            Workspace(store.workspace) as workspace,
        ):
            if not settings.dry_run:
                store.clear_scratch()
            with OpenedUp(workspace, [place.parts for place in changes.places]) as closed:
                steps, left = _steps(run, changes, begun, workspace, closed.modes)
            if not steps and not stopped:  # of one that was stopped, all may have been done
                raise _nothing_to_undo(store, run, changes)
            notes = (
                *_notes(run, left),
                *_unsure(run, changes, workspace),
                *suspects_note(run.number, changes),
            )
            undone = _described(run, steps).replace(notes=notes)
            if settings.dry_run:
                return undone
            begins = RunToRecord(
                f"undo of run {run.number}",
                undoes=run.number,
                continues=stopped.number if stopped else 0,
                reverts=_commits(store, run) if branch else (),
            )
            # What the run has kept, its undo keeps, however large.
            recording = Recording(store, begins, settings.replace(snapshot_limit=1 << 62), None, branch)
            undone = _recorded(recording, workspace, steps, undone)
            return undone.replace(notes=(*undone.notes, *_mark_again(store, changes)))


def _mark_again(store: Store, changes: Changes) -> list[str]:
    """Have git take files for not checked out again that are gone with the run; return what to say of it."""
    gone = [path for path in changes.skipped if not os.path.lexists(f"{store.workspace}/{path}")]
    if not gone or not store.repository:
        return []
    from clada.world.git.git import hardened_git
    from clada.world.git.staging import mark_not_checked_out

    try:
        mark_not_checked_out(hardened_git(store.repository), [store.prefix + path for path in gone])
    except CladaError as trouble:
        return [f"{trouble.error.message}; git sparse-checkout reapply hides again: {named(gone)}"]
    return []


def _recorded(
    recording: Recording, workspace: Workspace, steps: Sequence[RestoreStep], undone: Undone
) -> Undone:
    """Put everything back, as a run of its own."""
    left: list[str] = []
    try:
        with recording:
            workspace.record_in(recording.snapshot)
            recording.done = [
                f"undo of run {undone.run.number}: {undone.run.what}",
                *(f"restore {path}" for path in undone.restored),
                *(f"remove {path}" for path in undone.removed),
            ]
            notes = put_back(workspace, steps, left)
            workspace.close()
    finally:
        recording.close()
    if recording.error:
        raise CladaError.of(recording.error)
    if left:
        notes.append(f"left, because another program has changed them meanwhile: {named(left, len(left))}")
    return undone.replace(
        number=recording.number,
        commit=recording.commits[1],
        restored=tuple(path for path in undone.restored if path not in left),
        removed=tuple(path for path in undone.removed if path not in left),
        notes=(*undone.notes, *notes, *recording.notes),
    )


def _nothing_to_undo(store: Store, run: RecordedRun, changes: Changes) -> CladaError:
    done = any(place.changes_anything() for place in changes.places)
    what = "is undone already" if done else "changed nothing that could be undone"
    lost = f"; not restored: {named(run.unrecorded)}" if run.unrecorded else ""
    lost += "".join(f"; {note}" for note in suspects_note(run.number, changes))
    older = (each for each in history.runs(store) if each.number < run.number)
    before = next((each.number for each in older if _changed_something(store, each)), None)
    hint = f"clada undo {before} takes back the run before it" if before and lost else LISTED
    return _trouble(f"run {run.number} {what}{lost}", hint)


def _branch(store: Store, settings: Settings, record: str) -> BranchCommits | None:
    """Return what makes the commit, where the run that is undone made some."""
    if record != "commits":
        return None
    from clada.world.git import index, repository
    from clada.world.git.branch import BranchCommits

    found = store.repository or repository.find(settings.workspace)  # which says why there is none
    index.check(found)
    branch = BranchCommits(found, settings.git_author)
    branch.look()  # it is the one on which the commit is made, if any
    return branch


def _commits(store: Store, run: RecordedRun) -> tuple[str, ...]:
    """Return the commits after a run and those that it brought to their end: what its undo takes back."""
    by_number = {each.number: each for each in history.all_runs(store)}
    runs = [by_number[number] for number in reversed(_numbers(store, run)) if number in by_number]
    return tuple(run.post for run in runs if run.post)


# What is to be undone, and whether it can be.


def _chosen(store: Store, number: int | None) -> tuple[RecordedRun, RecordedRun | None]:
    """Return the run to undo, and the undo of it that was stopped half way, if the last run was one."""
    runs = history.runs(store)
    if not runs:
        raise _trouble(NO_RUN, elsewhere(store) or LISTED)
    if number is None:
        run = next((run for run in runs if _changed_something(store, run)), None)
        if run is None:
            raise _trouble("no run changed anything", LISTED)
    else:
        run = next((run for run in runs if run.number == number), None)
        if run is None:
            raise _trouble(f"there is no run {number} for this workspace", LISTED)
    if run.ended == "running":
        raise _trouble(f"run {run.number} is still going", "wait for it, or end it")
    if run.undoes and run.ended in STOPPED:
        run = next((each for each in runs if each.number == run.undoes), run)
    last = next((each for each in runs if each.undoes == run.number), None)
    return run, last if last and last.ended in STOPPED else None


def _changed_something(store: Store, run: RecordedRun) -> bool:
    """Whether a run left anything else than was there, as far as that is known; caches do not count."""
    if run.ended == "running" or store.was_looking(run.number):
        return True
    if not all(is_cache(store.workspace, path) for path in run.unrecorded):
        return True  # it must not be passed over without a word
    if not (run.changed or run.continues or run.ended == "killed"):
        return False
    return changes_files(store, _journals(store, run))


def changes_files(store: Store, journals: Sequence[str]) -> bool:
    """Whether what these journals tell left any file, except caches, in another state than before."""
    with Changes(journals) as changes:
        changed = [place.path for place in changes.places if place.changes_anything()]
        return not all(is_cache(store.workspace, path, but=changed) for path in changed)


def _journals(store: Store, run: RecordedRun) -> list[str]:
    """Return the journals of a run, and of those that it brought to their end, the oldest first."""
    numbers = _numbers(store, run)
    paths = [store.journal(each) for each in numbers]
    for number, path in zip(numbers, paths, strict=True):
        if not os.path.exists(path):
            raise _trouble(f"the journal of run {number} is gone", "git log may have what it changed")
    return paths


def _numbers(store: Store, run: RecordedRun) -> list[int]:
    """Return the numbers of a run, and of those that it brought to their end, the oldest first."""
    by_number = {each.number: each for each in history.all_runs(store)}
    numbers = [run.number]
    while (above := by_number.get(numbers[0])) and above.continues and above.continues not in numbers:
        numbers.insert(0, above.continues)
    return numbers


def _unsure(run: RecordedRun, changes: Changes, workspace: Workspace) -> list[str]:
    """Name what a run was to change that was cut off, and that is another now: nobody knows by whom."""
    if run.ended != "killed":
        return []
    paths = [
        path
        for path in changes.untold
        if not state_now(workspace, tuple(path.split("/"))).is_like(changes.kept(path))
    ]
    return (
        [f"left, for others may have changed them since the run was killed: {named(paths)}"] if paths else []
    )


def suspects_note(number: int, changes: Changes, *, is_shown: bool = True) -> list[str]:
    """Name what a command may have changed that ran when its run was killed."""
    if not changes.suspects:
        return []
    paths = named(sorted(changes.suspects), len(changes.suspects))
    where = f" (clada history show {number} has the differences)" if is_shown else ""
    why = f"a command was running when run {number} was killed, and it or you changed"
    return [f"left, because {why}: {paths}{where}"]


def _steps(
    run: RecordedRun, changes: Changes, begun: Changes, workspace: Workspace, modes: Mapping[Parts, int]
) -> tuple[list[RestoreStep], list[str]]:
    """Return what is to be put back; raise, naming the files, if that would lose what was done since.

    `begun` is what an earlier undo has done of it, before it was stopped. Files that git ignores, and that
    commands of the run have changed, and caches, other programs may write all the time: they are left, and
    returned.
    Left is also what a command may have changed that was killed, which `suspects_note` names.
    """
    steps, since, unseen = _compared(changes, begun, workspace, modes, killed=run.ended == "killed")
    if unseen:
        path, reason = next(iter(unseen.items()))
        raise CladaError("io_error", f"{path}: {reason}", "repair this, and undo again")
    going = {step.place.path for step in steps}
    others = {path for path in since if path in changes.ignored or is_cache(workspace.root, path)}
    left = [path for path in since if path in others and path not in going]
    since = [path for path in since if path not in left and path not in changes.suspects]
    steps = [step for step in steps if step.place.path not in changes.suspects]
    if since:
        raise _trouble(
            f"changed since run {run.number}: {named(since)}",
            "undo the later runs first, or put these files back as that run left them",
        )
    return steps, left


def changed_since(store: Store, runs: Sequence[RecordedRun]) -> tuple[list[str], list[str]]:
    """Return the places that these runs, the newest first, left in another state than they are in now.

    The second list has those of them that are as they were before the run.
    """
    changed, put_back, seen = list[str](), list[str](), set[str]()
    with Workspace(store.workspace) as workspace:
        for run in runs:
            with Changes(_journals(store, run)) as changes:
                for place in changes.places:
                    now = state_now(workspace, place.parts)
                    if place.path not in seen and not now.is_like(place.after):
                        changed.append(place.path)
                        put_back += [place.path] if now.is_like(place.before) else []
                    seen.add(place.path)
    return changed, put_back


class RollBack(Value):
    """What a rollback did, path by path."""

    changed_since: tuple[str, ...] = ()  # left as they are, because another program has changed them
    failed: Mapping[str, str] = {}  # could not be looked at, or put back: why
    replaced: tuple[str, ...] = ()  # put back, though another program may have changed them; kept for undo
    unattributed: tuple[str, ...] = ()  # left as they are, because another program may have changed them

    @property
    def remaining(self) -> frozenset[str]:
        """The paths that are not as they were before."""
        return frozenset((*self.changed_since, *self.failed, *self.unattributed))


def roll_back(journal: str, workspace: Workspace, mark: int, *, killed: bool = False) -> RollBack:
    """Put back what was done since a mark, by a run that failed or, days ago perhaps, was `killed`.

    What only a comparison found after a command may be another program's work. It is put back while the run
    lasts, and what that replaces is kept in the journal first; after a kill it is left.
    """
    workspace.forget()  # there may be few handles left, and each path needs some
    done = _put_back_since(journal, workspace, mark, killed=killed)
    if not done.failed:
        return done
    # There may be no room to record this. The journal has all that is needed to try again without; only what
    # would have to be kept first cannot be put back then.
    snapshot = workspace.stop_recording()
    try:
        again = _put_back_since(journal, workspace, mark, killed=killed)
    finally:
        if snapshot:
            workspace.record_in(snapshot)
    return again.replace(replaced=done.replaced)


def _put_back_since(journal: str, workspace: Workspace, mark: int, *, killed: bool) -> RollBack:
    with (
        Changes([journal], since=mark) as changes,
        Changes([]) as nothing,
        OpenedUp(workspace, [place.parts for place in changes.places]) as closed,
    ):
        steps, since, failed = _compared(changes, nothing, workspace, closed.modes, killed=killed)
        steps = [step for step in steps if step.place.path not in since]
        found = [step for step in steps if step.place.path in changes.found]
        replaced = () if killed else _kept_first(workspace, found, failed)
        left = [step.place.path for step in found if step.place.path not in replaced]
        steps = [step for step in steps if step.place.path not in left]
        put_back(workspace, steps, since, failed)
        closed.are_done(step.parts for step in steps)
        done = tuple(path for path in replaced if path not in failed and path not in since)
        return RollBack(tuple(since), failed, done, tuple(path for path in left if path not in failed))


def _kept_first(
    workspace: Workspace, steps: Sequence[RestoreStep], failed: dict[str, str]
) -> tuple[str, ...]:
    """Write what a rollback replaces into the journal, for an undo; return the paths where that worked."""
    if workspace.snapshot is None:
        return ()
    kept = []
    for step in steps:
        try:
            workspace.snapshot.journal.add_state("replaced", step.place.path, step.now)
            kept.append(step.place.path)
        except OSError as error:
            failed[step.place.path] = system_words(error)
    return tuple(kept)


def _compared(
    changes: Changes,
    begun: Changes,
    workspace: Workspace,
    modes: Mapping[Parts, int],
    *,
    killed: bool,
) -> tuple[list[RestoreStep], list[str], dict[str, str]]:
    """Return what has to be put back, what another program has changed since, and what cannot be looked at.

    `modes` are those of directories that have others for the moment.
    """
    steps: list[RestoreStep] = []
    since: list[str] = []
    unseen: dict[str, str] = {}
    ours = {place.path: place for place in begun.places}
    for place in changes.places:
        before = place.before
        try:
            now, stamp = look_at(workspace, place.parts)
        except CladaError as trouble:
            unseen[place.path] = trouble.error.message
            continue
        now = now.replace(mode=modes.get(place.parts, now.mode))
        if before.digest:
            continue  # its content was not kept: clada has written no such record
        if now.is_like(before) and not _got_others(place, now, before):
            continue  # it is back already
        left = _left(place, now, killed=killed)
        if left is None and place.path in ours:
            left = _left(ours[place.path], now, killed=True)
        elif left and before.kind == now.kind == "directory" and left.mode is None:
            continue
        if left:
            steps.append(RestoreStep(place, now, before, left, stamp))
        elif not now.replace(mode=None).is_like(before):  # whoever has changed only its mode, meant that
            since.append(place.path)
    since += (*_blocked(workspace, steps), *_in_the_way(workspace, steps))
    return steps, since, unseen


def _got_others(place: ChangedPlace, now: State, before: State) -> bool:
    """Whether a file has extended attributes that the run gave it."""
    after = place.after
    return not after.is_same_beside(before) and after.is_same_beside(now)


def _left(place: ChangedPlace, now: State, *, killed: bool) -> State | None:
    """Return what the run left at a place, if that is still there; a kill may have cut off what it added."""
    for state in place.left():
        if now.is_like(state):
            return state
        cut = now.replace(content=state.content[: len(now.content)])
        if killed and now.is_like(cut) and now.kind == "file" and _begins_with(now, place.before):
            return state
    return None


def _begins_with(now: State, before: State) -> bool:
    return before.kind == "file" and not now.digest and now.content.startswith(before.content)


def _blocked(workspace: Workspace, steps: Sequence[RestoreStep]) -> list[str]:
    """Return what cannot be put back, because somebody has put something else where its directory was."""
    clearing = {step.parts for step in steps if step.now.kind != "directory" == step.before.kind}
    # Where a place is not free, it is `cleared` by us or `blocked`, and so is all that is below it.
    ways: dict[Parts, str] = {(): "free"}
    found = []
    for step in steps:
        above = step.parts[:-1] if step.before.kind != "absent" else ()
        for parts in new_on_the_way(above, ways):
            ways[parts] = ways[parts[:-1]]
            if parts in clearing and ways[parts] == "free":
                ways[parts] = "cleared"
            elif ways[parts] == "free" and state_now(workspace, parts).kind not in {"directory", "absent"}:
                ways[parts] = "blocked"
        if ways[above] == "blocked":
            found.append(step.place.path)
    return found


def _in_the_way(workspace: Workspace, steps: Sequence[RestoreStep]) -> list[str]:
    """Return what somebody has put into directories that have to go, because something else was there."""
    folders = [step for step in steps if step.now.kind == "directory"]
    replaced = {step.parts for step in folders if step.before.kind not in {"directory", "absent"}}
    going = {step.parts for step in steps}
    ways: dict[Parts, bool] = {(): False}  # whether they lead to one of these, or through it
    found = []
    for step in folders if replaced else ():
        for parts in new_on_the_way(step.parts, ways):
            ways[parts] = ways[parts[:-1]] or parts in replaced
        if ways[step.parts]:
            inside = [(*step.parts, name) for name in workspace.names(step.parts)]
            found += ["/".join(parts) for parts in inside if parts not in going]
    return found


# What is said about it.


def _described(run: RecordedRun, steps: Sequence[RestoreStep]) -> Undone:
    contents, modes = diff_of((step.place.path, step.now, step.before) for step in steps)
    restored = [_named(step, step.before) for step in steps if step.before.kind not in {"absent", "other"}]
    removed = [_named(step, step.now) for step in steps if step.before.kind == "absent"]
    return Undone(
        run, restored=tuple(sorted(restored)), removed=tuple(sorted(removed)), changes=contents, modes=modes
    )


def _named(step: RestoreStep, state: State) -> str:
    return step.place.path + ("/" if state.kind == "directory" else "")


def _notes(run: RecordedRun, left: Sequence[str]) -> tuple[str, ...]:
    """Return what the undo could not restore."""
    notes = []
    if left:
        notes.append(f"left, for these ignored files or caches were changed since the run: {named(left)}")
    if run.unrecorded:
        notes.append(f"not restored, because no record of them was kept: {named(run.unrecorded)}")
    if run.commands:
        notes.append(
            "not undone: what the run's commands did in ignored directories and outside the workspace"
        )
    return tuple(notes)


def elsewhere(store: Store) -> str | None:
    """Return a clause that names the other workspaces of the repository that have runs; None if none has."""
    others = history.workspaces(around(store))
    return f"the repository has runs of other workspaces (--workspace): {named(others)}" if others else None


def _trouble(message: str, hint: str) -> CladaError:
    return CladaError("git_operation_failed", message, hint)
