"""The engine: carries out a plan in a world, block by block, and says what came of each operation."""

from __future__ import annotations

import time

from clada.model import (
    Block,
    BlockReport,
    BlockSkipped,
    Done,
    Ended,
    Failed,
    Operation,
    Outcome,
    Plan,
    Skipped,
    Started,
    Task,
)
from clada.operations import find, target
from clada.problems import Error, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.operations import World

EARLIER = "earlier task failed"
SIBLING = "block has validation errors"
# Blocks of these versions call an edit that found nothing by its older name.
SEARCH_NOT_FOUND = ("1.0", "1.0.0")


class Engine:
    """One run through a plan. Outcomes of edits wait until what they changed is on disk."""

    def __init__(self, plan: Plan, world: World) -> None:
        self.plan, self.world, self.emit = plan, world, world.emit
        self._index = 0  # of the next task, through the document
        self._waiting: list[Task] = []
        self._settled: list[Task] = []

    def run(self) -> tuple[BlockReport, ...]:
        """Execute the valid blocks, each by itself; in a block, nothing after the first failure."""
        return tuple(self._block(number, block) for number, block in enumerate(self.plan.blocks))

    def _block(self, number: int, block: Block) -> BlockReport:
        label = str(number + 1)
        if block.valid:
            self._execute(number, block)
        else:
            self._refuse(number, block)
        self._settle()
        tasks, self._settled = tuple(self._settled), []
        return BlockReport(number, label, block.implicit, block.valid, tasks)

    def _execute(self, number: int, block: Block) -> None:
        failed = False
        for task in self._tasks(number, block):
            operation = block.operations[len(self._settled) + len(self._waiting)]
            reason = EARLIER if failed else self.world.halted()
            if reason:
                self._end(task.but(outcome=Skipped(reason)))
                continue
            ended = self._attempt(task, operation, block.version)
            failed = ended.status == "error"
            self._end(ended)

    def _refuse(self, number: int, block: Block) -> None:
        if not block.implicit:
            self.emit(BlockSkipped(str(number + 1)))
        for task, operation in zip(self._tasks(number, block), block.operations, strict=True):
            self._end(task.but(outcome=_invalid(operation), invalid=bool(operation.problems)))

    def _tasks(self, number: int, block: Block) -> Iterator[Task]:
        """Yield the tasks of a block, with their labels: in CML numbered through the document."""
        for position, operation in enumerate(block.operations):
            if self.plan.notation == "cml":
                label = str(self._index + 1)
            else:
                label = str(number + 1) if block.implicit else f"{number + 1}.{position + 1}"
            named = target(operation.name, operation.fields)
            yield Task(label, self._index, operation.name, operation.line, named, Skipped(""))
            self._index += 1

    def _attempt(self, task: Task, operation: Operation, version: str | None) -> Task:
        if operation.name != "edit":
            self._settle()
        self.emit(Started(task.label, task.operation, task.target))
        self.world.begin(task.label)
        start = time.perf_counter()
        outcome = self._apply(operation)
        if version in SEARCH_NOT_FOUND:
            outcome = _by_older_name(outcome, operation)
        return task.but(
            outcome=outcome,
            duration=time.perf_counter() - start,
            confinement=self.world.confinement,
            truncated=self.world.truncated,
        )

    def _apply(self, operation: Operation) -> Outcome:
        """Apply an operation; a bug in it becomes its error, and loses nothing else."""
        try:
            return find(operation.name)(self.world, operation.fields)
        except Trouble as trouble:
            return Failed(trouble.error)
        except Exception as bug:  # noqa: BLE001 (the one place where a bug ends)
            return Failed(_internal(bug))

    def _end(self, task: Task) -> None:
        """Report a task, after the edits that wait; an edit waits itself."""
        if isinstance(task.outcome, Done) and task.operation == "edit":
            self._waiting.append(task)
            return
        self._settle()
        self._report(task)

    def _settle(self) -> None:
        """Write what edits hold; where that fails, they have failed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        try:
            self.world.files.flush()
        except Trouble as trouble:
            waiting = [task.but(outcome=Failed(trouble.error)) for task in waiting]
        for task in waiting:
            self._report(task)

    def _report(self, task: Task) -> None:
        self._settled.append(task)
        self.emit(Ended(task))


def _invalid(operation: Operation) -> Outcome:
    if not operation.problems:
        return Skipped(SIBLING)
    messages = "; ".join(problem.message for problem in operation.problems)
    return Failed(Error(operation.problems[0].type, messages))


def _by_older_name(outcome: Outcome, operation: Operation) -> Outcome:
    if not (isinstance(outcome, Failed) and outcome.error.type == "match_count_mismatch"):
        return outcome
    if outcome.error.found:
        return outcome
    fields = operation.fields
    first = fields.get("search", fields.get("search_start", "")).partition("\n")[0]
    message = f'No match for "{first}" in {fields["path"]}'
    return outcome.but(error=outcome.error.but(type="search_not_found", message=message))


def _internal(bug: Exception) -> Error:
    import traceback

    message = f"internal error: {type(bug).__name__}: {bug}"
    hint = "this is a bug in clada: --error-detail=debug shows where"
    return Error("io_error", message, hint, traceback="".join(traceback.format_exception(bug)))
