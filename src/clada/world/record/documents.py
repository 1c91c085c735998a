"""How far the runs of a document have come with it: to go on from there, and to do no part of it twice.

Its newest run that was not undone says so: how each of its tasks ended, or in which run before it was done.
"""

from __future__ import annotations

from clada.errors import CladaError, Error
from clada.grammar import read_number
from clada.values import Value
from clada.world.record import history
from clada.world.record.journal import read_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clada.model import Task
    from clada.world.record.history import RecordedRun
    from clada.world.record.store import Store


LEFT_OUT = ("part", "left")  # by choice: not done, and not to be done


class KeptRun(Value):
    """What a run has kept of its document, and of how far it came."""

    run: RecordedRun
    document: bytes
    settings: tuple[str, ...]  # that decide what comes of it: name=value
    statuses: tuple[str, ...]  # of all tasks, as status_to_keep has them; none where it was killed

    @property
    def is_unclear(self) -> bool:
        """Whether nobody noted how far it came, and it may have come somewhere."""
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


def status_to_keep(task: Task) -> str:
    """Return how a task ended: `done 12` if run 12 did it; `part` if not all of it was chosen; `left` out."""
    if task.done_in:
        return f"done {task.done_in}"
    if task.is_part:
        return "success part" if task.status == "success" else "part"
    return "left" if task.ok and task.status != "success" else task.status


def kept_of(store: Store, run: RecordedRun) -> KeptRun:
    """Return what a run has kept."""
    document, settings, statuses = b"", tuple[str, ...](), tuple[str, ...]()
    with read_journal(store.journal(run.number)) as journal:
        for record in journal.records():
            kind, *fields = record.fields
            if kind == "document":
                document, settings = journal.content(record), tuple(fields)
            elif kind == "tasks":
                statuses = tuple(journal.content(record).decode(errors="replace").split("\n"))
    return KeptRun(run, document, settings, statuses)


def undone(runs: Sequence[RecordedRun]) -> set[int]:
    """Return the numbers of those of these runs, the newest first, that were taken back, and not redone."""
    found: set[int] = set()
    for run in runs:
        if run.undoes and run.ended == "ok" and run.number not in found:
            found.add(run.undoes)
    return found


def newest_of(
    store: Store, document: bytes, runs: Sequence[RecordedRun], but: set[int]
) -> RecordedRun | None:
    """Return the newest of these runs that was one of this document, but for those with these numbers."""
    is_of = _is_of(store, document)
    return next((run for run in runs if run.number not in but and is_of(run)), None)


def _is_of(store: Store, document: bytes) -> Callable[[RecordedRun], bool]:
    """Return what tells whether a run was one of this document: one line of its journal is read for that."""

    def is_of(run: RecordedRun) -> bool:
        try:
            journal = read_journal(store.journal(run.number))
        except FileNotFoundError:
            return False  # it was pruned
        with journal:
            return not run.undoes and journal.begins_with(b"document", document)

    return is_of


def refuse_again(store: Store, document: bytes) -> None:
    """Raise if the last run of this document did a part of it, which would be done twice.

    Of a long history the last few hundred runs count, and most did not fail: those cost nothing.
    """
    runs = [run for run in history.runs(store, history.MAX_TAIL) if run.ended != "running"]
    is_of = _is_of(store, document)
    if not document or not any(run.ended != "ok" and is_of(run) for run in runs):
        return
    gone = undone(runs)
    newest = newest_of(store, document, runs, gone)
    if newest is None:
        return
    kept = kept_of(store, newest)
    if kept.is_unclear:
        what = f"run {newest.number} of this was killed"
        raise _again(f"{what}: clada undo {newest.number} takes it back, --again runs all of it")
    by_number = {run.number: run for run in runs}
    done = {number for number in kept.done(gone).values() if _left_a_trace(by_number.get(number))}
    if not done or not kept.rest(gone):
        return
    is_last = is_of(next(run for run in runs if not run.undoes))
    resume = "clada resume" if is_last else f"clada resume {max(done)}"
    raise _again(
        f"parts of this were done in run {max(done)}: {resume} does the rest, --again runs all of it"
    )


def _left_a_trace(run: RecordedRun | None) -> bool:
    """Whether a run may have done what should not be done twice: one so old that it is not known may."""
    return run is None or run.changed > 0 or run.commands


def _again(message: str) -> CladaError:
    return CladaError.of(Error("invalid_operation", message, stage="AGAIN"))
