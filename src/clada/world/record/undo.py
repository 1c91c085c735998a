"""Undo: puts the files of a run back, as a run of its own that can be undone in turn.

It is refused, and changes nothing, if a file was changed since the run: nothing of the user's is lost.
"""

from __future__ import annotations

import os
from shlex import quote

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.workspace import Workspace
from clada.world.git import index, repository
from clada.world.git.branch import BranchCommits
from clada.world.git.git import hardened_git
from clada.world.git.repository import git_error, os_errors_as_git_errors
from clada.world.git.staging import mark_not_checked_out
from clada.world.record import history
from clada.world.record.recorder import Recorder, RunToRecord
from clada.world.record.restore import RestoreStep, compare, current_state, restore, temporarily_writable
from clada.world.record.scan import find_suspects
from clada.world.record.states import State
from clada.world.record.store import Store, around, find_store
from clada.world.record.tree_diff import RunChanges, TreeDiff, changes_files, format_paths, is_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clada.settings import Settings
    from clada.world.files.paths import Parts
    from clada.world.record.history import RecordedRun
    from clada.world.record.tree_diff import Contents, Modes

STOPPED = ("killed", "failed", "interrupted")
LISTED = "clada history"
NO_RUN = "no run is recorded for this workspace"


class Undone(Value):
    """What an undo did, or would do."""

    run: RecordedRun  # the one that was undone
    number: int = 0  # of the undo itself, which can be undone in turn
    commit: str | None = None
    restored: tuple[str, ...] = ()  # paths put back as they were
    removed: tuple[str, ...] = ()  # paths that did not exist before the run
    notes: tuple[str, ...] = ()  # on what could not be restored
    changes: Contents = ()  # type: ignore[assignment]  # contents and modes, for a diff
    modes: Modes = ()  # type: ignore[assignment]


def undo(
    settings: Settings,
    number: int | None = None,
    *,
    waiting: Callable[[], None] | None = None,
    record: str | None = None,
) -> Undone:
    """Undo the last run that changed something, or the one with this number.

    With dry_run in the settings, only return what that would change. It is recorded as the run was, unless
    `record` says otherwise.
    """
    store = find_store(settings.workspace, confined=settings.sandbox != "off")
    if not os.path.isdir(store.runs):
        raise git_error(NO_RUN, describe_other_workspaces(store) or LISTED)
    with os_errors_as_git_errors(), store.lock(settings.lock_timeout, waiting):
        run, stopped = _choose_run(store, number)
        journals = _journals(store, run)
        if store.was_scanning(run.number):
            find_suspects(store, run.number, settings)
        branch = None if settings.dry_run else _branch(store, settings, record or run.record)
        with (
            RunChanges(journals) as changes,
            RunChanges(_journals(store, stopped) if stopped else []) as interrupted,
            Workspace(store.workspace) as workspace,
        ):
            if not settings.dry_run:
                store.clear_scratch()
            with temporarily_writable(workspace, [changed.parts for changed in changes.paths]) as modes:
                steps, left = _plan_steps(run, changes, interrupted, workspace, modes)
            if not steps and not stopped:  # a stopped undo may have done all
                raise _nothing_to_undo(store, run, changes)
            notes = (
                *_describe_left(run, left),
                *_describe_unfinished(run, changes, workspace),
                *describe_suspects(run.number, changes),
            )
            undone = _describe(run, steps).replace(notes=notes)
            if settings.dry_run:
                return undone
            to_record = RunToRecord(
                f"undo of run {run.number}",
                undoes=run.number,
                continues=stopped.number if stopped else 0,
                reverts=_commits(store, run) if branch else (),
            )
            # All that the run has saved is saved again, however large.
            recorder = Recorder(store, to_record, settings.replace(snapshot_limit=1 << 62), None, branch)
            undone = _restore_recorded(recorder, workspace, steps, undone)
            return undone.replace(notes=(*undone.notes, *_hide_again(store, changes)))


def _hide_again(store: Store, changes: RunChanges) -> list[str]:
    """Mark files as not checked out again that a sparse checkout hid before the run; return notes."""
    gone = [path for path in changes.skipped if not os.path.lexists(f"{store.workspace}/{path}")]
    if not gone or not store.repository:
        return []
    try:
        mark_not_checked_out(hardened_git(store.repository), [store.prefix + path for path in gone])
    except CladaError as error:
        return [f"{error.error.message}; git sparse-checkout reapply hides again: {format_paths(gone)}"]
    return []


