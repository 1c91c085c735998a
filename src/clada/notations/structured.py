"""The common part of JSON and TOML: from tasks with their places to operations, blocks and a plan."""

from __future__ import annotations

from functools import lru_cache

from clada.errors import Problem, cut_off, shortened
from clada.grammar import (
    BLOCK_VERSIONS,
    LARGE_COUNT,
    MAX_COUNT_DIGITS,
    WRONG_COUNT,
    WRONG_LINE,
    WRONG_NUMBER,
    Field,
    choice_complaint,
    path_complaint,
    range_complaint,
)
from clada.model import Block, Invalid, Plan
from clada.notations.reading import LineCounter
from clada.notations.registry import NOTATIONS
from clada.operations import OPERATIONS, find
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.model import Operation
    from clada.public_types import NotationName

    Complaint = tuple[str, str | None, int | None]  # the message; the field as written, and its place, if any

MAX_DEPTH = 32
MAX_TASKS = 100_000
MAX_VALUES = 1_000_000  # in one document: ten for each task

UNKNOWN = "unknown"  # the name of an operation whose action is missing
ALIASES = {"find": "search", "cmd": "command"}
RANGE = {"search_start", "search_end"}
# Where an insertion goes: one of these says it.
WHERE = ("anchors", "at_end", "insert_line")
INSERTION = "an insertion needs 'anchors', 'at_end' or 'insert_line'; else give 'search'"
EMPTY = {
    "search": "Empty search text not allowed",
    "search_start": "Empty search_start text not allowed",
    "search_end": "Empty search_end text not allowed",
    "command": "Empty command not allowed",
}


class Other:
    """A value that no field takes: a list, an object, null, a date."""


OTHER = Other()


class RawTask(Value):
    """One task of a document as it is written: its offsets, and its members, each with its value and offset.

    It has no members if it is not an object. A hunk of an edit has the same form: the value of a field in
    NESTED is a list of them.
    """

    start: int
    end: int
    members: Mapping[str, tuple[Any, int]] | None


NESTED, LISTS = ("hunks",), ("anchors",)  # fields that are lists of objects, and of texts

# Reasons why a document cannot be read that change its error message.
ATOMIC = "atomic"  # the member of a block that is true or false
CUT, LIMIT, VERSION = "cut", "limit", "version"


class MalformedError(Exception):
    """Ends the reading of a document that cannot be read reliably."""

    def __init__(self, message: str, offset: int, why: str = "") -> None:
        super().__init__(message)
        self.message, self.offset, self.why = message, offset, why


def too_many(count: int, limit: int, what: str, offset: int) -> None:
    """Refuse a document that would cost too much time or memory."""
    if count > limit:
        raise MalformedError(f"More than {limit:,} {what}", offset, LIMIT)


def too_deep(depth: int, offset: int) -> None:
    """Refuse values that are nested too deep."""
    if depth > MAX_DEPTH:
        raise MalformedError(f"Nested more than {MAX_DEPTH} deep", offset, LIMIT)


def read_draft(notation: NotationName, data: bytes, read: Callable[[bytes, Draft], None]) -> Plan:
    """Return the plan that `read` drafts; if it raises MalformedError, what was complete before."""
    draft = Draft(notation, data)
    try:
        read(data, draft)
    except MalformedError as error:
        return draft.plan(error)
    return draft.plan()


