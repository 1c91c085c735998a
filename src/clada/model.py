"""The values that pass from stage to stage: what a document asks for, and what came of it."""

from __future__ import annotations

from clada.errors import Error, Problem, shortened
from clada.exit_codes import DONE, exit_code
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from abc import abstractmethod
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from clada.grammar import Field
    from clada.world.world import World

PLAN_SCHEMA = "clada.plan/1"
NO_ATTRIBUTES: Mapping[str, str] = {}  # one for all that have none


class Phrases(Value):
    """What a status line says of one result, after the run and in a plan: as a tagged line, as a sentence."""

    done: tuple[str, str]
    planned: tuple[str, str]


UNCHANGED = Phrases(*[("{target} (unchanged)", "{target} unchanged")] * 2)


class Item(Value):
    """What a block consists of: where it stands in the document, and attributes that nobody knows."""

    line: int
    span: tuple[int, int]  # in Plan.source
    attributes: Mapping[str, str]


class Operation(Item):
    """Something to do. Each kind of operation is a subclass, in a module of its own (see `operations`)."""

    name: ClassVar[str]  # in plans and reports
    fields: ClassVar[tuple[Field, ...]]  # in the order in which missing and wrong ones are reported
    phrases: ClassVar[Mapping[str, Phrases]]  # what a status line says, for each result
    details_title: ClassVar[str] = "what the file has:"
    in_part: ClassVar[str] = ""  # what was done if only some hunks of its file were made; else all or none
    is_part: ClassVar[bool] = False  # some of what it was to do was left out by choice
    is_command: ClassVar[bool] = False  # its target is a command, which a plan shows whole
    only_its_paths: ClassVar[bool] = False  # whether it changes nothing but the files that `paths` names
    problems: ClassVar[tuple[Problem, ...]] = ()

    if TYPE_CHECKING:

        @abstractmethod
        def apply(self, world: World) -> Outcome:
            """Carry it out; raise CladaError where that cannot be done."""

    @classmethod
    def from_fields(
        cls, line: int, span: tuple[int, int], attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> Self:
        """Make the operation from the values of its fields, by their names in plans."""
        return cls(line, span, attributes, **values)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it names, of files that it is to change."""
        named = self.values()
        return tuple(named[field.name] for field in self.fields if field.kind == "path" and field.required)

    @property
    def target(self) -> str:
        """Return what a failure names: its paths, or its command."""
        return " -> ".join(self.paths)

    @property
    def holds(self) -> str | None:
        """The path of the file whose new content is held in memory until something else needs it."""
        return None

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans; those without a default of theirs only if set."""
        unset = type(self).field_defaults
        values = ((field, getattr(self, field.name)) for field in self.fields)
        return {
            field.name: value
            for field, value in values
            if value is not None
            and (field.required or field.default is not None or value != unset.get(field.name))
        }


class Invalid(Item):
    """An operation that cannot be carried out: the fields that could be read, and what is wrong with it."""

    name: str
    fields: Mapping[str, Any]
    problems: tuple[Problem, ...]
    dialect: str = ""

    @property
    def target(self) -> str:
        """The path, or the command, that it has; empty where it has neither."""
        if "from" in self.fields or "to" in self.fields:
            return " -> ".join(self.fields[name] for name in ("from", "to") if name in self.fields)
        return str(self.fields.get("path", self.fields.get("command", "")))

    @property
    def path(self) -> str | None:
        """The path that it has."""
        return self.fields.get("path")

    def values(self) -> dict[str, Any]:
        """Return the fields that could be read."""
        return dict(self.fields)


def dialect_of(item: Operation | Invalid) -> str:
    """Return the name of the dialect that an operation was read from; nothing for a notation of our own.

    It is the last field of each operation that dialects can write, and "" where they are not concerned.
    """
    dialect: str = getattr(item, "dialect", "")
    return dialect


def item_to_dict(item: Operation | Invalid) -> dict[str, Any]:
    """Return an operation as `clada parse` prints it."""
    shown: dict[str, Any] = {"operation": item.name, "line": item.line, **item.values()}
    dialect = dialect_of(item)
    if dialect:
        shown["dialect"] = dialect
    if item.attributes:
        shown["attributes"] = dict(item.attributes)
    return shown


class Block(Value):
    """Operations that belong together; a standalone operation is an implicit block of one."""

    line: int
    version: str | None
    implicit: bool
    operations: tuple[Operation | Invalid, ...]
    attributes: Mapping[str, str] = {}  # that nobody knows
    atomic: bool = False  # all of it, or nothing

    @property
    def valid(self) -> bool:
        """Whether every operation in it can be executed: else none is."""
        return not any(item.problems for item in self.operations)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as `clada parse` prints it."""
        return {
            "line": self.line,
            "version": self.version,
            "implicit": self.implicit,
            **({"atomic": True} if self.atomic else {}),
            **({"attributes": dict(self.attributes)} if self.attributes else {}),
            "operations": [item_to_dict(item) for item in self.operations],
        }


class NotApplied(Value):
    """Something that was recognised as an operation, or as a likely one, and is not carried out."""

    line: int
    what: str  # search/replace block
    why: str  # the answer is in JSON

    @property
    def text(self) -> str:
        """Return it as reports say it."""
        return f"not applied: {self.what} at line {self.line} ({self.why})"


class Plan(Value):
    """A parsed and validated document. With a fatal problem, blocks hold what was complete before it."""

    notation: str | None
    blocks: tuple[Block, ...] = ()
    fatal: Problem | None = None
    notes: tuple[str, ...] = ()
    source: bytes = b""
    atomic: bool = False  # whether a block of it is
    left_out: Mapping[int, str] = {}  # operations that are not to be carried out, by their index: why
    not_applied: tuple[NotApplied, ...] = ()  # what stands beside the operations, and looks like one

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with single operations, in the order of the document."""
        return tuple(
            problem for block in self.blocks for item in block.operations for problem in item.problems
        )

    @property
    def ok(self) -> bool:
        """Whether there are operations, and everything in the document can be executed."""
        return self.exit_code == DONE

    @property
    def exit_code(self) -> int:
        """The exit code of `clada parse`."""
        failed = self.fatal or self.not_applied or not all(block.valid for block in self.blocks)
        return exit_code(failed=bool(failed), has_operations=self.has_operations)

    @property
    def has_operations(self) -> bool:
        """Whether there is anything to do, or to complain of."""
        return any(block.operations for block in self.blocks)

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
            **({"not_applied": [each.by_name() for each in self.not_applied]} if self.not_applied else {}),
        }


