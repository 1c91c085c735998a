"""Rolls back an atomic run that was killed."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.world.files.workspace import Workspace
from clada.world.record import history
from clada.world.record.journal import Journal
from clada.world.record.restore import roll_back
from clada.world.record.scan import TreeScan
from clada.world.record.snapshot import Snapshot
from clada.world.record.tree_diff import RunChanges, format_paths
from clada.world.record.undo import describe_suspects
from clada.world.sandbox.overlay import remove_stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.settings import Settings
    from clada.world.record.history import PendingRun


def recover(settings: Settings, waiting: Callable[[], None] | None = None, *, wait: bool = True) -> list[str]:
    """Roll back the atomic run, or block, that was killed in this workspace; return messages about it.

    If the run is still going, wait for its end; without `wait`, leave it alone.
    """
    found = history.pending_run(settings.workspace)
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
        found = history.pending_run(settings.workspace)  # it may have ended while we waited
        return _roll_back_pending(found, settings) if found else []
    finally:
        lock.__exit__()


def _roll_back_pending(found: PendingRun, settings: Settings) -> list[str]:
    store, path = found.store, found.store.journal(found.number)
    if not os.path.exists(path):
        history.remove_pending(store, found.number)
        return [f"run {found.number} was killed, and its journal is gone: it cannot be rolled back"]
    put_back = store.clear_scratch()  # first, because the user may have saved it at the moment of the kill
    with Journal(path, again=True) as journal, Workspace(store.workspace) as workspace:
        snapshot = Snapshot(journal, 1 << 62, durable=settings.durable)
        if store.was_scanning(found.number):
            TreeScan(store, snapshot, settings.history_size).find_suspects()
        workspace.record_in(snapshot)
        done = roll_back(path, workspace, found.mark, killed=True)
    if done.failed:
        reasons = (f"{path} ({reason})" for path, reason in done.failed.items())
        message = f"run {found.number} was killed, and this cannot be put back: {', '.join(reasons)}"
        raise CladaError(
            "io_error", message, f"repair this, or remove {history.marker_of(store)} to leave all as it is"
        )
    remove_stale(store.path)
    is_recorded = _record_end(found)
    history.remove_pending(store, found.number)
    with RunChanges([path]) as changes:
        suspects = describe_suspects(found.number, changes, is_shown=is_recorded)
    if not is_recorded:
        os.unlink(path)
    notes = [f"run {found.number} was killed, or could not be rolled back: its changes were rolled back"]
    left = (*done.changed_since, *done.unattributed)
    if left:
        notes.append(
            f"left, because they were changed since, or by another program: {format_paths(left, None)}"
        )
    return [*put_back, "; ".join((*notes, *suspects))]


def _record_end(found: PendingRun) -> bool:
    """Record that the run has failed, and changed nothing; return whether it is in the history."""
    run = history.run_with_number(found.store, found.number)
    if run and run.ended == "killed":
        history.end(found.store, run.replace(ended="failed"))
    return run is not None
