"""The engine: executes a plan block by block and reports the outcome of each operation."""

from __future__ import annotations

import time

from clada.errors import CladaError, Error, unforeseen
from clada.grammar import END_DELIMITER, START_DELIMITER
from clada.model import (
    BlockReport,
    BlockSkipped,
    Done,
    Failed,
    Invalid,
    Operation,
    RolledBack,
    Skipped,
    Task,
    TaskEnded,
    TaskStarted,
    dialect_of,
)
from clada.notations.lookalikes import hint_for_invalid
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.operations.edit import Edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clada.model import Block, Outcome, Plan
    from clada.notations.registry import Notation
    from clada.world.world import Merging, World

    # How a task went: duration, whether it is invalid, its confinement, its output, whether that was cut off.
    Course = tuple[float, bool, str | None, tuple[str | None, ...], bool]

NOT_TRIED: Course = (0.0, False, None, (), False)
INVALID_ITEM: Course = (0.0, True, None, (), False)
RUN = "run"  # the operation that can change any path
EARLIER = "earlier task failed"
SIBLING = "block has validation errors"
MOST_SUGGESTIONS = 10  # "did you mean" hints in one run, because each search walks the tree
MOST_REPAIRS = 20  # failed edits in one run for which corrected blocks are made
DELIMITERS = (START_DELIMITER, END_DELIMITER)  # that repairs are written with
INVALID = "document has validation errors"  # of atomic documents


