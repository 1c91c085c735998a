"""Resume a run: execute the operations of its document that failed or were skipped.

The module is not called resume, because `clada.resume` is the function.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.model import Note, Skipped
from clada.run import execute, plan_for
from clada.settings import Settings, restored
from clada.values import Value, fields_of
from clada.world.git.git import hardened_git
from clada.world.git.repository import os_errors_as_git_errors
from clada.world.record.documents import runs_of, saved_run, undone
from clada.world.record.history import runs
from clada.world.record.store import find_store
from clada.world.record.tree_diff import format_paths
from clada.world.record.undo import changed_since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike
    from typing import Any, Unpack

    from clada.model import Event, Plan
    from clada.public_types import Ask, RunOptions
    from clada.report import Report
    from clada.world.record.documents import SavedRun
    from clada.world.record.history import RecordedRun
    from clada.world.record.store import Store
    from clada.world.world import Stop

LINE_BREAK = "\n"
LISTED = "clada history"


class Rest(Value):
    """The operations of a document that are still to be executed."""

    number: int  # of the newest run of this document
    document: bytes
    count: int  # of its tasks; 0 if unknown
    left_out: Mapping[int, Skipped]  # tasks that are done already or were not chosen, by index
    settings: Mapping[str, Any]  # settings of the run that affect the result
    changed: tuple[str, ...]  # paths that were changed since the run
    is_reverted: bool  # some paths are as before the run, or its commit is gone (git reset)


def resume(  # noqa: PLR0913 (callbacks are separate arguments)
    workspace: str | PathLike[str] = ".",
    run: int | None = None,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    ask: Ask | None = None,
    consent: Callable[[str], bool] | None = None,
    stop: Stop | None = None,
    settings: Settings | None = None,
    **options: Unpack[RunOptions],
) -> Report:
    """Execute what failed or was skipped in the last run, or in run number `run`, from its saved document.

    The options are those of `execute`. Settings that affect the result (`atomic`, `match`, `final_newline`,
    `format`) are those of that run unless an option overrides them; the others come from `settings`.
    Raises CladaError if there is nothing to resume.
    """
    rest = rest_of(workspace, run)
    if not options.get("again"):
        refuse_reverted(rest)
    kept = {name: value for name, value in rest.settings.items() if name != "record" or "git" not in options}
    base = fields_of(settings) if settings else {}
    chosen: Any = {**base, **kept, **options, "workspace": workspace}
    settings = Settings.from_options(**chosen)
    plan = plan_of(rest, settings)
    for note in notes_on(rest, plan):
        on_event(Note(note))
    return execute(
        plan,
        on_event=on_event,
        ask=ask,
        consent=consent,
        stop=stop,
        settings=settings,
        left_out=rest.left_out,
    )


def rest_of(workspace: str | PathLike[str] = ".", run: int | None = None) -> Rest:
    """Return the rest of the document of run number `run`, by default the last that is not an undo."""
    with os_errors_as_git_errors():
        store = find_store(os.fspath(workspace))
        recorded = runs(store)
        gone = undone(recorded)
        kept = _furthest(store, recorded, gone, run)
        number = kept.run.number
        if kept.is_unclear and number not in gone:
            hint = f"clada undo {number}\nclada --again ANSWER"
            raise CladaError("git_operation_failed", f"run {number} was killed", hint)
        settings = {**restored(kept.settings), "record": kept.run.record}
        left_out = _left_out(kept, gone)
        if kept.statuses and not kept.rest(gone):
            raise _nothing_to_resume(
                number, plan_for(kept.document, Settings(**restored(kept.settings))), left_out
            )
        done_in = {number, *kept.done(gone).values()}
        runs_before = [each for each in recorded if each.number in done_in and each.number not in gone]
        changed, put_back = changed_since(store, runs_before)
        is_reverted = bool(changed) and (bool(put_back) or _is_commit_gone(store, runs_before))
        paths = tuple(changed)
        return Rest(number, kept.document, len(kept.statuses), left_out, settings, paths, is_reverted)


def _furthest(store: Store, runs: list[RecordedRun], gone: set[int], number: int | None) -> SavedRun:
    """Return the newest run, not undone, that has the same document as the given or the last run."""
    found = next((run for run in runs if (run.number == number if number else not run.undoes)), None)
    if found is None or not os.path.exists(store.journal(found.number)):
        what = f"there is no run {number}" if number else "no run is recorded"
        raise CladaError("git_operation_failed", f"{what} for this workspace", LISTED)
    kept = saved_run(store, found)
    if not kept.document:
        message = f"run {found.number} has no saved document"
        raise CladaError("git_operation_failed", message, LISTED)
    newest = next((run for run in runs_of(store, kept.document) if run.number not in gone), None)
    return saved_run(store, newest) if newest and newest != found else kept


def _left_out(kept: SavedRun, gone: set[int]) -> dict[int, Skipped]:
    """Return the tasks that are not executed again: those done, and those that the user did not choose."""
    number = kept.run.number
    # Of an operation that was chosen in part, the document still has all hunks: the rest was not wanted.
    reasons = {"part": f"not all of it was chosen in run {number}", "left": f"left out in run {number}"}
    done = {
        index: Skipped(f"done in run {by}", left_out=True, done_in=by)
        for index, by in kept.done(gone).items()
    }
    unwanted = {
        index: Skipped(reasons[how], left_out=True)
        for index, how in enumerate(status.split()[-1] for status in kept.statuses)
        if how in reasons
    }
    return {**unwanted, **done}


def plan_of(rest: Rest, settings: Settings) -> Plan:
    """Parse the document again; raise if that gives other operations than the run had."""
    plan = plan_for(rest.document, settings)
    found = len(plan.operations)
    if rest.left_out and found != rest.count:
        message = f"the document of run {rest.number} had {rest.count} operations, and is read as {found} now"
        raise CladaError("git_operation_failed", message, "resume it with the settings that it was run with")
    return plan


def notes_on(rest: Rest, plan: Plan) -> list[str]:
    """Return notes for the user on a run that is resumed."""
    notes = [f"changed since run {rest.number}: {format_paths(rest.changed)}"] if rest.changed else []
    if unwanted := _unwanted(plan, rest.left_out):
        notes.append(f"left out, as they were not chosen: {format_paths(unwanted)}")
    return notes


def refuse_reverted(rest: Rest) -> None:
    """Raise if the work of the run was reverted other than by `clada undo`."""
    if rest.is_reverted:
        message = f"files are no longer as run {rest.number} left them: {format_paths(rest.changed)}"
        hint = "clada resume --again\nclada --again ANSWER"
        raise CladaError("git_operation_failed", message, hint)


def _nothing_to_resume(number: int, plan: Plan, left_out: Mapping[int, Skipped]) -> CladaError:
    unwanted = _unwanted(plan, left_out)
    if not unwanted:
        message = f"run {number} did everything: there is nothing to resume"
        return CladaError("git_operation_failed", message, LISTED)
    message = f"run {number} did everything that was chosen; left out: {format_paths(unwanted)}"
    return CladaError("git_operation_failed", message, "clada --again --confirm ANSWER")


def _unwanted(plan: Plan, left_out: Mapping[int, Skipped]) -> list[str]:
    """Return the operations that the user did not choose."""
    return [
        f"{item.name} {item.target.partition(LINE_BREAK)[0]}"
        for index, item in enumerate(plan.operations)
        if index in left_out and not left_out[index].done_in
    ]


def _is_commit_gone(store: Store, runs: list[RecordedRun]) -> bool:
    """Return whether HEAD no longer has a commit that one of these runs made."""
    made = [run.post for run in runs if run.post]
    if not made or not store.repository:
        return False
    git = hardened_git(store.repository)
    return any(git.call("merge-base", "--is-ancestor", commit, "HEAD").code != 0 for commit in made)
