"""The values that pass from stage to stage: what a document asks for, and what came of it."""

from __future__ import annotations

from clada.problems import Error, Problem
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
    lines: tuple[int, ...] = ()
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Failed(Value):
    """An operation that was tried, or could not be; with what it had changed by then."""

    error: Error
    target: str | None = None
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Skipped(Value):
    """An operation that was not tried."""

    reason: str


Outcome = Done | Failed | Skipped
