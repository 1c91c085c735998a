"""TOML: operations as `[[task]]` tables, or in blocks as `[[tasks.task]]`, bare or in fences tagged `toml`.

    document = { prose | bare TOML | fence with TOML }
    TOML     = { [[task]] keys } | { [[tasks]] keys { [[tasks.task]] keys } }

Bare TOML starts at such a header. It ends at the line of a fence, or at a blank line before one that cannot
be TOML. The TOML of a fence ends at the line that closes it, outside of strings. Bare TOML that continues to
the end of the document is refused if it may be cut off (`_doubt`).

Each is a TOML text of its own, with the values and errors of tomllib. `toml_scan` tells where it ends, and
where its tasks and keys are. `structured` checks whether a task makes a valid operation.
"""

from __future__ import annotations

from clada.errors import shortened
from clada.grammar import DELIMITERS
from clada.notations.markdown import LinePattern, tagged_fences
from clada.notations.structured import (
    LIMIT,
    LISTS,
    NESTED,
    OTHER,
    Draft,
    MalformedError,
    RawTask,
    check_version,
    operation,
    read_draft,
)
from clada.notations.toml_scan import Scan, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clada.model import Plan
    from clada.notations.registry import Delimiters
    from clada.public_types import NotationName


NAME: NotationName = "toml"
END_MARK = b"#end"  # without blanks: the last line of bare TOML that is complete in any case
CLOSING, DOUBLED = (b"'", b'"', b"]", b"}"), (b"''", b'""')  # two quotes may be the beginning of three
DOUBT = "TOML outside a fence may be cut off here: {}"
END_IT = "end {} with a line `# end`"
TAKEN = (str, int, float)  # the types of values that some field takes, bool among them

_TASK, _TASKS = (rb"""(?:%b|"%b"|'%b')""" % (name, name, name) for name in (b"task", b"tasks"))
_DOT = rb"[ \t]*+\.[ \t]*+"
_TASK_LINE = LinePattern(
    rb"[ \t]*+\[\[[ \t]*+(?:%b|%b(?:%b%b)?)[ \t]*+\]\][ \t]*+(?:#[^\n]*+)?(?=\n|\Z)"
    % (_TASK, _TASKS, _DOT, _TASK)
)