class Engine:
    """One run through a plan.

    Consecutive edits of one file are held in memory and written together. Their tasks are reported after the
    write, so that a success is always on disk. The tasks of an atomic block or document are reported at its
    end, because each may still be rolled back.
    """

    def __init__(
        self,
        plan: Plan,
        world: World,
        left_out: Mapping[int, Skipped] | None = None,
        finish: Callable[[list[Task]], bool] | None = None,
    ) -> None:
        """Take a plan, and the outcomes of the tasks that are not executed, by their index.

        `finish` is called after the last task, if one has succeeded; all are rolled back if it returns False.
        """
        self._finish = finish
        self.plan, self.world, self.emit = plan, world, world.emit
        chosen = {index: Skipped(reason, left_out=True) for index, reason in plan.left_out.items()}
        before = left_out or {}
        self.left_out = {**chosen, **before}
        self._not_chosen = plan.left_out.keys() - before.keys()
        self.notation: Notation = NOTATIONS.get(plan.notation or "", UNKNOWN)
        self._waiting: list[tuple[int, Task]] = []
        self._ended: list[list[Task]] = [[] for _ in plan.blocks]
        self._failed: set[int] = set()  # blocks
        self._atomic = world.settings.atomic  # the whole document
        self._refused = self._atomic and not plan.ok  # because a part of it is invalid
        self._unsettled: list[list[tuple[int, Task]]] = []  # tasks of the atomic parts that are running
        self._suggestions = MOST_SUGGESTIONS  # still allowed
        self._repairs = MOST_REPAIRS  # the same
        settings = world.settings
        self._has_own_markers = (settings.start_delimiter, settings.end_delimiter) != DELIMITERS
        self.error: Error | None = None  # why a rollback was not complete
        world.merging = _load_merging

    def run(self) -> tuple[BlockReport, ...]:
        """Execute the valid blocks, each by itself; in a block, nothing after the first failure."""
        index = 0
        is_one = self._atomic or self._finish is not None  # the document is rolled back as a whole
        whole: Any = self._begin_atomic() if is_one else None
        for number, block in enumerate(self.plan.blocks):
            is_part = block.atomic and not self._atomic
            mark: Any = self._begin_atomic() if is_part else None
            valid = block.valid
            if not valid and not block.implicit:
                self._settle()
                self.emit(BlockSkipped(str(number + 1)))
            for position, item in enumerate(block.operations):
                own = str(number + 1) if block.implicit else f"{number + 1}.{position + 1}"
                label = str(index + 1) if self.notation.numbers_through else own
                self.world.position = index
                task = self._run_item(number, block, item, label, valid=valid)
                if isinstance(task.outcome, Done) and task.outcome.held:  # its file is not written yet
                    self._waiting.append((number, task))
                else:
                    self._settle((number, task))
                index += 1
            if is_part:
                self._end_atomic(mark)
        self._settle()
        if is_one:
            self._end_atomic(whole, is_whole=True)
        dry_run = self.world.settings.dry_run
        return tuple(
            BlockReport(number, str(number + 1), block.implicit, block.valid, tuple(tasks), dry_run)
            for number, (block, tasks) in enumerate(zip(self.plan.blocks, self._ended, strict=True))
        )

    def _run_item(
        self, number: int, block: Block, item: Operation | Invalid, label: str, *, valid: bool
    ) -> Task:
        """Execute an operation unless it was left out or must be skipped; return its task."""
        index, course = self.world.position, NOT_TRIED
        outcome: Outcome
        try:
            if index in self.left_out:
                outcome = self.left_out[index]
                self._note_done_before(item)
            else:
                outcome, course = self._outcome(number, block, item, label, valid=valid)
        except Exception as bug:  # noqa: BLE001 (every task is reported)
            outcome = Failed(unforeseen(bug))
        path, is_part = getattr(item, "path", None), getattr(item, "is_part", False)
        return Task(
            label, index, item.name, item.line, item.target, path, outcome, *course, dialect_of(item),
            is_part or index in self._not_chosen,
        )  # fmt: skip

    def _note_done_before(self, item: Operation | Invalid) -> None:
        """Note an operation of the resumed run for its files: edits that are merged come after it."""
        skipped = self.left_out[self.world.position]
        if skipped.done_in and isinstance(item, Operation) and item.changes_files:
            for path in item.paths:
                self.world.done_before.setdefault(path, []).append(item)

    def _outcome(
        self, number: int, block: Block, item: Operation | Invalid, label: str, *, valid: bool
    ) -> tuple[Outcome, Course]:
        """Execute an operation unless it must be skipped; return its outcome and course."""
        if isinstance(item, Invalid):
            return Failed(_error_of(item, with_lines=self.notation.problems_name_lines)), INVALID_ITEM
        if not valid:
            return Skipped(SIBLING), NOT_TRIED
        if self._waiting:
            last = self._waiting[-1][1]
            if last.target != item.holds or last.operation != item.name:
                self._settle()
        if self._refused:
            return Skipped(INVALID), NOT_TRIED
        failed = number in self._failed or (self._atomic and self._failed)
        reason = EARLIER if failed else self.world.stop_reason()
        if reason:
            return Skipped(reason), NOT_TRIED
        self.emit(TaskStarted(label, item.name, item.target))
        world = self.world
        world.begin(label)
        start = time.perf_counter()
        outcome = self._apply(item)
        if block.version in self.notation.search_not_found_versions:
            outcome = _by_older_name(outcome, item)
        duration = time.perf_counter() - start
        return outcome, (duration, False, world.confinement, tuple(world.output), world.truncated)

    def _apply(self, item: Operation) -> Outcome:
        guard = self.world.files.guard = self.world.autorun
        if self.world.syntax:
            self.world.syntax.before(item.paths)
        try:
            outcome = item.apply(self.world)
        except CladaError as trouble:
            error = self._with_repairs(self._with_hint(trouble.error, item), item)
            return Failed(self._without_secrets(error))
        except Exception as bug:  # noqa: BLE001 (a bug in one operation loses nothing else)
            return Failed(self._without_secrets(unforeseen(bug)))
        finally:
            self.world.files.guard = None  # a rollback does not ask
            remarks = guard.take_remarks(item.target) if guard else ()
            if not item.is_command:  # commands say so themselves
                self.world.note_file_changes()
        if remarks and isinstance(outcome, Done):
            outcome = outcome.replace(remarks=(*outcome.remarks, *remarks))
        if self.world.settings.dry_run and isinstance(outcome, Done):
            return outcome.replace(planned=True, exit_code=None)
        return outcome

    def _settle(self, *ended: tuple[int, Task]) -> None:
        """Write the content that is held in memory, report the tasks that wait for it, then report these.

        If the write fails, the waiting tasks have failed.
        """
        waiting, self._waiting = self._waiting, []
        if waiting:
            try:
                self.world.files.flush()
            except CladaError as trouble:
                waiting = _mark_failed(waiting, trouble.error)
            except Exception as bug:  # noqa: BLE001 (as above)
                waiting = _mark_failed(waiting, unforeseen(bug))
        for number, task in (*waiting, *ended):
            if isinstance(task.outcome, Failed):
                self._failed.add(number)
            if self._unsettled:
                self._unsettled[-1].append((number, task))
                continue
            event = TaskEnded(task)
            self._ended[number].append(task)
            self.emit(event)

    def _without_secrets(self, error: Error) -> Error:
        """Mask the values of secret files in an error that quotes a file."""
        if error.searched is None and not error.nearest and not error.details and not error.traceback:
            return error
        secrets = self.world.secrets
        secrets.refresh()
        return secrets.mask.error(error)

    def _with_hint(self, error: Error, operation: Operation) -> Error:
        """Add a hint: the file that was probably meant, or --root for absolute paths of other tools."""
        is_path = not operation.is_command and ".." not in operation.target  # --root could make it relative
        if error.type == "path_escape" and dialect_of(operation) and is_path:
            return error.replace(hint=f"{error.hint}; --root PREFIX makes paths below PREFIX relative")
        if error.type != "file_not_found" or error.hint or not operation.paths or not self._suggestions:
            return error
        from clada.world.files.path_hints import similar_file

        self._suggestions -= 1
        meant = similar_file(self.world.files, operation.paths[0])
        return error.replace(hint=f"did you mean {meant}?") if meant else error

    def _with_repairs(self, error: Error, item: Operation) -> Error:
        """Add corrected blocks for an edit whose text was not found once, if its place is clear."""
        if error.searched is None or not isinstance(item, Edit) or not self._repairs or self._has_own_markers:
            return error
        from clada.repair import suggest_repairs  # late: only failures need it

        self._repairs -= 1
        try:
            text = self.world.files.text(self.world.files.locate(item.path))
            return error.replace(repairs=suggest_repairs(item, text, error, self.plan.notation or ""))
        except CladaError:
            return error

    def _begin_atomic(self) -> Any:
        """Start an atomic part; return a mark to roll back to."""
        self._settle()
        self._unsettled.append([])
        return self.world.takes_back.mark() if self.world.takes_back else None

    def _end_atomic(self, mark: Any, *, is_whole: bool = False) -> None:
        """End an atomic part: roll it back if a task failed, then report its tasks."""
        self._settle()
        tasks = self._unsettled.pop()
        ok = all(task.ok for _number, task in tasks) or (is_whole and not self._atomic)
        if ok and is_whole and self._finish and any(_may_change(task) for _number, task in tasks):
            ok = self._finish([task for _number, task in tasks])
        remaining: frozenset[str] = frozenset()
        if self.world.takes_back:
            error, remaining = self.world.takes_back.end_mark(mark, keep=ok)
            self.error = error or self.error
        if not ok:
            self.world.note_file_changes()  # the rollback is not a change by the next command
            left = self._not_rolled_back(tasks, remaining)
            tasks = [
                (number, task.replace(outcome=RolledBack(task.outcome)))
                if isinstance(task.outcome, Done) and task.index not in left
                else (number, task)
                for number, task in tasks
            ]
        self._settle(*tasks)

    def _not_rolled_back(self, tasks: list[tuple[int, Task]], remaining: frozenset[str]) -> set[int]:
        """Return the indices of tasks that were not rolled back completely.

        Remaining paths that no operation names are attributed to the commands.
        """
        if not remaining:
            return set()
        items = self.plan.operations
        left, unnamed = set[int](), set(remaining)
        for _number, task in tasks:
            is_done = isinstance(task.outcome, Done)
            own = {path for path in remaining if is_done and self._names(items[task.index], path)}
            unnamed -= own
            left |= {task.index} if own else set()
        return left | {task.index for _number, task in tasks if unnamed and task.operation == RUN}

    def _names(self, item: Operation | Invalid, path: str) -> bool:
        """Whether an operation names a path, something below it, or a directory that it is in."""
        names = item.paths if isinstance(item, Operation) else ()
        located = (f"{'/'.join(self.world.files.locate(name))}/" for name in names)
        return any(name.startswith(f"{path}/") or path.startswith(name) for name in located)


