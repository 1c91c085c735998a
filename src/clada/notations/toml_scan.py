"""The scan of a TOML text, before tomllib reads it.

It finds the places of tasks and keys, which tomllib does not tell; it refuses what would cost tomllib too
much; and it takes the strings out, which tomllib walks character by character: tomllib reads a skeleton,
where each string is a number. So there are two kinds of errors: those of the scan, and tomllib's, whose
place in the skeleton is traced back to the document.

    text      = { header | pair | comment | blanks }, a line each
    header    = "[" key "]" | "[[" key "]]"
    pair      = key "=" value
    key       = part { "." part }
    value     = string | bare value | "[" { value "," } "]" | "{" { pair "," } "}"

What a bare value stands for, and which tables go together, is not checked here: tomllib does.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

from clada.errors import shortened
from clada.notations.fences import closing
from clada.notations.strings import CONTINUED, LONG, SHORT, decoded, pieces, unescaped
from clada.notations.structured import (
    CUT,
    MAX_DEPTH,
    MAX_TASKS,
    MAX_VALUES,
    OTHER,
    Malformed,
    too_deep,
    too_many,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match, Pattern
    from typing import Any

    from clada.notations.fences import Fence

    Path = tuple[str, ...]
    Step = Callable[[], "Step"]

MAX_TABLES = 2 * MAX_TASKS  # with their blocks
WORTH_CUTTING = 32  # blanks and comments longer than this are left out of the skeleton
TASK, BLOCK, BLOCK_TASK = ("task",), ("tasks",), ("tasks", "task")

# All possessive or atomic, so that no input makes them go back. A possessive group's rounds fail at their
# first byte only: before Python 3.11.5, it keeps what a failed round had gone over.
_PART = rb"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]++|\\[^\n])*+"|'[^'\n]*+')"""
_PARTS = re.compile(_PART)
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
_PLAIN_PAIR = re.compile(
    rb'([A-Za-z0-9_-]++)[ \t]*+=[ \t]*+(?:"([^"\\\x00-\x08\n-\x1f\x7f]*+)"|' + _BARE + rb")(?=\n|\Z)"
)
_ESCAPES = (rb'\\[btnfr"\\]', SHORT, LONG)
_LINE_PIECE = pieces(rb'[^"\\\x00-\x08\n-\x1f\x7f]', *_ESCAPES)
_LINES_PIECE = pieces(rb'[^"\\\x00-\x08\x0b-\x1f\x7f]', *_ESCAPES, CONTINUED, rb'"{1,2}+(?!")')
# The kinds of strings, each with the pieces it consists of, if it has escapes.
_LINE, _LITERAL_LINE, _LINES, _LITERAL_LINES = range(4)
_PIECES = (_LINE_PIECE, None, _LINES_PIECE, None)
_LITERAL = re.compile(rb"[^'\x00-\x08\n-\x1f\x7f]*+")
_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\U0000[dD][89a-fA-F][0-9a-fA-F]{2}")
_TRIPLE = {b'"""': re.compile(rb'"{3,5}+'), b"'''": re.compile(rb"'{3,5}+")}
_CLOSING = {b"": "a line break", b"[": "',' or ']'", b"{": "',' or '}'"}
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


class Scope:
    """A table that matters: where it stands, where its keys stand, and the tasks in it."""

    __slots__ = ("end", "keys", "start", "tasks")  # there may be many

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.keys: dict[str, int] = {}
        self.tasks: list[Scope] = []

    def place(self, key: str) -> int:
        """Return where a key stands; where it is none of its own, where the table does."""
        return self.keys.get(key, self.start)

    def note(self, names: Path, place: int) -> None:
        """Note where a key stands."""
        if len(names) == 1 and names[0] in self.keys:
            raise Malformed(f"Duplicate key '{shortened(names[0])}'", place)
        self.keys.setdefault(names[0], place)