def sign(data: bytes, _delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first line is that begins a task or a block."""
    return _TASK_LINE.start(data, 0, len(data))


def read(data: bytes, _delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    return read_draft(NAME, data, _read_document)


def _read_document(data: bytes, draft: Draft) -> None:
    at, kinds = 0, set()
    while (line := _TASK_LINE.start(data, at, len(data))) is not None:
        fence = next((fence for fence in tagged_fences(data, NAME, at, line) if not fence.closed), None)
        start = fence.inside if fence else line
        scan = Scan(data, start, fence)
        tables, error = _tables(scan, scan.run())
        kinds |= tables.keys() & {"task", "tasks"}
        if len(kinds) > 1:
            later = max((scope.start for scope in scan.tasks[:1] + scan.blocks[:1]), default=start)
            raise MalformedError("A document has either [[task]] or [[tasks]], not both", later)
        if not error and not fence and scan.at_end and (error := _doubt(data[: scan.at], tables, scan)):
            tables = scan.parse_until(scan.forget_since(error.offset))
        _add_tables(tables, scan, draft)
        if error:
            raise error
        at = scan.at


def _tables(scan: Scan, error: MalformedError | None) -> tuple[dict[str, Any], MalformedError | None]:
    """Return the scanned tables; with an error, which tomllib may see earlier, those complete before it."""
    if error and error.why == LIMIT:
        return {}, error
    try:
        tables = scan.parse_until(scan.sound)
    except MalformedError as earlier:
        tables, error = {}, earlier
    if error:
        tables = scan.parse_until(scan.forget_since(error.offset))
    return tables, error


def _doubt(data: bytes, tables: dict[str, Any], scan: Scan) -> MalformedError | None:
    """Return why bare TOML at the end of the document may be only the beginning of what was meant."""
    if data.rstrip().rpartition(b"\n")[2].replace(b" ", b"").lower() == END_MARK:
        return None
    block = (tables.get("tasks") or [{}])[-1]
    if isinstance(block, dict) and block.get("atomic") is True:
        return MalformedError(DOUBT.format(END_IT.format("an atomic block")), scan.blocks[-1].start)
    table, scope = _last_task(tables, scan)
    if scope is None or operation(_task(table, scope), data, 1, None).problems:
        return None
    if scan.in_subtable:
        return MalformedError(DOUBT.format(END_IT.format("a task that has tables")), scope.start)
    if not data[-1:].isspace() and (data[-1:] not in CLOSING or data.endswith(DOUBLED)):
        return MalformedError(DOUBT.format("end it with a line break"), len(data))
    return _late_key(data, _task(table, scope))


def _last_task(tables: dict[str, Any], scan: Scan) -> tuple[Any, Scope | None]:
    """Return the task that the scan ended in, and its scope; None if it ended in another table."""
    if not scan.in_task:
        return None, None
    if scan.blocks:
        return tables["tasks"][-1]["task"][-1], scan.blocks[-1].tasks[-1]
    return tables["task"][-1], scan.tasks[-1]


def _late_key(data: bytes, task: RawTask) -> MalformedError | None:
    """Return the error of a task that would do something else without its last keys.

    Where it is cut off before them, nothing shows that they are missing.
    """
    members = dict(task.members or {})
    whole = operation(task, data, 1, None)
    while len(members) > 1:
        key, (_value, place) = members.popitem()
        cut = operation(task.replace(members=members), data, 1, None)
        if not cut.problems and (cut.name, cut.values()) != (whole.name, whole.values()):
            first = f"write '{shortened(key)}' before '{shortened(next(reversed(members)))}'"
            return MalformedError(DOUBT.format(f"{first}, or {END_IT.format('it')}"), place)
    return None


def _add_tables(tables: dict[str, Any], scan: Scan, draft: Draft) -> None:
    version = _version(tables, scan.root)
    for table, scope in _elements(tables, "task", scan.root, scan.tasks):
        draft.expect_task(scope.start)
        draft.add_standalone(_task(table, scope), version)
    for table, scope in _elements(tables, "tasks", scan.root, scan.blocks):
        _add_block(table, scope, draft, version)


def _add_block(table: Any, scope: Scope, draft: Draft, version: str | None) -> None:
    if not isinstance(table, dict) or "action" in table:
        raise MalformedError("A [[tasks]] block has its tasks in [[tasks.task]] tables", scope.start)
    draft.open_block(scope.start)
    own_version = _version(table, scope)
    for element, task in _elements(table, "task", scope, scope.tasks):
        draft.expect_task(task.start)
        draft.add(_task(element, task))
    others = {name: _value(value) for name, value in table.items() if name not in ("version", "task")}
    draft.close_block(own_version or version, others)


def _version(table: dict[str, Any], scope: Scope) -> str | None:
    if "version" not in table:
        return None
    return check_version(_value(table["version"]), scope.place("version"))


def _elements(
    table: dict[str, Any], name: str, scope: Scope, scopes: list[Scope]
) -> Iterator[tuple[Any, Scope]]:
    """Yield the tables of a list with their scopes."""
    elements = table.get(name, [])
    if not isinstance(elements, list):
        raise MalformedError(
            f"Expected a list of tables: a header of '{name}' has two brackets", scope.place(name)
        )
    if len(elements) != len(scopes):  # not only tables are in the list
        scopes = [Scope(scope.place(name))] * len(elements)
    yield from zip(elements, scopes, strict=True)


def _task(table: Any, scope: Scope) -> RawTask:
    members = None
    if isinstance(table, dict):
        places, start = scope.keys, scope.start
        members = {
            name: (
                value if type(value) is str else _nested_value(name, value, scope),
                places.get(name, start),
            )
            for name, value in table.items()
        }
    return RawTask(scope.start, scope.end, members)


def _nested_value(name: str, value: Any, scope: Scope) -> Any:
    """Return a value of a task: of some fields a list of tables, which have the offset of their name."""
    if name not in NESTED or not isinstance(value, list):
        return _value(value)
    place = scope.place(name)
    return [
        RawTask(place, place, _hunk(table, place) if isinstance(table, dict) else None) for table in value
    ]


def _hunk(table: dict[str, Any], place: int) -> dict[str, tuple[Any, int]]:
    members = {}
    for name, value in table.items():
        is_list = name in LISTS and isinstance(value, list)
        members[name] = ([_value(item) for item in value] if is_list else _value(value)), place
    return members


def _value(value: Any) -> Any:
    """Return a value, if some field takes its like."""
    return value if isinstance(value, TAKEN) else OTHER