def _load_merging() -> Merging:
    from clada.operations import merge  # late: few edits are merged

    return merge


def _mark_failed(tasks: list[tuple[int, Task]], error: Error) -> list[tuple[int, Task]]:
    return [(number, task.replace(outcome=Failed(error))) for number, task in tasks]


def _error_of(item: Invalid, *, with_lines: bool) -> Error:
    """Return the problems of an operation as one error; a line is named once, where lines are named."""
    messages, line = [], None
    for problem in item.problems:
        is_named = with_lines and problem.line != line
        line = problem.line
        messages.append(f"Line {line}: {problem.message}" if is_named else problem.message)
    return Error(item.problems[0].type, "; ".join(messages), hint_for_invalid(item))


def _by_older_name(outcome: Outcome, operation: Operation) -> Outcome:
    """Return the outcome with the error type that older versions have for an edit that found nothing."""
    if not isinstance(outcome, Failed) or outcome.error.searched is None or outcome.error.found:
        return outcome
    first = outcome.error.searched.partition("\n")[0]
    message = f'No match for "{first}" in {operation.target}'
    return outcome.replace(error=outcome.error.replace(type="search_not_found", message=message))


def _may_change(task: Task) -> bool:
    """Whether a task may have changed files: a read has not."""
    return isinstance(task.outcome, Done) and bool(task.outcome.changes or task.operation == RUN)
