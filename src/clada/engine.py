"""The engine: carries out a plan in a world, block by block, and says what came of each operation."""

from __future__ import annotations

import time

from clada.errors import Error, Trouble, unforeseen
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
        self._waiting: list[tuple[int, Task]] = []
        self._ended: list[list[Task]] = [[] for _ in plan.blocks]
        self._failed: set[int] = set()  # blocks

    def run(self) -> tuple[BlockReport, ...]:
        """Execute the valid blocks, each by itself; in a block, nothing after the first failure."""
        index = 0
        for number, block in enumerate(self.plan.blocks):
            valid = block.valid
            if not valid and not block.implicit:
                self._settle()
                self.emit(BlockSkipped(str(number + 1)))
            for position, item in enumerate(block.operations):
                label = self._label(number, block, position, index)
                try:
                    outcome, details = self._outcome(number, block, item, label, valid=valid)
                except Exception as bug:  # noqa: BLE001 (whatever it is, there is a report of each task)
                    outcome, details = Failed(unforeseen(bug)), {}
                path: str | None = getattr(item, "path", None)
                task = Task(label, index, item.name, item.line, item.target, path, outcome, **details)
                if isinstance(outcome, Done) and outcome.held:  # its file is not written yet
                    self._waiting.append((number, task))
                else:
                    self._settle()
                    self._report(number, task)
                index += 1
        self._settle()
        return tuple(
            BlockReport(number, str(number + 1), block.implicit, block.valid, tuple(tasks))
            for number, (block, tasks) in enumerate(zip(self.plan.blocks, self._ended, strict=True))
        )

    def _label(self, number: int, block: Block, position: int, index: int) -> str:
        """Return the label of a task, as its notation numbers tasks."""
        if self.notation.numbers_through:
            return str(index + 1)
        return str(number + 1) if block.implicit else f"{number + 1}.{position + 1}"

    def _outcome(
        self, number: int, block: Block, item: Operation | Invalid, label: str, *, valid: bool
    ) -> tuple[Outcome, dict[str, Any]]:
        """Carry out an operation, unless something speaks against it; return what came of it, and how."""
        if isinstance(item, Invalid):
            return Failed(_error_of(item, with_lines=self.notation.problems_name_lines)), {"invalid": True}
        if not valid:
            return Skipped(SIBLING), {}
        if self._waiting:
            last = self._waiting[-1][1]
            if (last.operation, last.target) != (item.name, item.holds):
                self._settle()
        reason = EARLIER if number in self._failed else self.world.halted()
        if reason:
            return Skipped(reason), {}
        self.emit(TaskStarted(label, item.name, item.target))
        world = self.world
        world.begin(label)
        start = time.perf_counter()
        try:
            outcome = item.apply(world)
        except Trouble as trouble:
            outcome = Failed(trouble.error)
        except Exception as bug:  # noqa: BLE001 (a bug in one operation loses nothing else)
            outcome = Failed(unforeseen(bug))
        if block.version in self.notation.search_not_found_versions:
            outcome = _by_older_name(outcome, item)
        return outcome, {
            "duration": time.perf_counter() - start,
            "confinement": world.confinement,
            "output": tuple(world.output),
            "truncated": world.truncated,
        }

    def _settle(self) -> None:
        """Write what is held, if anything is; where that fails, the tasks that wait have failed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        failed = None
        try:
            self.world.files.flush()
        except Trouble as trouble:
            failed = trouble.error
        except Exception as bug:  # noqa: BLE001 (as above)
            failed = unforeseen(bug)
        for number, task in waiting:
            self._report(number, task.replace(outcome=Failed(failed)) if failed else task)

    def _report(self, number: int, task: Task) -> None:
        if isinstance(task.outcome, Failed):
            self._failed.add(number)
        event = TaskEnded(task)
        self._ended[number].append(task)
        self.emit(event)


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
