"""TOML: operations as `[[task]]` tables, or in blocks as `[[tasks.task]]`, bare or in fences tagged `toml`.

    document = { prose | bare TOML | fence with TOML }
    TOML     = { [[task]] keys } | { [[tasks]] keys { [[tasks.task]] keys } }

Bare TOML starts at such a header. It ends at the line of a fence, or at a blank line before one that cannot
be TOML. The TOML of a fence ends at the line that closes it, outside of strings. Bare TOML that continues to
the end of the document is refused if it may be cut off (`_doubt`).

Each is a TOML text of its own. It is scanned first, because tomllib does not tell where the TOML ends and
where its tasks and keys are. The scan refuses texts that would cost tomllib too much, and explains common
mistakes:

    text      = { header | pair | comment | blanks }, a line each
    header    = "[" key "]" | "[[" key "]]"
    pair      = key "=" value
    key       = part { "." part }
    value     = string | bare value | "[" { value "," } "]" | "{" { pair "," } "}"

All values are those of tomllib, and so are all other errors; their places are traced back to the document.
`structured` checks whether a task makes a valid operation.
"""

from __future__ import annotations

import re

from clada.errors import shortened
from clada.grammar import DELIMITERS
from clada.notations.markdown import LinePattern, tagged_fences
from clada.notations.structured import (
    CUT,
    LIMIT,
    LISTS,
    MAX_DEPTH,
    MAX_TASKS,
    MAX_VALUES,
    NESTED,
    OTHER,
    Draft,
    MalformedError,
    RawTask,
    check_version,
    operation,
    read_draft,
    too_deep,
    too_many,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern
    from typing import Any

    from clada.model import Plan
    from clada.notations.markdown import Fence
    from clada.notations.registry import Delimiters
    from clada.public_types import NotationName

    Path = tuple[str, ...]


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
    for index, element in enumerate(elements):
        elements[index] = None  # to free its memory
        yield element, scopes[index]


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


MAX_TABLES = 2 * MAX_TASKS  # with their blocks
BRACKET = ord("[")
LINE_END = (b"\n", b"#")  # also the start of a comment
FENCES = b"`~"  # the first characters of a line that closes a fence
TASK, BLOCK, BLOCK_TASK = ("task",), ("tasks",), ("tasks", "task")

# All possessive or atomic, so that no input makes them go back. A possessive group's rounds fail at their
# first byte only: before Python 3.11.5, it keeps what a failed round had gone over.
_PART = rb"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\[^\n])*+"|'[^'\n]*+')"""
_PARTS, _BARE_PART = re.compile(_PART), re.compile(rb"[A-Za-z0-9_-]++")
_KEY = rb"%s(?>(?:[ \t]*+\.[ \t]*+%s){0,%d})" % (_PART, _PART, MAX_DEPTH)
_PAIR = re.compile(rb"(%s)[ \t]*+(?:=|(\.))" % _KEY)
_HEADER = re.compile(rb"\[[ \t]*+(%s)[ \t]*+(?:\][ \t]*+(?=[\n#]|\Z)|(\.))" % _KEY)
_LIST_HEADER = re.compile(rb"\[\[[ \t]*+(%s)[ \t]*+(?:\]\][ \t]*+(?=[\n#]|\Z)|(\.))" % _KEY)
_BLANKS = re.compile(rb"[ \t]*+")
_BETWEEN = re.compile(rb"(?:[ \t\n]++|#[^\n]*+)*+")
_CUT_LINE = re.compile(
    rb"""(?:\[{0,2}+[ \t]*+[\w.-]*+[ \t]*+|["'][^\n"']*+)\Z"""
)  # the start of a key or a header
_ANY_FENCE = re.compile(rb"`{3}|~{3}")
_BARE = rb"[\w+.:-]{1,1000}+(?![\w+.:-])"  # numbers, dates, booleans: which they are, tomllib knows
_BARE_VALUE = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.Zz+-]{1,40}+|" + _BARE)
# What strings consist of, a piece at a time. Not possessive as a whole: before Python 3.11.5, such a group
# keeps what its last, failed round had gone over. It does not go back all the same: nothing comes after it.
_ESCAPES = (
    rb'\\[btnfr"\\]|\\u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})'
    rb"|\\U(?:0000(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
    rb"|000[1-9a-fA-F][0-9a-fA-F]{4}|0010[0-9a-fA-F]{4})"
)
# By their quotes: the pieces, and what closes a string, which may end in one or two quotes of its own.
_STRINGS = {
    quotes: (re.compile(rb"(?:%b){1,1000}" % piece), re.compile(closing))
    for quotes, piece, closing in (
        (b'"', rb'[^"\\\x00-\x08\n-\x1f\x7f]{1,1024}+|' + _ESCAPES, b'"'),
        (b"'", rb"[^'\x00-\x08\n-\x1f\x7f]{1,1024}+", b"'"),
        (
            b'"""',
            rb'[^"\\\x00-\x08\x0b-\x1f\x7f]{1,1024}+|\\[ \t]*+\n[ \t\n]*+|"{1,2}+(?!")|' + _ESCAPES,
            rb'"{3,5}+',
        ),
        (b"'''", rb"[^'\x00-\x08\x0b-\x1f\x7f]{1,1024}+|'{1,2}+(?!')", rb"'{3,5}+"),
    )
}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\U0000[dD][89a-fA-F][0-9a-fA-F]{2}")
_CLOSING = {b"": "a line break", b"[": "',' or ']'", b"{": "',' or '}'"}
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