class Scan:
    """One pass over the tokens of a TOML text: its skeleton, strings and places."""

    def __init__(self, data: bytes, start: int, fence: Fence | None) -> None:
        self._data, self._start, self.at = data, start, start
        self._fence = fence
        self._begun = False
        self._closing = closing(fence.mark).pattern if fence else _ANY_FENCE
        self._skeleton = bytearray()
        self._copied = start  # up to here the document is in the skeleton
        self._marks = array("q", [0]), array("q", [start])  # from which place on it is a copy from which
        self.sound = 0  # how much of it has been scanned without trouble
        self._strings = array("q")  # three numbers each: the inside's start and end, and its kind
        self._values = self._tables = self._tasks = 0
        self._headers: list[tuple[int, int]] = []  # of tasks and blocks: place and length of the skeleton
        self.root = Scope(start)
        self.tasks: list[Scope] = []
        self.blocks: list[Scope] = []
        self._header: Path = ()
        self._scope: Scope | None = self.root  # of the keys that come
        self._owner: Scope | None = None  # the task that they belong to, however deep
        self._path: Path = ()  # of the value that comes
        self._stack: list[tuple[bytes, Path, Scope | None]] = []  # the brackets around it

    def run(self) -> Malformed | None:
        """Scan to the end of the TOML; return the trouble that ended it sooner."""
        try:
            while self._statement():
                if self._owner:
                    self._owner.end = self.at
            if self._fence and self.at >= len(
                self._data
            ):  # nothing else tells whether the last task is whole
                raise self._unexpected("the end of the fence")
        except Malformed as trouble:
            return trouble
        return None

    def parsed(self, length: int) -> dict[str, Any]:
        """Return what tomllib makes of the skeleton up to a length."""
        import tomllib

        text = self._skeleton[:length].decode()
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._traced(str(error), text) from None

    def _traced(self, message: str, text: str) -> Malformed:
        """Return tomllib's complaint, with its place in the document."""
        place = _PLACE.search(message)
        if not place or not place.group(1):
            message = message[: place.start()] if place else message
            return Malformed(f"Unexpected end of text: {message}", self.at, CUT)
        line, column = int(place.group(1)), int(place.group(2))
        lines = text.split("\n", line - 1)
        before = len(text) - len(lines[-1]) + column - 1
        offset = len(text[:before].encode())
        in_skeleton, in_document = self._marks
        mark = bisect_right(in_skeleton, offset) - 1
        return Malformed(message[: place.start()], in_document[mark] + offset - in_skeleton[mark])

    def forget_since(self, offset: int) -> int:
        """Forget the task that is open at a place, and all after it; return how long the skeleton was."""
        start, length = next(
            (header for header in reversed(self._headers) if header[0] <= offset), (self._start, 0)
        )
        self.tasks = [scope for scope in self.tasks if scope.start < start]
        self.blocks = [scope for scope in self.blocks if scope.start < start]
        for block in self.blocks[-1:]:
            block.tasks = [scope for scope in block.tasks if scope.start < start]
        return length

    def first_of_either(self) -> int:
        """Return where the first task or block stands; of both, the later one."""
        return max([scope.start for scope in self.tasks[:1] + self.blocks[:1]], default=self._start)

    def value(self, value: Any) -> Any:
        """Return what a value of the skeleton stands for: a string's text, a number, a boolean."""
        if isinstance(value, str):
            return self._text(int(value))
        return value if isinstance(value, int | float) else OTHER

    def _text(self, number: int) -> str:
        start, end, kind = self._strings[3 * number : 3 * number + 3]
        data, piece = self._data, _PIECES[kind]
        if kind in (_LINES, _LITERAL_LINES) and self._fence and self._fence.indent:
            data = data[start - 1 : end].replace(b"\n" + self._fence.indent, b"\n")
            start, end = 1, len(data)
        return unescaped(data, start, end, piece) if piece else decoded(data, start, end)

    # Statements

    def _statement(self) -> bool:
        """Scan a header or a key with its value; return whether there was one."""
        breaks = self._skip(_BETWEEN, b"\n")
        self._copy()
        self.sound = len(self._skeleton)
        if self.at >= len(self._data) or self._closing.match(self._data, self.at):
            return False
        if not breaks and self._begun:
            raise self._unexpected("a line break")
        self._begun = True
        if self._data.startswith(b"[", self.at):
            return self._scan_header(breaks)
        return self._scan_pair(breaks)

    def _scan_header(self, breaks: int) -> bool:
        double = self._data.startswith(b"[[", self.at)
        match = (_LIST_HEADER if double else _HEADER).match(self._data, self.at)
        if not match:
            if double:
                self._headers.append((self.at, self.sound))
            return self._end_before_prose(0 if double else breaks)
        self._tables += 1
        too_many(self._tables, MAX_TABLES, "tables", self.at)
        names = self._names(match.group(1), ())
        self._header, self._scope = names, None
        if double and names in (TASK, BLOCK, BLOCK_TASK):
            self._headers.append((self.at, self.sound))
            self._scope = self._new_scope(names)
        if names in (TASK, BLOCK_TASK):
            self._owner = self._scope
        elif names[:1] != TASK and names[:2] != BLOCK_TASK:
            self._owner = None
        self.at = match.end()
        return True

    def _scan_pair(self, breaks: int) -> bool:
        plain = _PLAIN_PAIR.match(self._data, self.at)
        if plain and len(self._header) < MAX_DEPTH:
            return self._plain_pair(plain)
        match = _PAIR.match(self._data, self.at)
        if not match:
            return self._end_before_prose(breaks)
        names = self._names(match.group(1), self._header)
        if self._scope:
            self._scope.note(names, self.at)
        self.at = match.end()
        self._scan_value(self._header + names)
        return True

    def _plain_pair(self, match: Match[bytes]) -> bool:
        """Step over a key with a value of the plainest kinds: most are, and this is quicker."""
        self._count()
        if self._scope:
            self._scope.note((match.group(1).decode(),), self.at)
        self.at = match.end()
        if match.group(2) is not None:
            self._keep_string(match.start(2) - 1, match.start(2), match.end(2), _LITERAL_LINE)
        return True

    def _end_before_prose(self, breaks: int) -> bool:
        """End bare TOML where, after a blank line, something else begins."""
        if not self._fence and breaks > 1:
            return False
        why = CUT if _CUT_LINE.match(self._data, self.at) else ""
        raise Malformed("Expected 'key = value' or a [table]", self.at, why)

    def _new_scope(self, names: Path) -> Scope:
        scope = Scope(self.at)
        if names == BLOCK:
            self.blocks.append(scope)
            return scope
        self._tasks += 1
        too_many(self._tasks, MAX_TASKS, "tasks", self.at)
        if names == BLOCK_TASK and not self.blocks:
            raise Malformed("[[tasks.task]] needs a [[tasks]] before it", self.at)
        (self.tasks if names == TASK else self.blocks[-1].tasks).append(scope)
        return scope

    def _names(self, key: bytes, around: Path) -> Path:
        """Return the parts of a key."""
        names = tuple(_name(part) for part in _PARTS.findall(key))
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
        self._skip(_BETWEEN if self._stack else _BLANKS, b" ")
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
            scope.note(names, self.at)
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
        too_many(self._values, MAX_VALUES, "values", self.at)

    def _unexpected(self, wanted: str) -> Malformed:
        """Return the trouble of finding something else than this."""
        if self.at >= len(self._data) or (self._fence and self._closing.match(self._data, self.at)):
            return Malformed(f"Unexpected end of text, expected {wanted}", self.at, CUT)
        return Malformed(f"Expected {wanted}", self.at)

    # Strings

    def _scan_string(self, quote: bytes) -> None:
        """Step over a string, leaving its number in the skeleton."""
        start = self.at
        if self._data.startswith(quote * 3, start):
            self._keep_string(start, *self._lines_string(quote * 3))
        else:
            self._keep_string(start, *self._line_string(quote))

    def _keep_string(self, start: int, inside: int, end: int, kind: int) -> None:
        self._cut(start, self.at, b"'%d'" % (len(self._strings) // 3))
        self._strings.extend((inside, end, kind))

    def _line_string(self, quote: bytes) -> tuple[int, int, int]:
        start = self.at + 1
        kind = _LINE if quote == b'"' else _LITERAL_LINE
        end = self._matched_end(_PIECES[kind] or _LITERAL, start)
        if not self._data.startswith(quote, end):
            raise self._wrong_string(end)
        self.at = end + 1
        return start, end, kind

    def _lines_string(self, quotes: bytes) -> tuple[int, int, int]:
        start = self.at + 3
        kind = _LINES if quotes == b'"""' else _LITERAL_LINES
        end = self._matched_end(_LINES_PIECE, start) if kind == _LINES else self._literal_end(start)
        close = _TRIPLE[quotes].match(self._data, end)
        if not close:
            raise self._wrong_string(end)
        self.at = close.end()
        return start + self._data.startswith(b"\n", start), self.at - 3, kind

    def _matched_end(self, pattern: Pattern[bytes], at: int) -> int:
        while (match := pattern.match(self._data, at)) and match.end() > at:
            at = match.end()
        return at

    def _literal_end(self, start: int) -> int:
        """Return where the quotes are, or before them what must not be in a string."""
        close = self._data.find(b"'''", start)
        control = _CONTROL.search(self._data, start, len(self._data) if close < 0 else close)
        return control.start() if control else len(self._data) if close < 0 else close

    def _wrong_string(self, at: int) -> Malformed:
        byte = self._data[at : at + 1]
        if not byte or byte == b"\n":
            return Malformed("Unterminated string", self.at, "" if byte else CUT)
        if byte != b"\\":
            return Malformed(rf"Control character in a string: write \u{byte[0]:04x} in double quotes", at)
        surrogate = _SURROGATE.match(self._data, at)
        if surrogate:
            return Malformed(f"Lone surrogate {surrogate.group().decode()} in a string", at)
        return Malformed(r"Invalid escape in a string: write \\ for a backslash, or use single quotes", at)

    # The skeleton

    def _skip(self, pattern: Pattern[bytes], instead: bytes) -> int:
        """Step over blanks; return how many line breaks were among them."""
        start = self.at
        match = pattern.match(self._data, start)
        self.at = match.end() if match else start
        if self.at - start > WORTH_CUTTING:
            self._cut(start, self.at, instead)
        return self._data.count(b"\n", start, self.at)

    def _cut(self, start: int, end: int, instead: bytes) -> None:
        """Put something short into the skeleton instead of this."""
        self._skeleton += self._data[self._copied : start] + instead
        self._copied = end
        in_skeleton, in_document = self._marks
        in_skeleton.append(len(self._skeleton))
        in_document.append(end)

    def _copy(self) -> None:
        """Bring the skeleton up to here."""
        self._skeleton += self._data[self._copied : self.at]
        self._copied = self.at


def _name(part: bytes) -> str:
    """Return a part of a key as a name."""
    if part[:1] == b"'":
        return part[1:-1].decode()
    if part[:1] != b'"':
        return part.decode()
    end = len(part) - 1
    return unescaped(part, 1, end, _LINE_PIECE) if _LINE_PIECE.fullmatch(part, 1, end) else part.decode()
