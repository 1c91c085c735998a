"""The progress of a document through its runs: to resume it, and to do no part of it twice.

Its newest run that was not undone has it: how each task ended, or in which earlier run it was done.
"""

from __future__ import annotations

import os
from contextlib import suppress

from clada.errors import CladaError, Error
from clada.grammar import read_number
from clada.values import Value
from clada.world.record import history
from clada.world.record.journal import read_journal
from clada.world.record.store import Store, find_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.model import Task
    from clada.world.record.history import RecordedRun


REFUSED = "refused"  # the file with the report on the last document that was refused
LEFT_OUT = ("part", "left")  # statuses of tasks that the user did not choose


class SavedRun(Value):
    """The document of a run, and how its tasks ended."""

    run: RecordedRun
    document: bytes
    settings: tuple[str, ...]  # for a resume: name=value
    statuses: tuple[str, ...]  # of all tasks, from status_to_save; none if it was killed

    @property
    def is_unclear(self) -> bool:
        """Whether it may have done something, and no statuses were saved."""
        run = self.run
        return not self.statuses and (run.ended == "killed" or run.changed > 0 or run.commands)

    def done(self, undone: set[int]) -> dict[int, int]:
        """Return the tasks that are done, by their index: in which run, which was not undone since."""
        found = {index: self._done_in(status) for index, status in enumerate(self.statuses)}
        return {index: number for index, number in found.items() if number and number not in undone}

    def rest(self, undone: set[int]) -> list[int]:
        """Return the indices of the tasks that are neither done, nor left out by choice."""
        settled = self.done(undone)
        open_ones = [index for index in range(len(self.statuses)) if index not in settled]
        return [index for index in open_ones if not self.statuses[index].endswith(LEFT_OUT)]

    def _done_in(self, status: str) -> int:
        """Return the run in which a task was done; 0 if it was not."""
        if status.startswith("success"):
            return self.run.number
        return read_number(status.removeprefix("done ")) or 0


def status_to_save(task: Task) -> str:
    """Return how a task ended: `done 12` if run 12 did it; `part` if not all of it was chosen; `left` out."""
    if task.done_in:
        return f"done {task.done_in}"
    if task.is_part:
        return "success part" if task.status == "success" else "part"
    return "left" if task.ok and task.status != "success" else task.status


def saved_run(store: Store, run: RecordedRun) -> SavedRun:
    """Return the document of a run, and how its tasks ended."""
    document, settings = _document_of(store, run)
    return SavedRun(run, document, settings, history.task_statuses(store, run.number))


def _document_of(store: Store, run: RecordedRun) -> tuple[bytes, tuple[str, ...]]:
    """Return the document of a run and its settings, which begin its journal; nothing if that was pruned."""
    try:
        with read_journal(store.journal(run.number)) as journal:
            first = next(journal.records(), None)
            if first and first.fields[0] == "document":
                return journal.content(first), first.fields[1:]
    except FileNotFoundError:
        pass
    return b"", ()


def undone(runs: Sequence[RecordedRun]) -> set[int]:
    """Return the numbers of those of these runs, the newest first, that were undone, and not redone."""
    found: set[int] = set()
    for run in runs:
        if run.undoes and run.ended == "ok" and run.number not in found:
            found.add(run.undoes)
    return found


def runs_of(store: Store, document: bytes) -> list[RecordedRun]:
    """Return the runs of this document here, newest first."""
    found = history.runs_with_key(store, document)
    return [run for run in found if _document_of(store, run)[0] == document]


def refuse_again(store: Store, document: bytes) -> None:
    """Raise if the last run of this document did a part of it, which would be done twice."""
    if not document or not store.exists:
        return
    of_document = [run for run in runs_of(store, document) if run.ended != "running"]
    if all(run.ended == "ok" for run in of_document):
        return
    runs = history.runs(store)
    gone = undone(runs)
    newest = next((run for run in of_document if run.number not in gone), None)
    if newest is None:
        return
    saved = saved_run(store, newest)
    if saved.is_unclear:
        what = f"run {newest.number} of this answer was killed"
        raise _again(f"{what}. Revert it: clada undo {newest.number}. Start over: --again")
    by_number = {run.number: run for run in runs}
    done, rest = saved.done(gone), saved.rest(gone)
    changing = [number for number in done.values() if _changed_something(by_number.get(number))]
    of_runs = [by_number.get(number) for number in sorted(set(changing))]
    if not changing or not rest or _were_put_back(store, of_runs):
        return
    is_last = next(run for run in runs if not run.undoes and run.ended != "running") == of_document[0]
    last = max(changing)
    resume = "clada resume" if is_last else f"clada resume {last}"
    parts = f"run {last}: {len(done)} of {len(done) + len(rest)} done"
    raise _again(f"already applied in part ({parts}). Continue: {resume}. Start over: --again")


def _were_put_back(store: Store, runs: Sequence[RecordedRun | None]) -> bool:
    """Whether the files that runs changed are as before: put back by the user, or in a new directory."""
    from clada.world.files.workspace import Workspace
    from clada.world.record.restore import current_state
    from clada.world.record.tree_diff import RunChanges

    journals = [store.journal(run.number) for run in runs if run and not run.commands]
    if len(journals) < len(runs) or not all(map(os.path.exists, journals)):
        return False  # a command may have had other effects, and a run without a journal any
    with RunChanges(journals) as changes, Workspace(store.workspace) as workspace:
        return all(current_state(workspace, each.parts).is_like(each.before) for each in changes.paths)


def _changed_something(run: RecordedRun | None) -> bool:
    """Whether a run may have done something; one that is no longer listed may."""
    return run is None or run.changed > 0 or run.commands


def _again(message: str) -> CladaError:
    return CladaError.of(Error("invalid_operation", message, stage="AGAIN"))


# Documents that were refused before a run began.


def save_refused_report(workspace: str, report: str) -> None:
    """Save the report on a document of which nothing was carried out, until the next run here.

    Errors are ignored, because the report itself was shown.
    """
    if not os.path.isdir(workspace):
        return
    with suppress(OSError, CladaError):
        store = find_store(workspace)
        store.make()
        text = f"{_last_run(store)}\n{report}".encode(errors="surrogateescape")
        aside = f"{_refused_path(store)}.{os.getpid()}"
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(text)
        os.replace(aside, _refused_path(store))


def refused_report(workspace: str) -> str | None:
    """Return the report on the last document, if it was refused; None if a run was recorded since."""
    with suppress(OSError, CladaError):
        store = find_store(workspace)
        with open(_refused_path(store), encoding="utf-8", errors="replace") as file:
            last_run, _, report = file.read().partition("\n")
        return report if last_run == _last_run(store) else None
    return None


def _refused_path(store: Store) -> str:
    return os.path.join(store.path, REFUSED)


def _last_run(store: Store) -> str:
    """Return a text that changes with each run, and differs between the workspaces of a repository."""
    return f"{history.last_number(store) if store.exists else 0} {store.prefix!r}"