class Draft:
    """A plan in the making: the blocks so far, and the operations of the open one."""

    def __init__(self, notation: NotationName, data: bytes) -> None:
        self.notation, self.data = notation, data
        self._lines = LineCounter(data)
        self._blocks: list[Block] = []
        self._block_line: int | None = None
        self._operations: list[Operation | Invalid] = []
        self._tasks = 0

    def open_block(self, offset: int) -> None:
        """Begin a block at this place."""
        too_many(len(self._blocks) + 1, MAX_TASKS, "blocks", offset)
        self._block_line = self._lines.line(offset)

    def close_block(self, version: str | None, others: Mapping[str, Any]) -> None:
        """End the open block; its other members that are texts become attributes."""
        texts = {name: value for name, value in others.items() if isinstance(value, str)}
        if ATOMIC in others:
            texts[ATOMIC] = "true" if others[ATOMIC] is True else "false" if others[ATOMIC] is False else ""
        operations = tuple(self._operations)
        self._blocks.append(Block(self._block_line or 1, version, False, operations, texts))
        self._block_line, self._operations = None, []

    def expect_task(self, offset: int) -> None:
        """Refuse a task too many, before it is read."""
        self._tasks += 1
        too_many(self._tasks, MAX_TASKS, "tasks", offset)

    def add(self, task: RawTask) -> None:
        """Add a task to the open block."""
        self._operations.append(self._operation(task))

    def add_standalone(self, task: RawTask, version: str | None) -> None:
        """Add a task that is a block of its own."""
        operation = self._operation(task)
        self._blocks.append(Block(operation.line, version, True, (operation,)))

    def _operation(self, task: RawTask) -> Operation | Invalid:
        return operation(task, self.data, self._lines.line(task.start), self._block_line)

    def plan(self, error: MalformedError | None = None) -> Plan:
        """Return the plan; with an error, of the operations that were complete before it."""
        if self._operations:
            self.close_block(None, {})
        fatal = self._fatal(error) if error else None
        return Plan(self.notation, tuple(self._blocks), fatal, source=self.data)

    def _fatal(self, error: MalformedError) -> Problem:
        line = self._lines.line(error.offset)
        if error.why == VERSION:
            return Problem("unsupported_version", f"Line {line}: {error.message}", line)
        column = self._lines.column(error.offset)
        clause = cut_off(sum(len(block.operations) for block in self._blocks)) if error.why == CUT else ""
        message = f"Line {line}, column {column}: {error.message}{clause}"
        return Problem(NOTATIONS[self.notation].error_type, message, line, column)


def check_version(value: Any, offset: int) -> str:
    """Return a block's version, if it is one of those there are."""
    if isinstance(value, str) and value in BLOCK_VERSIONS:
        return value
    if isinstance(value, str):
        shown = shortened(value)
    else:
        shown = f"{'a value' if isinstance(value, Other) else str(value).lower()} (must be a string)"
    raise MalformedError(f"Unsupported version: {shown}", offset, VERSION)


def operation(task: RawTask, data: bytes, line: int, block_line: int | None) -> Operation | Invalid:
    """Make an operation of a task; if something is wrong with it, an invalid one with all of that."""
    members = task.members or {}
    name, complaints = _action(task)
    kind = find(name)
    given = _Given(members, kind.fields if kind else _any_fields(tuple(OPERATIONS)) if members else ())
    fields = given.fields()
    if kind:
        complaints += given.complaints
        _number_lines(fields, data, task.start, line)
        if not complaints:
            return kind.from_fields(line, (task.start, task.end), given.others, fields)
    problems = []
    for message, field, nested in complaints:
        place = members[field][1] if field and field in members else task.start
        at = line + data.count(b"\n", task.start, place if nested is None else nested)
        problems.append(Problem("invalid_operation", message, at, None, name, field, block_line))
    return Invalid(line, (task.start, task.end), given.others, name, fields, tuple(problems))


def _number_lines(fields: Mapping[str, Any], data: bytes, start: int, line: int) -> None:
    """Put the line of each nested object, instead of its place, into it."""
    at = start
    for value in (value for name in NESTED for value in fields.get(name, ())):
        line += data.count(b"\n", at, value["line"])
        at, value["line"] = value["line"], line


@lru_cache(maxsize=1)
def _any_fields(names: tuple[str, ...]) -> tuple[Field, ...]:
    """Return the fields of an operation with an unknown action: any field of these, none required."""
    fields: dict[str, Field] = {}
    for field in (field for kind in filter(None, map(find, names)) for field in kind.fields):
        if not field.fields:
            fields.setdefault(field.name, field.replace(required=False, default=None, excludes=()))
    return tuple(fields.values())


def _action(task: RawTask) -> tuple[str, list[Complaint]]:
    """Return the name of the operation, known or not, and the complaints about it."""
    if task.members is None:
        return UNKNOWN, [("Invalid task: must be an object with an 'action'", None, None)]
    action = task.members.get("action", ("", 0))[0]
    if not isinstance(action, str):
        return UNKNOWN, [("Invalid value for 'action': must be a string", "action", None)]
    if not action:
        return UNKNOWN, [("Missing required field 'action'", "action", None)]
    return action, [] if action in OPERATIONS else [(f"Unknown action: {shortened(action)}", "action", None)]


