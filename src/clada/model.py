"""The values that pass from stage to stage: operations, plans, outcomes, tasks and events."""

from __future__ import annotations

from clada.errors import Error, Problem, shortened
from clada.exit_codes import DONE, exit_code
from clada.values import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from abc import abstractmethod
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from clada.grammar import Field
    from clada.public_types import BlockStatus, NotationName, Status
    from clada.world.world import World

PLAN_SCHEMA = "clada.plan/1"
NO_ATTRIBUTES: Mapping[str, str] = {}


class Phrases(Value):
    """The words of a status line for one result, after a run and in a plan: tagged line, sentence."""

    done: tuple[str, str]
    planned: tuple[str, str]


UNCHANGED = Phrases(*[("{target} (unchanged)", "{target} unchanged")] * 2)


class Item(Value):
    """Part of a block: its position in the document, and its unknown attributes."""

    line: int
    span: tuple[int, int]  # in Plan.source
    attributes: Mapping[str, str]


class Operation(Item):
    """Base class of all operations. Each kind is a module of its own in `operations`."""

    name: ClassVar[str]  # in plans and reports
    fields: ClassVar[tuple[Field, ...]]  # in the order in which missing and wrong ones are reported
    phrases: ClassVar[Mapping[str, Phrases]]  # for status lines, by result
    details_title: ClassVar[str] = "what the file has:"
    in_part: ClassVar[str] = ""  # result if only some hunks were applied; "" if that is not possible
    is_part: ClassVar[bool] = False  # the user has left out or edited some of its hunks
    is_command: ClassVar[bool] = False  # its target is a command
    only_its_paths: ClassVar[bool] = False  # it changes no other files than `paths`
    changes_files: ClassVar[bool] = True  # it may
    problems: ClassVar[tuple[Problem, ...]] = ()

    if TYPE_CHECKING:

        @abstractmethod
        def apply(self, world: World) -> Outcome:
            """Execute it; raise CladaError on failure."""

    @classmethod
    def from_fields(
        cls, line: int, span: tuple[int, int], attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> Self:
        """Make the operation from the values of its fields, by their names in plans."""
        return cls(line, span, attributes, **values)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files that it changes, or reads."""
        named = self.values()
        return tuple(named[field.name] for field in self.fields if field.kind == "path" and field.required)

    @property
    def target(self) -> str:
        """Its paths or command, for status lines."""
        return " -> ".join(self.paths)

    @property
    def holds(self) -> str | None:
        """The path of the file whose new content stays in memory until it is flushed."""
        return None

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans; optional ones only if they are set."""
        unset = type(self).__field_defaults__
        values = ((field, getattr(self, field.name)) for field in self.fields)
        return {
            field.name: value
            for field, value in values
            if value is not None
            and (field.required or field.default is not None or value != unset.get(field.name))
        }


class Invalid(Item):
    """An operation that is not valid: the fields that could be read, and its problems."""

    name: str
    fields: Mapping[str, Any]
    problems: tuple[Problem, ...]
    dialect: str = ""

    @property
    def target(self) -> str:
        """Its path or command; empty if it has neither."""
        if "from" in self.fields or "to" in self.fields:
            return " -> ".join(self.fields[name] for name in ("from", "to") if name in self.fields)
        return str(self.fields.get("path", self.fields.get("command", "")))

    @property
    def path(self) -> str | None:
        """Its path, if it has one."""
        return self.fields.get("path")

    def values(self) -> dict[str, Any]:
        """Return the fields that could be read."""
        return dict(self.fields)


def dialect_of(item: Operation | Invalid) -> str:
    """Return the dialect that an operation was read from; "" for CSL, CML, JSON and TOML."""
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
    attributes: Mapping[str, str] = {}  # unknown attributes
    atomic: bool = False  # executed completely, or not at all

    @property
    def valid(self) -> bool:
        """Whether all its operations are valid. If not, none is executed."""
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
    """A part of the answer that looks like an operation and is not executed."""

    line: int
    what: str  # for example "search/replace block"
    why: str  # for example "the answer is in JSON"

    @property
    def text(self) -> str:
        """The line for reports."""
        return f"not applied: {self.what} at line {self.line} ({self.why})"


class Plan(Value):
    """A parsed and validated document. With a fatal problem, `blocks` has the complete blocks before it."""

    notation: NotationName | None
    blocks: tuple[Block, ...] = ()
    fatal: Problem | None = None
    notes: tuple[str, ...] = ()
    source: bytes = b""
    atomic: bool = False  # whether one of its blocks is
    left_out: Mapping[int, str] = {}  # reasons why operations are not executed, by index
    not_applied: tuple[NotApplied, ...] = ()

    @property
    def operations(self) -> tuple[Operation | Invalid, ...]:
        """The operations of all blocks, valid or not, in document order."""
        return tuple(item for block in self.blocks for item in block.operations)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of its operations, in document order."""
        return tuple(problem for item in self.operations for problem in item.problems)

    @property
    def ok(self) -> bool:
        """Whether there are operations, and all of them are valid."""
        return self.exit_code == DONE

    @property
    def exit_code(self) -> int:
        """The exit code of `clada parse`."""
        failed = self.fatal or self.not_applied or not all(block.valid for block in self.blocks)
        return exit_code(failed=bool(failed), has_operations=self.has_operations)

    @property
    def has_operations(self) -> bool:
        """Whether there are operations, valid or not."""
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
            **({"not_applied": [fields_of(each) for each in self.not_applied]} if self.not_applied else {}),
        }


def _pick(value: Value, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


class Change(Value):
    """A change of one path: created, overwritten, appended, edited, moved or removed."""

    path: str
    how: str


EDITED = "edited by the user"  # remark on an operation of which the user changed hunks before it was run
WAS_READ_ONLY = "was read-only"  # remark on a file without write permission that was replaced
MERGED = "merged: "  # begins a remark on the version that a merged edit was written for
BY_USER = "by the user"  # ends remarks on what the user has changed in an operation


class Done(Value):
    """The outcome of an operation that succeeded."""

    how: str  # created, overwritten, appended, unchanged; edited; moved; removed; read; ran
    target: str
    bytes: int | None = None
    count: int | None = None  # replacements
    lines: tuple[int, ...] = ()
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()
    held: bool = False  # the new content is still in memory
    remarks: tuple[str, ...] = ()  # for example "matched but for indentation"
    planned: bool = False  # in a dry run: nothing was changed

    @property
    def is_users(self) -> bool:
        """Whether the user has changed the operation: its new text, or its place."""
        return any(remark.endswith(BY_USER) for remark in self.remarks)


class Failed(Value):
    """The outcome of an operation that failed, with what it changed before."""

    error: Error
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


class Skipped(Value):
    """An operation that was not tried."""

    reason: str
    left_out: bool = False  # on purpose, which is not a failure
    needs_approval: str | None = None  # why a person would have to approve it
    done_in: int = 0  # number of the resumed run that executed it


class RolledBack(Value):
    """The outcome of an operation that was rolled back, because another of its atomic part failed."""

    done: Done


Outcome = Done | Failed | Skipped | RolledBack


STATUSES: dict[type, Status] = {
    Done: "success",
    Failed: "error",
    Skipped: "skipped",
    RolledBack: "rolled_back",
}


class Task(Value):
    """One operation in a report, with its outcome."""

    label: str  # in status lines: N, or N.M in a block; in CML counted through the document
    index: int  # in the document, from 0
    operation: str  # its name in plans
    line: int
    target: str  # its path or command
    path: str | None  # of an operation on one path
    outcome: Outcome
    duration: float = 0.0
    invalid: bool = False  # not executed, because it is not valid
    confinement: str | None = None
    output: tuple[str | None, ...] = ()  # of its commands; None where it was truncated
    truncated: bool = False
    dialect: str = ""
    is_part: bool = False  # the user has left out or edited some of its hunks

    @property
    def is_merged(self) -> bool:
        """Whether it was merged with changes that the model has not seen."""
        return isinstance(self.outcome, Done) and any(
            text.startswith(MERGED) for text in self.outcome.remarks
        )

    @property
    def is_edited(self) -> bool:
        """Whether the user changed some of its hunks before it was run."""
        return isinstance(self.outcome, Done) and EDITED in self.outcome.remarks

    @property
    def status(self) -> Status:
        """Return success, planned, error, skipped or rolled_back."""
        if isinstance(self.outcome, Done) and self.outcome.planned:
            return "planned"
        return STATUSES[type(self.outcome)]

    def shortened(self) -> Task:
        """Return the task with its long texts cut, for use when memory is short."""
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
    def ok(self) -> bool:
        """Whether it succeeded, or was left out on purpose."""
        return isinstance(self.outcome, Done) or (isinstance(self.outcome, Skipped) and self.outcome.left_out)

    @property
    def done_in(self) -> int:
        """Number of the resumed run that executed it; 0 if this run did."""
        return self.outcome.done_in if isinstance(self.outcome, Skipped) else 0

    @property
    def error(self) -> Error | None:
        """Return why it failed, if it did."""
        return self.outcome.error if isinstance(self.outcome, Failed) else None


class BlockReport(Value):
    """The tasks of one block, with its status."""

    index: int
    label: str
    implicit: bool
    valid: bool
    tasks: tuple[Task, ...]
    dry_run: bool = False

    @property
    def status(self) -> BlockStatus:
        """Return success, planned or failed."""
        if not all(task.ok for task in self.tasks):
            return "failed"
        return "planned" if self.dry_run else "success"


class TaskStarted(Value):
    """Event: a task begins."""

    label: str
    operation: str
    target: str


class Output(Value):
    """Event: a command printed lines. Control characters are escaped."""

    label: str
    lines: tuple[str, ...]


def output_prefix(label: str) -> str:
    """Return the prefix of each output line of a command."""
    return f"[task-{label}:exec] "


class OutputTruncated(Value):
    """Event: a command printed more than is kept."""

    label: str


class TaskEnded(Value):
    """Event: a task has its outcome."""

    task: Task


class BlockSkipped(Value):
    """Event: a block is not executed, because it has invalid operations."""

    label: str


class Note(Value):
    """Event: a note for the user, which is in the report too."""

    text: str


Event = TaskStarted | Output | OutputTruncated | TaskEnded | BlockSkipped | Note
