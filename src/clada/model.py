"""The values that pass from stage to stage: what a document asks for, and what came of it."""

from __future__ import annotations

from clada.errors import Error, Problem
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PLAN_SCHEMA = "clada.plan/1"


class Operation(Value):
    """One operation of a document: its fields under the names of `grammar`, and what is wrong with it."""

    name: str
    line: int
    fields: Mapping[str, Any]
    attributes: Mapping[str, str]
    problems: tuple[Problem, ...] = ()
    span: tuple[int, int] = (0, 0)  # where it stands in Plan.source

    def to_dict(self) -> dict[str, Any]:
        """Return the operation as `clada parse` prints it."""
        shown: dict[str, Any] = {"operation": self.name, "line": self.line, **self.fields}
        if self.attributes:
            shown["attributes"] = dict(self.attributes)
        return shown


class Block(Value):
    """Operations that belong together; a standalone operation is an implicit block of one."""

    line: int
    version: str | None
    implicit: bool
    operations: tuple[Operation, ...]

    @property
    def valid(self) -> bool:
        """Whether every operation in it can be executed: else none is."""
        return not any(operation.problems for operation in self.operations)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as `clada parse` prints it."""
        return {
            "line": self.line,
            "version": self.version,
            "implicit": self.implicit,
            "operations": [operation.to_dict() for operation in self.operations],
        }


class Plan(Value):
    """A parsed and validated document. With a fatal problem, blocks hold what was complete before it."""

    notation: str | None
    blocks: tuple[Block, ...] = ()
    fatal: Problem | None = None
    notes: tuple[str, ...] = ()
    source: bytes = b""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with single operations, in the order of the document."""
        return tuple(
            problem
            for block in self.blocks
            for operation in block.operations
            for problem in operation.problems
        )

    @property
    def ok(self) -> bool:
        """Whether everything in the document can be executed."""
        return self.fatal is None and all(block.valid for block in self.blocks)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as `clada parse` prints it."""
        return {
            "schema": PLAN_SCHEMA,
            "notation": self.notation,
            "fatal": _pick(self.fatal, "type", "line", "column", "message") if self.fatal else None,
            "problems": [
                _pick(problem, "line", "operation", "type", "message", "field", "block_line")
                for problem in self.problems
            ],
            "blocks": [block.to_dict() for block in self.blocks],
        }


def _pick(value: Value, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


class Change(Value):
    """One change that was made to the workspace: created, overwritten, appended, edited, moved, removed."""

    path: str
    how: str


class Done(Value):
    """An operation that was carried out, with what its status line says of it."""

    how: str  # created, overwritten, appended, unchanged; edited; moved; removed; ran
    target: str
    bytes: int | None = None
    count: int | None = None  # replacements
    lines: tuple[int, ...] = ()
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Failed(Value):
    """An operation that was tried, or could not be; with what it had changed by then."""

    error: Error
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Skipped(Value):
    """An operation that was not tried."""

    reason: str
    left_out: bool = False  # on purpose, for a dry run runs no programs: that is no failure


Outcome = Done | Failed | Skipped


class Task(Value):
    """One operation in a report: what it was, and what came of it."""

    label: str  # as in status lines, from 1: N, or N.M in a block; in CML through the document
    index: int  # through the document, from 0
    operation: str  # its name in plans
    line: int
    target: str  # the path, or the command, that a failure names
    outcome: Outcome
    duration: float = 0.0
    invalid: bool = False  # it was not tried, for it is not a valid operation
    confinement: str | None = None
    truncated: bool = False

    @property
    def status(self) -> str:
        """Return success, error or skipped."""
        return {Done: "success", Failed: "error", Skipped: "skipped"}[type(self.outcome)]

    @property
    def fine(self) -> bool:
        """Whether it went as it should."""
        return isinstance(self.outcome, Done) or (isinstance(self.outcome, Skipped) and self.outcome.left_out)

    @property
    def error(self) -> Error | None:
        """Return why it failed, if it did."""
        return self.outcome.error if isinstance(self.outcome, Failed) else None


class BlockReport(Value):
    """How a block went: success or failed, and its tasks."""

    index: int
    label: str
    implicit: bool
    valid: bool
    tasks: tuple[Task, ...]

    @property
    def status(self) -> str:
        """Return success or failed."""
        return "success" if all(task.fine for task in self.tasks) else "failed"


class Report(Value):
    """What came of a document."""

    notation: str | None
    blocks: tuple[BlockReport, ...] = ()
    fatal: Error | None = None
    error: Error | None = None  # of the run as a whole, after its tasks: the post-commit
    commits: Mapping[str, str] = {}
    interrupted: int | None = None  # the signal
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    changes: tuple[tuple[str, bytes | None, bytes | None], ...] = ()  # of a dry run: path, before, after
    # The same for what stands there, as git writes it: 100644, 100755 for a program, 040755 for a directory.
    modes: tuple[tuple[str, str | None, str | None], ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, in the order of the document."""
        return tuple(task for block in self.blocks for task in block.tasks)

    @property
    def ok(self) -> bool:
        """Whether everything succeeded."""
        failed = self.fatal or self.error or self.interrupted
        return not failed and all(task.fine for task in self.tasks)

    def count(self, status: str) -> int:
        """Return how many tasks have this status."""
        return sum(task.status == status for task in self.tasks)


class Started(Value):
    """Event: a task begins."""

    label: str
    operation: str
    target: str


class Output(Value):
    """Event: a command printed a line, which is safe to show."""

    label: str
    line: str


class Truncated(Value):
    """Event: a command printed more than is kept."""

    label: str


class Ended(Value):
    """Event: a task has its outcome."""

    task: Task


class BlockSkipped(Value):
    """Event: a block is not executed, for it has invalid operations."""

    label: str


class Note(Value):
    """Event: something that the person should know; the report has it among its notes."""

    text: str


Event = Started | Output | Truncated | Ended | BlockSkipped | Note
