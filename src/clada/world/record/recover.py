"""Takes back what a run that was killed left half done, where it was to be all or nothing."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.world.files.workspace import Workspace
from clada.world.record import history, pending
from clada.world.record.changes import Changes, named
from clada.world.record.journal import Journal
from clada.world.record.looks import Looks
from clada.world.record.snapshot import Snapshot
from clada.world.record.undo import roll_back, suspects_note
from clada.world.sandbox.overlay import remove_stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.settings import Settings
    from clada.world.record.pending import Pending


def recover(settings: Settings, waiting: Callable[[], None] | None = None, *, wait: bool = True) -> list[str]:
    """Put back what an atomic run, or block, had done when it was killed; return what to say of it.

    Where such a run is still going, its end is waited for; without `wait`, it is left alone.
    """
    found = pending.of_workspace(settings.workspace)
    if found is None:
        return []
    lock = found.store.lock(settings.lock_timeout if wait else 0, waiting)
    try:
        lock.__enter__()
    except CladaError as trouble:
        if wait or trouble.error.type != "lock_timeout":
            raise
        return []
    try:
        found = pending.of_workspace(settings.workspace)  # it may have ended while we waited
        return [_taken_back(found, settings)] if found else []
    finally:
        lock.__exit__()


def _taken_back(found: Pending, settings: Settings) -> str:
    store, path = found.store, found.store.journal(found.number)
    if not os.path.exists(path):
        pending.remove(store)
        return f"run {found.number} was killed, and its journal is gone: it cannot be taken back"
    with Journal(path, again=True) as journal, Workspace(store.workspace) as workspace:
        snapshot = Snapshot(journal, 1 << 62, durable=settings.durable)
        if store.was_looking(found.number):
            Looks(store, snapshot, settings.history_size).note_suspects()
        workspace.record_in(snapshot)
        done = roll_back(path, workspace, found.mark, killed=True)
    if done.failed:
        reasons = (f"{path} ({reason})" for path, reason in done.failed.items())
        message = f"run {found.number} was killed, and this cannot be put back: {', '.join(reasons)}"
        raise CladaError("io_error", message, f"repair this, or remove {found.note} to leave all as it is")
    remove_stale(store.path)
    is_recorded = _note_end(found)
    pending.remove(store)
    with Changes([path]) as changes:
        suspects = suspects_note(found.number, changes, is_shown=is_recorded)
    if not is_recorded:
        os.unlink(path)
    notes = [f"run {found.number} was killed, or could not be rolled back: what it had done was taken back"]
    left = (*done.changed_since, *done.unattributed)
    if left:
        notes.append(
            f"left, because they were changed since, or by another program: {named(left, len(left))}"
        )
    return "; ".join((*notes, *suspects))


def _note_end(found: Pending) -> bool:
    """Note in the history that the run has failed, and changed nothing; return whether it is there."""
    run = next((run for run in history.runs(found.store) if run.number == found.number), None)
    if run and run.ended == "killed":
        history.end(found.store, run.replace(ended="failed"))
    return run is not None
