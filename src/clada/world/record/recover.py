"""Takes back what a run that was killed left half done, where it was to be all or nothing."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.world.files.paths import display_path
from clada.world.files.workspace import Workspace
from clada.world.record import history, pending
from clada.world.record.changes import named
from clada.world.record.journal import Journal
from clada.world.record.looks import Looks
from clada.world.record.snapshot import Snapshot
from clada.world.record.undo import roll_back

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
    except Trouble as trouble:
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
            Looks(store, snapshot, settings.history_size).recover()
        commands = [display_path(parts) for parts in snapshot.changed]
        workspace.record_in(snapshot)
        since = roll_back(path, workspace, found.mark, killed=True)
    if since:
        message = f"run {found.number} was killed, and these were changed since: {named(since)}"
        hint = f"put them back as that run left them, or remove {found.note} to leave all as it is"
        raise Trouble("io_error", message, hint)
    _note_end(found)
    pending.remove(store)
    note = (
        f"run {found.number} was killed in the middle of something that is all or nothing: it was taken back"
    )
    # What was changed after its command began may be the command's, or that of somebody else.
    return f"{note}, with what was changed since its command began: {named(commands)}" if commands else note


def _note_end(found: Pending) -> None:
    """Note in the history that the run has failed, and changed nothing; the others leave no trace."""
    run = next((run for run in history.runs(found.store) if run.number == found.number), None)
    if run is None:
        os.unlink(found.store.journal(found.number))
    elif run.ended == "killed":
        history.end(found.store, run.replace(ended="failed"))