def _pick(value: Value, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


class Change(Value):
    """One change that was made to the workspace: created, overwritten, appended, edited, moved, removed."""

    path: str
    how: str


WAS_READ_ONLY = "was read-only"  # a remark: its mode lets nobody write the file, and still does


class Done(Value):
    """An operation that was carried out, with what its status line says of it."""

    how: str  # created, overwritten, appended, unchanged; edited; moved; removed; ran
    target: str
    bytes: int | None = None
    count: int | None = None  # replacements
    lines: tuple[int, ...] = ()
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()
    held: bool = False  # the new content is in memory, and not on disk yet
    remarks: tuple[
        str, ...
    ] = ()  # how a search text was found, if not exactly: "matched but for indentation"
    planned: bool = False  # in a dry run: nothing was changed


class Failed(Value):
    """An operation that was tried, or could not be; with what it had changed by then."""

    error: Error
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Skipped(Value):
    """An operation that was not tried."""

    reason: str
    left_out: bool = False  # on purpose, for a dry run runs no programs: that is no failure
    needs_approval: str | None = None  # why a person would have to approve it, if that is so
    done_in: int = 0  # the run before this one that did it, if one is resumed


class RolledBack(Value):
    """An operation that was carried out, and taken back: of all that belongs together, something failed."""

    done: Done


Outcome = Done | Failed | Skipped | RolledBack


STATUSES = {Done: "success", Failed: "error", Skipped: "skipped", RolledBack: "rolled_back"}


class Task(Value):
    """One operation in a report: what it was, and what came of it."""

    label: str  # as in status lines, from 1: N, or N.M in a block; in CML through the document
    index: int  # through the document, from 0
    operation: str  # its name in plans
    line: int
    target: str  # the path, or the command, that a failure names
    path: str | None  # of an operation on one path
    outcome: Outcome
    duration: float = 0.0
    invalid: bool = False  # it was not tried, for it is not a valid operation
    confinement: str | None = None
    output: tuple[str | None, ...] = ()  # what its commands printed; None where it was cut off
    truncated: bool = False
    dialect: str = ""  # that it was read from
    is_part: bool = False  # some of what it was to do was left out by choice

    @property
    def status(self) -> str:
        """Return success, planned, error, skipped or rolled_back."""
        if isinstance(self.outcome, Done) and self.outcome.planned:
            return "planned"
        return STATUSES[type(self.outcome)]

    def shortened(self) -> Task:
        """Return the task without what may be long in it."""
        outcome = self.outcome
        match outcome:
            case Done():
                outcome = outcome.replace(target=shortened(outcome.target))
            case Failed(error=error):
                outcome = outcome.replace(error=Error(error.type, shortened(error.message)))
            case Skipped() | RolledBack():
                pass
        return self.replace(target=shortened(self.target), outcome=outcome)

    @property
    def fine(self) -> bool:
        """Whether it went as it should."""
        return isinstance(self.outcome, Done) or (isinstance(self.outcome, Skipped) and self.outcome.left_out)

    @property
    def done_in(self) -> int:
        """The run before this one that did it, if one is resumed; else 0."""
        return self.outcome.done_in if isinstance(self.outcome, Skipped) else 0

    @property
    def error(self) -> Error | None:
        """Return why it failed, if it did."""
        return self.outcome.error if isinstance(self.outcome, Failed) else None


class BlockReport(Value):
    """How a block went: success, planned or failed, and its tasks."""

    index: int
    label: str
    implicit: bool
    valid: bool
    tasks: tuple[Task, ...]
    dry_run: bool = False

    @property
    def status(self) -> str:
        """Return success, planned or failed."""
        if not all(task.fine for task in self.tasks):
            return "failed"
        return "planned" if self.dry_run else "success"


class TaskStarted(Value):
    """Event: a task begins."""

    label: str
    operation: str
    target: str


class Output(Value):
    """Event: a command printed lines, as many as came at once; they are safe to show."""

    label: str
    lines: tuple[str, ...]


def output_prefix(label: str) -> str:
    """Return what stands before each line that a command printed."""
    return f"[task-{label}:exec] "


class OutputTruncated(Value):
    """Event: a command printed more than is kept."""

    label: str


class TaskEnded(Value):
    """Event: a task has its outcome."""

    task: Task


class BlockSkipped(Value):
    """Event: a block is not executed, for it has invalid operations."""

    label: str


class Note(Value):
    """Event: something that the person should know; the report has it among its notes."""

    text: str


Event = TaskStarted | Output | OutputTruncated | TaskEnded | BlockSkipped | Note