def _restore_recorded(
    recorder: Recorder, workspace: Workspace, steps: Sequence[RestoreStep], undone: Undone
) -> Undone:
    """Put everything back, as a run of its own."""
    left: list[str] = []
    try:
        with recorder:
            workspace.record_in(recorder.snapshot)
            recorder.done = [
                f"undo of run {undone.run.number}: {undone.run.what}",
                *(f"restore {path}" for path in undone.restored),
                *(f"remove {path}" for path in undone.removed),
            ]
            notes = restore(workspace, steps, left)
            workspace.close()
    finally:
        recorder.close()
    if recorder.error:
        raise CladaError.of(recorder.error)
    if left:
        notes.append(f"left, because another program has changed them meanwhile: {format_paths(left, None)}")
    return undone.replace(
        number=recorder.number,
        commit=recorder.commits[1],
        restored=tuple(path for path in undone.restored if path not in left),
        removed=tuple(path for path in undone.removed if path not in left),
        notes=(*undone.notes, *notes, *recorder.notes),
    )


def _nothing_to_undo(store: Store, run: RecordedRun, changes: RunChanges) -> CladaError:
    done = any(changed.differs() for changed in changes.paths)
    what = "is undone already" if done else "changed nothing that could be undone"
    lost = f"; not restored: {format_paths(run.unrecorded)}" if run.unrecorded else ""
    lost += "".join(f"; {note}" for note in describe_suspects(run.number, changes))
    older = (each for each in history.runs(store) if each.number < run.number)
    before = next((each.number for each in older if _changed_something(store, each)), None)
    hint = f"clada undo {before}" if before and lost else LISTED
    return git_error(f"run {run.number} {what}{lost}", hint)


def _branch(store: Store, settings: Settings, record: str) -> BranchCommits | None:
    """Return what makes the commit, where the run that is undone made some."""
    if record != "commits":
        return None
    found = store.repository or repository.find(settings.workspace)  # the error says why there is none
    index.check(found)
    branch = BranchCommits(found, settings.git_author)
    branch.find_head()  # it is the one on which the commit is made, if any
    return branch


def _commits(store: Store, run: RecordedRun) -> tuple[str, ...]:
    """Return the commits after a run and those that it completes, which its undo reverts."""
    by_number = {each.number: each for each in history.all_runs(store)}
    runs = [by_number[number] for number in reversed(_numbers(store, run)) if number in by_number]
    return tuple(run.post for run in runs if run.post)


# Which run is undone, and whether it can be.


def _choose_run(store: Store, number: int | None) -> tuple[RecordedRun, RecordedRun | None]:
    """Return the run to undo, and the undo of it that was stopped, if the last undo of it was."""
    runs = history.runs(store)
    if not runs:
        raise git_error(NO_RUN, describe_other_workspaces(store) or LISTED)
    if number is None:
        run = next((run for run in runs if _changed_something(store, run)), None)
        if run is None:
            raise git_error("no run changed anything", LISTED)
    else:
        run = next((run for run in runs if run.number == number), None)
        if run is None:
            raise git_error(f"there is no run {number} for this workspace", LISTED)
    if run.ended == "running":
        raise git_error(f"run {run.number} is still going", "wait for it, or end it")
    if run.undoes and run.ended in STOPPED:
        run = next((each for each in runs if each.number == run.undoes), run)
    last = next((each for each in runs if each.undoes == run.number), None)
    return run, last if last and last.ended in STOPPED else None


def _changed_something(store: Store, run: RecordedRun) -> bool:
    """Whether a run left anything else than was there, as far as that is known; caches do not count."""
    if run.ended == "running" or store.was_scanning(run.number):
        return True
    if not all(is_cache(store.workspace, path) for path in run.unrecorded):
        return True  # undo must say that it cannot bring these back
    if not (run.changed or run.continues or run.ended == "killed"):
        return False
    return changes_files(store.workspace, _journals(store, run))


def _journals(store: Store, run: RecordedRun) -> list[str]:
    """Return the journals of a run, and of those that it completes, the oldest first."""
    numbers = _numbers(store, run)
    paths = [store.journal(each) for each in numbers]
    for number, path in zip(numbers, paths, strict=True):
        if not os.path.exists(path):
            raise git_error(f"the journal of run {number} is gone", "git log may have what it changed")
    return paths


def _numbers(store: Store, run: RecordedRun) -> list[int]:
    """Return the numbers of a run, and of those that it completes, the oldest first."""
    by_number = {each.number: each for each in history.all_runs(store)}
    numbers = [run.number]
    while (above := by_number.get(numbers[0])) and above.continues and above.continues not in numbers:
        numbers.insert(0, above.continues)
    return numbers


