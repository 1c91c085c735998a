"""The engine: carries out a plan in a world, block by block, and says what came of each operation."""

from __future__ import annotations

import time

from clada.errors import Error, Trouble, system_words
from clada.model import (
    BlockReport,
    BlockSkipped,
    Done,
    Failed,
    Invalid,
    Operation,
    Skipped,
    Task,
    TaskEnded,
    TaskStarted,
)
from clada.notations.registry import NOTATIONS, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.model import Block, Outcome, Plan
    from clada.notations.registry import Notation
    from clada.world.world import World

EARLIER = "earlier task failed"
SIBLING = "block has validation errors"


class Engine:
    """One run through a plan.

    Edits of one file in a row, and additions to it, are held in memory. Their tasks wait, and end when the
    file is written: before anything else could look at it. So nothing is called a success that did not reach
    the disk.
    """

    def __init__(self, plan: Plan, world: World) -> None:
        self.plan, self.world, self.emit = plan, world, world.emit
        self.notation: Notation = NOTATIONS.get(plan.notation or "", UNKNOWN)
        self._index = 0  # of the next task, through the document
        self._waiting: list[tuple[int, Task]] = []
        self._ended: list[list[Task]] = [[] for _ in plan.blocks]
        self._failed: set[int] = set()  # blocks

    def run(self) -> tuple[BlockReport, ...]:
        """Execute the valid blocks, each by itself; in a block, nothing after the first failure."""
        for number, block in enumerate(self.plan.blocks):
            valid = block.valid
            if not valid and not block.implicit:
                self._settle()
                self.emit(BlockSkipped(str(number + 1)))
            for position, item in enumerate(block.operations):
                label = self._label(number, block, position)
                match item:
                    case Invalid():
                        outcome = Failed(_error_of(item, with_lines=self.notation.problems_name_lines))
                        self._end(number, self._task(label, item, outcome, invalid=True))
                    case Operation() if valid:
                        self._take(number, label, item, block.version)
                    case Operation():
                        self._end(number, self._task(label, item, Skipped(SIBLING)))
        self._settle()
        return tuple(
            BlockReport(number, str(number + 1), block.implicit, block.valid, tuple(tasks))
            for number, (block, tasks) in enumerate(zip(self.plan.blocks, self._ended, strict=True))
        )

    def _label(self, number: int, block: Block, position: int) -> str:
        """Return the label of the next task, as its notation numbers tasks."""
        if self.notation.numbers_through:
            return str(self._index + 1)
        return str(number + 1) if block.implicit else f"{number + 1}.{position + 1}"

    def _take(self, number: int, label: str, operation: Operation, version: str | None) -> None:
        """Carry out an operation, unless something speaks against it."""
        if self._waiting:
            last = self._waiting[-1][1]
            if (last.operation, last.target) != (operation.name, operation.holds):
                self._settle()
        reason = EARLIER if number in self._failed else self.world.halted()
        if reason:
            self._end(number, self._task(label, operation, Skipped(reason)))
            return
        self.emit(TaskStarted(label, operation.name, operation.target))
        self.world.begin(label)
        start = time.perf_counter()
        outcome = self._apply(operation)
        if version in self.notation.search_not_found_versions:
            outcome = _by_older_name(outcome, operation)
        self._end(number, self._task(label, operation, outcome, duration=time.perf_counter() - start))

    def _apply(self, operation: Operation) -> Outcome:
        """Apply an operation; a bug in it becomes its error, and loses nothing else."""
        try:
            return operation.apply(self.world)
        except Trouble as trouble:
            return Failed(trouble.error)
        except Exception as bug:  # noqa: BLE001 (the one place where a bug ends)
            return Failed(_internal(bug))

    def _task(self, label: str, item: Operation | Invalid, outcome: Outcome, **rest: Any) -> Task:
        """Return the next task, now that its outcome is known."""
        index, self._index, world = self._index, self._index + 1, self.world
        if "duration" in rest:  # it was tried
            rest |= {
                "confinement": world.confinement,
                "output": tuple(world.output),
                "truncated": world.truncated,
            }
        path: str | None = getattr(item, "path", None)
        return Task(label, index, item.name, item.line, item.target, path, outcome, **rest)

    def _end(self, number: int, task: Task) -> None:
        """Report a task, after those that wait; one whose file is not written yet waits itself."""
        if isinstance(task.outcome, Done) and task.outcome.held:
            self._waiting.append((number, task))
            return
        self._settle()
        self._report(number, task)

    def _settle(self) -> None:
        """Write what is held; where that fails, the tasks that wait have failed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        failed = None
        try:
            self.world.files.flush()
        except Trouble as trouble:
            failed = trouble.error
        except Exception as bug:  # noqa: BLE001 (as above)
            failed = _internal(bug)
        for number, task in waiting:
            self._report(number, task.replace(outcome=Failed(failed)) if failed else task)

    def _report(self, number: int, task: Task) -> None:
        if isinstance(task.outcome, Failed):
            self._failed.add(number)
        self._ended[number].append(task)
        self.emit(TaskEnded(task))


def _error_of(item: Invalid, *, with_lines: bool) -> Error:
    """Return the problems of an operation as one error; a line is named once, where lines are named."""
    messages, line = [], None
    for problem in item.problems:
        is_named = with_lines and problem.line != line
        line = problem.line
        messages.append(f"Line {line}: {problem.message}" if is_named else problem.message)
    return Error(item.problems[0].type, "; ".join(messages))


def _by_older_name(outcome: Outcome, operation: Operation) -> Outcome:
    """Return the outcome in the words of older versions, which call an edit that found nothing otherwise."""
    if not isinstance(outcome, Failed) or outcome.error.searched is None or outcome.error.found:
        return outcome
    first = outcome.error.searched.partition("\n")[0]
    message = f'No match for "{first}" in {operation.target}'
    return outcome.replace(error=outcome.error.replace(type="search_not_found", message=message))


def _internal(bug: Exception) -> Error:
    """Return the error of what nobody foresaw: what the system refused, or else a bug."""
    import traceback

    trace = "".join(traceback.format_exception(bug))
    if isinstance(bug, OSError | MemoryError):
        return Error("io_error", system_words(bug), traceback=trace)
    if isinstance(bug, UnicodeEncodeError) and bug.encoding != "utf-8":
        return Error(
            "io_error", f"this Python cannot name it in {bug.encoding}", "start it with python -X utf8"
        )
    message = f"internal error: {type(bug).__name__}: {bug}"
    hint = "this is a bug in clada: --error-detail=debug shows where"
    return Error("io_error", message, hint, traceback=trace)
