"""The engine: carries out a plan in a world, block by block, and says what came of each operation."""

from __future__ import annotations

import time

from clada.errors import Error, Trouble, system_words
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.errors import Problem
    from clada.operations import World

HELD = ("edited", "appended")  # what is done to files in memory first
EARLIER = "earlier task failed"
SIBLING = "block has validation errors"
# Blocks of these versions, of CML and of JSON and TOML after it, call an edit that found nothing by its older
# name; CSL has numbers of its own.
SEARCH_NOT_FOUND = ("1.0", "1.0.0")


class Engine:
    """One run through a plan.

    Edits of one file in a row, and additions to it, are held in memory. Their tasks wait, and end when the
    file is written: before anything else could look at it. So nothing is called a success that did not reach
    the disk.
    """

    def __init__(self, plan: Plan, world: World) -> None:
        self.plan, self.world, self.emit = plan, world, world.emit
        self._index = 0  # of the next task, through the document
        self._waiting: list[tuple[int, Task]] = []
        self._ended: list[list[Task]] = [[] for _ in plan.blocks]
        self._failed: set[int] = set()  # blocks

    def run(self) -> tuple[BlockReport, ...]:
        """Execute the valid blocks, each by itself; in a block, nothing after the first failure."""
        for number, block in enumerate(self.plan.blocks):
            if block.valid:
                self._execute(number, block)
            else:
                self._refuse(number, block)
        self._settle()
        return tuple(
            BlockReport(number, str(number + 1), block.implicit, block.valid, tuple(tasks))
            for number, (block, tasks) in enumerate(zip(self.plan.blocks, self._ended, strict=True))
        )

    def _execute(self, number: int, block: Block) -> None:
        for position, operation in enumerate(block.operations):
            label = self._label(number, block, position)
            if not self._joins(operation):
                self._settle()
            reason = EARLIER if number in self._failed else self.world.halted()
            if reason:
                self._end(number, self._task(label, operation, Skipped(reason)))
            else:
                self._end(number, self._attempt(label, operation, block.version))

    def _refuse(self, number: int, block: Block) -> None:
        self._settle()
        if not block.implicit:
            self.emit(BlockSkipped(str(number + 1)))
        for position, operation in enumerate(block.operations):
            label, invalid = self._label(number, block, position), bool(operation.problems)
            outcome = _invalid(operation, self.plan.notation)
            self._end(number, self._task(label, operation, outcome, invalid=invalid))

    def _label(self, number: int, block: Block, position: int) -> str:
        """Return the label of the next task: in CML numbered through the document."""
        if self.plan.notation == "cml":
            return str(self._index + 1)
        return str(number + 1) if block.implicit else f"{number + 1}.{position + 1}"

    def _task(self, label: str, operation: Operation, outcome: Outcome, **rest: Any) -> Task:
        """Return the next task, now that its outcome is known."""
        index = self._index
        self._index += 1
        named = target(operation.name, operation.fields)
        return Task(label, index, operation.name, operation.line, named, outcome, **rest)

    def _joins(self, operation: Operation) -> bool:
        """Whether the operation is one more of its kind for the file whose tasks wait."""
        if not self._waiting:
            return False
        last = self._waiting[-1][1]
        fields, kind = operation.fields, (last.operation, last.target)
        return (operation.name, fields.get("path")) == kind and fields.get("append") is not False

    def _attempt(self, label: str, operation: Operation, version: str | None) -> Task:
        self.emit(Started(label, operation.name, target(operation.name, operation.fields)))
        self.world.begin(label)
        start = time.perf_counter()
        outcome = self._apply(operation)
        if version in SEARCH_NOT_FOUND and self.plan.notation != "csl":
            outcome = _by_older_name(outcome, operation)
        return self._task(
            label,
            operation,
            outcome,
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

    def _end(self, number: int, task: Task) -> None:
        """Report a task, after those that wait; one whose file is not written yet waits itself."""
        if isinstance(task.outcome, Done) and task.outcome.how in HELD:
            self._waiting.append((number, task))
            return
        self._settle()
        self._report(number, task)

    def _settle(self) -> None:
        """Write what is held; where that fails, the tasks that wait have failed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        failed = self._flush()
        for number, task in waiting:
            self._report(number, task.replace(outcome=Failed(failed)) if failed else task)

    def _flush(self) -> Error | None:
        try:
            self.world.files.flush()
        except Trouble as trouble:
            return trouble.error
        except Exception as bug:  # noqa: BLE001 (as above)
            return _internal(bug)
        return None

    def _report(self, number: int, task: Task) -> None:
        if task.status == "error":
            self._failed.add(number)
        self._ended[number].append(task)
        self.emit(Ended(task))


def _invalid(operation: Operation, notation: str | None) -> Outcome:
    if not operation.problems:
        return Skipped(SIBLING)
    with_lines = notation in ("json", "toml")  # the words of CSL and CML are specified without
    messages = "; ".join(_messages(operation.problems, with_lines=with_lines))
    return Failed(Error(operation.problems[0].type, messages))


def _messages(problems: Sequence[Problem], *, with_lines: bool) -> Iterator[str]:
    line = None
    for problem in problems:
        is_named = with_lines and problem.line != line
        line = problem.line
        yield f"Line {line}: {problem.message}" if is_named else problem.message


def _by_older_name(outcome: Outcome, operation: Operation) -> Outcome:
    if not (isinstance(outcome, Failed) and outcome.error.type == "match_count_mismatch"):
        return outcome
    if outcome.error.found:
        return outcome
    fields = operation.fields
    first = fields.get("search", fields.get("search_start", "")).partition("\n")[0]
    message = f'No match for "{first}" in {fields["path"]}'
    return outcome.replace(error=outcome.error.replace(type="search_not_found", message=message))


def _internal(bug: Exception) -> Error:
    """Return the error of what nobody foresaw: what the system refused, or else a bug."""
    import traceback

    if isinstance(bug, OSError | MemoryError):
        trace = "".join(traceback.format_exception(bug))
        return Error("io_error", system_words(bug), traceback=trace)
    if isinstance(bug, UnicodeEncodeError) and bug.encoding != "utf-8":
        return Error(
            "io_error", f"this Python cannot name it in {bug.encoding}", "start it with python -X utf8"
        )
    message = f"internal error: {type(bug).__name__}: {bug}"
    hint = "this is a bug in clada: --error-detail=debug shows where"
    return Error("io_error", message, hint, traceback="".join(traceback.format_exception(bug)))