def _plan_steps(
    run: RecordedRun,
    changes: RunChanges,
    interrupted: RunChanges,
    workspace: Workspace,
    modes: Mapping[Parts, int],
) -> tuple[list[RestoreStep], list[str]]:
    """Return the paths to put back, and those that are left; raise, naming the files, if work would be lost.

    Caches, and ignored files that commands changed, are left if they were changed since, because other
    programs may write them at any time. So are paths that a killed command may have changed.
    """
    found = compare(changes, interrupted, workspace, modes, killed=run.ended == "killed")
    if found.unreadable:
        path, reason = next(iter(found.unreadable.items()))
        raise CladaError("io_error", f"{path}: {reason}", "repair this, and undo again")
    going = {step.path for step in found.steps}
    since = found.changed_since
    others = {path for path in since if path in changes.ignored or is_cache(workspace.root, path)}
    left = [path for path in since if path in others and path not in going]
    since = [path for path in since if path not in left and path not in changes.suspects]
    steps = [step for step in found.steps if step.path not in changes.suspects]
    if since:
        raise git_error(
            f"changed since run {run.number}: {format_paths(since)}",
            "undo the later runs first, or put these files back as that run left them",
        )
    return steps, left


def changed_since(store: Store, runs: Sequence[RecordedRun]) -> tuple[list[str], list[str]]:
    """Return the paths that are not as these runs, the newest first, left them.

    The second list has those of them that are as they were before the run.
    """
    changed, reverted, seen = list[str](), list[str](), set[str]()
    with Workspace(store.workspace) as workspace:
        for run in runs:
            with RunChanges(_journals(store, run)) as changes:
                for each in changes.paths:
                    now = current_state(workspace, each.parts)
                    if each.path not in seen and not now.is_like(each.after):
                        changed.append(each.path)
                        reverted += [each.path] if now.is_like(each.before) else []
                    seen.add(each.path)
    return changed, reverted


# Messages.


def _describe(run: RecordedRun, steps: Sequence[RestoreStep]) -> Undone:
    diff = TreeDiff(tuple((step.path, step.now, step.before) for step in steps))
    restored = [_name(step, step.before) for step in steps if step.before.kind not in {"absent", "other"}]
    removed = [_name(step, step.now) for step in steps if step.before.kind == "absent"]
    return Undone(
        run,
        restored=tuple(sorted(restored)),
        removed=tuple(sorted(removed)),
        changes=diff.contents,
        modes=diff.modes,
    )


def _name(step: RestoreStep, state: State) -> str:
    return step.path + ("/" if state.kind == "directory" else "")


def _describe_left(run: RecordedRun, left: Sequence[str]) -> list[str]:
    """Return notes on what is not restored."""
    notes = []
    if left:
        paths = format_paths(left)
        notes.append(f"left, because these ignored files or caches were changed since the run: {paths}")
    if run.unrecorded:
        paths = format_paths(run.unrecorded)
        notes.append(f"not restored, because no record of them was kept: {paths}")
    if run.commands:
        notes.append(
            "not undone: what the run's commands did in ignored directories and outside the workspace"
        )
    return notes


def _describe_unfinished(run: RecordedRun, changes: RunChanges, workspace: Workspace) -> list[str]:
    """Return a note on paths that a killed run was about to change, and that have changed since."""
    if run.ended != "killed":
        return []
    paths = [
        path
        for path in changes.unfinished
        if not current_state(workspace, tuple(path.split("/"))).is_like(changes.saved(path))
    ]
    why = "left, because others may have changed them since the run was killed"
    return [f"{why}: {format_paths(paths)}"] if paths else []


def describe_suspects(number: int, changes: RunChanges, *, is_shown: bool = True) -> list[str]:
    """Return a note on paths that a command may have changed that ran when its run was killed."""
    if not changes.suspects:
        return []
    paths = format_paths(sorted(changes.suspects), None)
    where = f" (clada history show {number} has the differences)" if is_shown else ""
    why = f"a command was running when run {number} was killed, and it or you changed"
    return [f"left, because {why}: {paths}{where}"]


def describe_other_workspaces(store: Store) -> str | None:
    """Return a hint that names the other workspaces of the repository that have runs; None if none has."""
    others = history.other_workspaces(around(store))
    if not others:
        return None
    named = f"the repository has runs of other workspaces: {format_paths(others)}"
    return f"{named}\nclada history --workspace={quote(others[0])}"