class _Given:
    """The given fields of a task: those of its operation, under their written names, and other texts."""

    def __init__(self, members: Mapping[str, tuple[Any, int]], fields: tuple[Field, ...]) -> None:
        self.complaints: list[Complaint] = []
        self._members, self._fields = members, fields
        known = (field.name for field in fields if not field.beside or field.beside in members)
        self._names: dict[str, list[str]] = {name: [] for name in known}
        self.others: dict[str, str] = {}
        for written, (value, _place) in members.items():
            name = ALIASES.get(written, written)
            if name in self._names:
                self._names[name].append(written)
            elif isinstance(value, str) and name != "action":
                self.others[written] = value
        self._given = {name for name, names in self._names.items() if names}
        self._excluded = {name for field in fields if field.name in self._given for name in field.excludes}

    def fields(self) -> dict[str, Any]:
        """Return the valid fields, with the defaults of missing ones; complain of the others."""
        valid: dict[str, Any] = {}
        for field in (field for field in self._fields if field.name in self._names):
            complaint = self._complaint(field)
            if complaint:
                self.complaints.append((complaint, (self._names[field.name] or [field.name])[-1], None))
            elif field.name in self._given:
                value = self._members[self._names[field.name][0]][0]
                valid[field.name] = self._objects(field, value) if field.fields else value
            elif field.default is not None:
                valid[field.name] = field.default
        return valid

    def _complaint(self, field: Field) -> str | None:
        names = self._names[field.name]
        if not names:
            return f"Missing required field '{field.name}'" if self._is_required(field) else None
        if len(names) > 1:
            return f"'{names[0]}' and '{names[1]}' are the same field: give one of them"
        value = self._members[names[0]][0]
        if value == "" and field.kind == "path" and field.required:
            return f"Missing required field '{field.name}'"
        wrong = _value_complaint(field, value, names[0])
        if not wrong and field.name == "search" and self._given & RANGE:
            return (
                f"'{names[0]}' and 'search_start' with 'search_end' exclude each other: give one of the two"
            )
        if not wrong and field.name in self._excluded:
            others = (other.name for other in self._fields if field.name in other.excludes)
            other = next(name for name in others if name in self._given)
            return f"'{names[0]}' and '{other}' exclude each other: give one of the two"
        return wrong

    def _is_required(self, field: Field) -> bool:
        """Whether a field must be there: `search`, or the two ends of a range, or what excludes them."""
        if field.name in self._excluded:
            return False
        if field.name == "search":
            return field.required and not self._given & RANGE
        if field.name in RANGE:
            return bool(self._given & RANGE) and "search" not in self._given
        return field.required or bool(field.beside)

    def _objects(self, field: Field, objects: Sequence[RawTask]) -> list[dict[str, Any]]:
        """Return the fields of each nested object, with its offset; complain of errors."""
        found = []
        for number, item in enumerate(objects, 1):
            if item.members is None:
                self.complaints.append((f"Hunk {number}: must be an object", field.name, item.start))
                continue
            given = _Given(item.members, field.fields)
            values = given.fields()
            if not given.complaints and not values.get("search") and values.keys().isdisjoint(WHERE):
                given.complaints.append((INSERTION, "search", None))
            for message, name, _ in given.complaints:
                place = item.members[name][1] if name and name in item.members else item.start
                self.complaints.append((f"Hunk {number}: {message}", field.name, place))
            found.append({**values, "line": item.start})
        return found


def _value_complaint(field: Field, value: Any, written: str) -> str | None:
    """Return the error of a field's value, or None."""
    if field.kind == "count":
        return _count_complaint(value)
    if field.kind == "choice":
        complaint = choice_complaint(value, field.choices)
    else:
        complaint = _COMPLAINTS[field.kind](value)
    if complaint:
        return f"Invalid value for '{written}': {complaint}"
    return EMPTY.get(field.name) if value == "" and field.kind == "text" else None


def _text_complaint(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _number_complaint(value: Any, least: int, otherwise: str) -> str | None:
    return None if type(value) is int and least <= value < 10**MAX_COUNT_DIGITS else otherwise


def _is_line(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\n" not in value


# The error of a value of each kind, or None.
_COMPLAINTS: dict[str, Callable[[Any], str | None]] = {
    "text": _text_complaint,
    "lines": _text_complaint,
    "path": lambda value: _text_complaint(value) or path_complaint(value),
    "flag": lambda value: None if isinstance(value, bool) else "must be a boolean",
    "number": lambda value: _number_complaint(value, 1, WRONG_NUMBER),
    "line": lambda value: _number_complaint(value, 0, WRONG_LINE),
    "range": range_complaint,
    "anchors": lambda value: (
        None if isinstance(value, list) and all(map(_is_line, value)) else "must be a list of lines"
    ),
    "objects": lambda value: None if isinstance(value, list) and value else "must be a list of objects",
}


def _count_complaint(value: Any) -> str | None:
    if value == "all":
        return None
    if type(value) is not int or value <= 0:
        return WRONG_COUNT
    return LARGE_COUNT if value >= 10**MAX_COUNT_DIGITS else None
