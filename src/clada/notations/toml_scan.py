"""The scan of a TOML text, before tomllib reads it.

It finds where the TOML ends, and the places of tasks and keys, which tomllib does not tell; it refuses what
would cost tomllib too much, and says of common mistakes how to mend them. All values are tomllib's, and so
are the errors that are left: their place in the text is traced back to the document.

    text      = { header | pair | comment | blanks }, a line each
    header    = "[" key "]" | "[[" key "]]"
    pair      = key "=" value
    key       = part { "." part }
    value     = string | bare value | "[" { value "," } "]" | "{" { pair "," } "}"

What a bare value stands for, and which tables go together, is not checked here: tomllib does.
"""

from __future__ import annotations

import re

from clada.errors import shortened
from clada.notations.structured import (
    CUT,
    MAX_DEPTH,
    MAX_TASKS,
    MAX_VALUES,
    MalformedError,
    too_deep,
    too_many,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Pattern
    from typing import Any

    from clada.notations.markdown import Fence

    Path = tuple[str, ...]
    Step = Callable[[], "Step"]

MAX_TABLES = 2 * MAX_TASKS  # with their blocks
BRACKET = ord("[")
FENCES = b"`~"  # what the line that closes one starts with
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
_LINE_PIECE = re.compile(rb'(?:[^"\\\x00-\x08\n-\x1f\x7f]{1,1024}+|%b){1,1000}' % _ESCAPES)
_LINES_PIECE = re.compile(
    rb'(?:[^"\\\x00-\x08\x0b-\x1f\x7f]{1,1024}+|%b|\\[ \t]*+\n[ \t\n]*+|"{1,2}+(?!")){1,1000}' % _ESCAPES
)
_LITERAL = re.compile(rb"[^'\x00-\x08\n-\x1f\x7f]*+")
_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_NO_CONTROL = re.compile(rb"[^\x00-\x08\x0b-\x1f\x7f]*+")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\U0000[dD][89a-fA-F][0-9a-fA-F]{2}")
_TRIPLE = {b'"""': re.compile(rb'"{3,5}+'), b"'''": re.compile(rb"'{3,5}+")}
_CLOSING = {b"": "a line break", b"[": "',' or ']'", b"{": "',' or '}'"}
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


NO_TASKS: list[Scope] = []  # one for all that have none


class Scope:
    """A table that matters: where it stands, where its keys stand, and the tasks in it."""

    __slots__ = ("end", "keys", "start", "tasks")  # there may be many

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.keys: dict[str, int] = {}
        self.tasks = NO_TASKS  # but of a block

    def place(self, key: str) -> int:
        """Return where a key stands; if it is not one of its own, where the table does."""
        return self.keys.get(key, self.start)

    def note(self, name: str, place: int, *, dotted: bool) -> None:
        """Note where a key stands, or the first part of a dotted one, which others may share."""
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
        self._path: Path = ()  # of the value that comes
        self._stack: list[tuple[bytes, Path, Scope | None]] = []  # the brackets around it

    def run(self) -> MalformedError | None:
        """Scan to the end of the TOML; return the error that ended it sooner."""
        try:
            while self._statement():
                if self._owner:
                    self._owner.end = self.at
            if self._fence and self.at >= len(self._data):
                # nothing else tells whether the last task is whole
                raise self._unexpected("the end of the fence")
        except MalformedError as error:
            return error
        return None

    def parsed(self, end: int) -> dict[str, Any]:
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

    def first_of_either(self) -> int:
        """Return where the first task or block stands; of both, the later one."""
        return max([scope.start for scope in self.tasks[:1] + self.blocks[:1]], default=self._start)

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
        self._enter(self._names(match.group(1), ()), listed=double)
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
        names = self._names(match.group(1), self._header)
        if self._scope:
            self._scope.note(names[0], self.at, dotted=len(names) > 1)
        self.at = match.end()
        self._scan_value(self._header + names)
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

    def _names(self, key: bytes, around: Path) -> Path:
        """Return the parts of a key."""
        names = (key.decode(),) if _BARE_PART.fullmatch(key) else tuple(map(_name, _PARTS.findall(key)))
        too_deep(len(names) + len(around) + len(self._stack), self.at)
        return names

    # Values: what may come next is a step, and each step returns the one after it.

    def _scan_value(self, path: Path) -> None:
        self._path = path
        step: Step = self._value
        while self._goes_on():
            step = step()
        if self.at >= len(self._data) and (self._stack or step != self._after):
            raise self._unexpected("a value" if step == self._value else "the end of the value")

    def _goes_on(self) -> bool:
        self._skip(_BETWEEN if self._stack else _BLANKS)
        return self.at < len(self._data) and (bool(self._stack) or self._data[self.at] not in b"\n#")

    def _value(self) -> Step:
        byte = self._data[self.at : self.at + 1]
        if byte in (b'"', b"'"):
            self._count()
            self._scan_string(byte)
            return self._after
        if byte in (b"[", b"{"):
            self._count()
            return self._open(byte)
        if byte == b"]":
            return self._after()
        match = _BARE_VALUE.match(self._data, self.at)
        if not match:
            raise self._unexpected("a value")
        self._count()
        self.at = match.end()
        return self._after

    def _open(self, bracket: bytes) -> Step:
        too_deep(len(self._path) + len(self._stack) + 1, self.at)
        listed = bool(self._stack) and self._stack[-1][0] == b"["
        matters = bracket == b"{" and listed and self._path in (TASK, BLOCK, BLOCK_TASK)
        self._stack.append((bracket, self._path, self._new_scope(self._path) if matters else None))
        self.at += 1
        return self._value if bracket == b"[" else self._key

    def _key(self) -> Step:
        match = _PAIR.match(self._data, self.at)
        if not match:
            return self._after()
        _bracket, path, scope = self._stack[-1]
        names = self._names(match.group(1), path)
        if scope:
            scope.note(names[0], self.at, dotted=len(names) > 1)
        self._path = path + names
        self.at = match.end()
        return self._value

    def _after(self) -> Step:
        """Step over a comma or a closing bracket."""
        byte = self._data[self.at : self.at + 1]
        bracket, path, scope = self._stack[-1] if self._stack else (b"", (), None)
        if byte == b"," and bracket:
            self.at += 1
            self._path = path
            return self._value if bracket == b"[" else self._key
        if bracket + byte not in (b"[]", b"{}"):
            raise self._unexpected(_CLOSING[bracket])
        self.at += 1
        self._stack.pop()
        if scope:
            scope.end = self.at
        return self._after

    def _count(self) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            too_many(self._values, MAX_VALUES, "values", self.at)

    def _unexpected(self, wanted: str) -> MalformedError:
        """Return the error of finding something else than this."""
        if self.at >= len(self._data) or (self._fence and self._closing.match(self._data, self.at)):
            return MalformedError(f"Unexpected end of text, expected {wanted}", self.at, CUT)
        return MalformedError(f"Expected {wanted}", self.at)

    # Strings

    def _scan_string(self, quote: bytes) -> None:
        """Step over a string."""
        if self._data.startswith(quote * 3, self.at):
            self._scan_lines(quote * 3)
            return
        end = self._matched_end(_LINE_PIECE if quote == b'"' else _LITERAL, self.at + 1)
        if not self._data.startswith(quote, end):
            raise self._wrong_string(end)
        self.at = end + 1

    def _scan_lines(self, quotes: bytes) -> None:
        start = self.at + 3
        end = self._matched_end(_LINES_PIECE, start) if quotes == b'"""' else self._literal_end(start)
        close = _TRIPLE[quotes].match(self._data, end)
        if not close:
            raise self._wrong_string(end)
        self.at = close.end()

    def _matched_end(self, pattern: Pattern[bytes], at: int) -> int:
        while (match := pattern.match(self._data, at)) and match.end() > at:
            at = match.end()
        return at

    def _literal_end(self, start: int) -> int:
        """Return where the quotes are, or before them what must not be in a string."""
        close = self._data.find(b"'''", start)
        end = len(self._data) if close < 0 else close
        inside = self._data[start:end]
        if len(inside.translate(None, _CONTROLS)) == len(inside):  # several times as quick as the pattern
            return end
        match = _NO_CONTROL.match(inside)
        return start + match.end() if match else start

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
