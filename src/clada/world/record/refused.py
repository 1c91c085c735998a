"""The report on a document that was refused before a run began, which is in no journal."""

from __future__ import annotations

import os
from contextlib import suppress

from clada.errors import CladaError
from clada.world.record import history
from clada.world.record.store import Store, find_store

NAME = "refused"
MODE = 0o600  # for its user alone, as all of the record


def keep_refused(workspace: str, report: str) -> None:
    """Keep the report on a document of which nothing was carried out, until the next run here.

    What cannot be kept is not worth another failure: the report itself was shown.
    """
    if not os.path.isdir(workspace):
        return
    with suppress(OSError, CladaError):
        store = find_store(workspace)
        store.make()
        text = f"{_stamp(store)}\n{report}".encode(errors="surrogateescape")
        aside = f"{_path(store)}.{os.getpid()}"
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE), "wb") as file:
            file.write(text)
        os.replace(aside, _path(store))


def refused(workspace: str) -> str | None:
    """Return the report on the last document, if it was refused; None if a run was recorded since."""
    with suppress(OSError, CladaError):
        store = find_store(workspace)
        with open(_path(store), encoding="utf-8", errors="replace") as file:
            stamp, _, report = file.read().partition("\n")
        return report if stamp == _stamp(store) else None
    return None


def _path(store: Store) -> str:
    return os.path.join(store.path, NAME)


def _stamp(store: Store) -> str:
    """Return what changes with each run, and differs between the workspaces of a repository."""
    runs = history.runs(store, history.MAX_TAIL)
    return f"{runs[0].number if runs else 0} {store.prefix!r}"