NO_TASKS: list[Scope] = []  # one for all that have none


class Scope:
    """A task or block: its offsets, those of its keys, and the tasks in it."""

    __slots__ = ("end", "keys", "start", "tasks")  # there may be many

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.keys: dict[str, int] = {}
        self.tasks = NO_TASKS  # but of a block

    def place(self, key: str) -> int:
        """Return the offset of a key; that of the table if the key is not in the table itself."""
        return self.keys.get(key, self.start)

    def note(self, name: str, place: int, *, dotted: bool) -> None:
        """Note the offset of a key, or of the first part of a dotted one, which others may share."""
        if name not in self.keys:
            self.keys[name] = place
        elif not dotted:
            raise MalformedError(f"Duplicate key '{shortened(name)}'", place)


class Scan:
    """One pass over the tokens of a TOML text: where it ends, and its places."""

    def __init__(self, data: bytes, start: int, fence: Fence | None) -> None:
        self._data, self._start, self.at = data, start, start
        self._fence = fence
        self._begun = False
        self._closing = (
            re.compile(rb"%b%b*+[ \t]*+(?=\n|\Z)" % (fence.mark, fence.mark[:1])) if fence else _ANY_FENCE
        )
        self._indent = _indent(data, fence) if fence else b""
        self.sound = start  # up to here it has been scanned without errors
        self._values = self._tables = self._tasks = 0
        self._headers: list[int] = []  # where those of tasks and blocks are
        self.root = Scope(start)
        self.tasks: list[Scope] = []
        self.blocks: list[Scope] = []
        self._header: Path = ()
        self._scope: Scope | None = self.root  # of the keys that come
        self._owner: Scope | None = None  # the task that they belong to, at any depth

    def run(self) -> MalformedError | None:
        """Scan to the end of the TOML; return the error that ended it sooner."""
        try:
            while self._statement():
                if self._owner:
                    self._owner.end = self.at
            if self._fence and self.at >= len(self._data):
                # only the end of the fence shows that the last task is complete
                raise self._unexpected("the end of the fence")
        except MalformedError as error:
            return error
        return None

    def parse_until(self, end: int) -> dict[str, Any]:
        """Return what tomllib makes of the text up to a place in the document."""
        import tomllib  # late: it takes 5 ms, and many documents without TOML are examined here

        text = self._data[self._start : end]
        if self._indent:
            text = text.replace(b"\n" + self._indent, b"\n")
        try:
            return tomllib.loads(text.decode())
        except (ValueError, RecursionError) as error:
            raise self._locate_error(str(error), end) from None

    def _locate_error(self, message: str, end: int) -> MalformedError:
        """Return tomllib's complaint, with its place in the document."""
        place = _PLACE.search(message)
        if not place or not place.group(1):
            message = message[: place.start()] if place else message
            return MalformedError(f"Unexpected end of text: {message}", self.at, CUT)
        line, column = int(place.group(1)), int(place.group(2))
        rest = self._data[self._start : end].split(b"\n", line - 1)[-1]
        if line > 1:
            rest = rest.removeprefix(self._indent)
        before = rest.decode()[: column - 1]
        return MalformedError(message[: place.start()], end - len(rest) + len(before.encode()))

    def forget_since(self, offset: int) -> int:
        """Forget the task that is open at a place, and all after it; return where it starts."""
        start = next((header for header in reversed(self._headers) if header <= offset), self._start)
        self.tasks = [scope for scope in self.tasks if scope.start < start]
        self.blocks = [scope for scope in self.blocks if scope.start < start]
        for block in self.blocks[-1:]:
            block.tasks = [scope for scope in block.tasks if scope.start < start]
        return start

    @property
    def at_end(self) -> bool:
        """Whether the document ends here, or in a line that may be the beginning of more."""
        return self.at >= len(self._data) or bool(_CUT_LINE.match(self._data, self.at))

    @property
    def in_task(self) -> bool:
        """Whether the last keys belong to a task, or to a table of one."""
        return self._owner is not None

    @property
    def in_subtable(self) -> bool:
        """Whether the last keys belong to a table of a task."""
        return self._header not in (TASK, BLOCK_TASK)

    # Statements

    def _statement(self) -> bool:
        """Scan a header or a key with its value; return whether there was one."""
        start = self.at
        self._skip(_BETWEEN)
        self.sound = self.at
        if self.at >= len(self._data):
            return False
        first = self._data[self.at]
        if first in FENCES and self._closing.match(self._data, self.at):
            return False
        breaks = self._data.count(b"\n", start, self.at)
        if not breaks and self._begun:
            raise self._unexpected("a line break")
        self._begun = True
        return self._scan_header(breaks) if first == BRACKET else self._scan_pair(breaks)

    def _scan_header(self, breaks: int) -> bool:
        double = self._data.startswith(b"[[", self.at)
        match = (_LIST_HEADER if double else _HEADER).match(self._data, self.at)
        if not match:
            if double:
                self._headers.append(self.at)
            return self._end_before_prose(0 if double else breaks)
        self._enter(self._names(match.group(1), 0), listed=double)
        self.at = match.end()
        return True

    def _enter(self, names: Path, *, listed: bool) -> None:
        """Begin the table of the header that is here."""
        self._tables += 1
        if self._tables > MAX_TABLES:
            too_many(self._tables, MAX_TABLES, "tables", self.at)
        self._header, self._scope = names, None
        if listed and names in (TASK, BLOCK, BLOCK_TASK):
            self._headers.append(self.at)
            self._scope = self._new_scope(names)
        if names in (TASK, BLOCK_TASK):
            self._owner = self._scope
        elif names[:1] != TASK and names[:2] != BLOCK_TASK:
            self._owner = None

    def _scan_pair(self, breaks: int) -> bool:
        match = _PAIR.match(self._data, self.at)
        if not match:
            return self._end_before_prose(breaks)
        names = self._names(match.group(1), len(self._header))
        if self._scope:
            self._scope.note(names[0], self.at, dotted=len(names) > 1)
        self.at = match.end()
        self._skip(_BLANKS)
        if self._data[self.at : self.at + 1] not in LINE_END:  # if it is, tomllib complains
            self._scan_value(self._header + names)
            self._skip(_BLANKS)
        if self._data[self.at : self.at + 1] not in (*LINE_END, b""):
            raise self._unexpected(_CLOSING[b""])
        return True

    def _end_before_prose(self, breaks: int) -> bool:
        """End bare TOML where, after a blank line, something else begins."""
        if not self._fence and breaks > 1:
            return False
        why = CUT if _CUT_LINE.match(self._data, self.at) else ""
        raise MalformedError("Expected 'key = value' or a [table]", self.at, why)

    def _new_scope(self, names: Path) -> Scope:
        scope = Scope(self.at)
        if names == BLOCK:
            scope.tasks = []
            self.blocks.append(scope)
            return scope
        self._tasks += 1
        too_many(self._tasks, MAX_TASKS, "tasks", self.at)
        if names == BLOCK_TASK and not self.blocks:
            raise MalformedError("[[tasks.task]] needs a [[tasks]] before it", self.at)
        (self.tasks if names == TASK else self.blocks[-1].tasks).append(scope)
        return scope

    def _names(self, key: bytes, depth: int) -> Path:
        """Return the parts of a key at this depth."""
        names = (key.decode(),) if _BARE_PART.fullmatch(key) else tuple(map(_name, _PARTS.findall(key)))
        too_deep(len(names) + depth, self.at)
        return names

    # Values

    def _scan_value(self, path: Path, brackets: bytes = b"") -> None:
        """Step over the value of a key; `brackets` are those around it, the innermost last."""
        byte = self._data[self.at : self.at + 1]
        bare = _BARE_VALUE.match(self._data, self.at)
        if not bare and byte not in (b'"', b"'", b"[", b"{"):
            raise self._unexpected(_CLOSING[brackets[-1:]] if byte == b"]" else "a value")
        self._values += 1
        too_many(self._values, MAX_VALUES, "values", self.at)
        if bare:
            self.at = bare.end()
        elif byte in (b'"', b"'"):
            self._scan_string(byte)
        else:
            self._scan_items(path, brackets + byte)

    def _scan_items(self, path: Path, brackets: bytes) -> None:
        """Step over a list or an inline table; a table in a list of tasks or blocks gets a scope."""
        too_deep(len(path) + len(brackets), self.at)
        is_listed = brackets.endswith(b"[{") and path in (TASK, BLOCK, BLOCK_TASK)
        scope = self._new_scope(path) if is_listed else None
        bracket, byte = brackets[-1:], b","
        while byte == b",":
            self.at += 1
            self._skip(_BETWEEN)
            if bracket == b"{":
                self._scan_member(path, brackets, scope)
            elif not self._data.startswith(b"]", self.at):
                self._scan_value(path, brackets)
            self._skip(_BETWEEN)
            byte = self._data[self.at : self.at + 1]
        if bracket + byte not in (b"[]", b"{}"):
            raise self._unexpected(_CLOSING[bracket] if byte else "the end of the value")
        self.at += 1
        if scope:
            scope.end = self.at

    def _scan_member(self, path: Path, brackets: bytes, scope: Scope | None) -> None:
        """Step over a key of an inline table and its value, if there is one."""
        match = _PAIR.match(self._data, self.at)
        if not match:
            return
        names = self._names(match.group(1), len(path) + len(brackets))
        if scope:
            scope.note(names[0], self.at, dotted=len(names) > 1)
        self.at = match.end()
        self._skip(_BETWEEN)
        self._scan_value(path + names, brackets)

    def _unexpected(self, wanted: str) -> MalformedError:
        """Return the error of finding something else than this."""
        if self.at >= len(self._data) or (self._fence and self._closing.match(self._data, self.at)):
            return MalformedError(f"Unexpected end of text, expected {wanted}", self.at, CUT)
        return MalformedError(f"Expected {wanted}", self.at)

    # Strings

    def _scan_string(self, quote: bytes) -> None:
        """Step over a string."""
        quotes = quote * 3 if self._data.startswith(quote * 3, self.at) else quote
        pieces, closing = _STRINGS[quotes]
        end = self.at + len(quotes)
        while piece := pieces.match(self._data, end):
            end = piece.end()
        close = closing.match(self._data, end)
        if not close:
            raise self._wrong_string(end)
        self.at = close.end()

    def _wrong_string(self, at: int) -> MalformedError:
        byte = self._data[at : at + 1]
        if not byte or byte == b"\n":
            return MalformedError("Unterminated string", self.at, "" if byte else CUT)
        if byte != b"\\":
            return MalformedError(
                rf"Control character in a string: write \u{byte[0]:04x} in double quotes", at
            )
        surrogate = _SURROGATE.match(self._data, at)
        if surrogate:
            return MalformedError(f"Lone surrogate {surrogate.group().decode()} in a string", at)
        return MalformedError(
            r"Invalid escape in a string: write \\ for a backslash, or use single quotes", at
        )

    def _skip(self, pattern: Pattern[bytes]) -> None:
        """Step over blanks, and comments where the pattern has them."""
        match = pattern.match(self._data, self.at)
        self.at = match.end() if match else self.at


def _indent(data: bytes, fence: Fence) -> bytes:
    """Return the blanks that the lines of a fence start with; below a list marker they are as wide as it."""
    before = data[fence.start : fence.start + fence.indent]
    return b" " * len(before) if before.strip() else before


def _name(part: bytes) -> str:
    """Return a part of a key as a name; one that tomllib will refuse, as it is written."""
    text = part.decode()
    if text[0] not in "\"'":
        return text
    if text[0] == "'" or "\\" not in text:
        return text[1:-1]
    import tomllib  # late, as above

    try:
        return next(iter(tomllib.loads(f"{text} = 0")))
    except ValueError:
        return text
