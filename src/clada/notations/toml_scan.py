"""A scan of a TOML text, because tomllib does not tell where the TOML ends and where its tasks and keys are.

It also refuses texts that would cost tomllib too much, and explains common mistakes:

    text      = { header | pair | comment | blanks }, a line each
    header    = "[" key "]" | "[[" key "]]"
    pair      = key "=" value
    key       = part { "." part }
    value     = string | bare value | "[" { value "," } "]" | "{" { pair "," } "}"

All values are those of tomllib, and so are all other errors; their places are traced back to the document.
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
    from re import Pattern
    from typing import Any

    from clada.notations.markdown import Fence

    Path = tuple[str, ...]

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


class Scope:
    """A task or block: its offsets, those of its keys, and the tasks in it."""

    __slots__ = ("end", "keys", "start", "tasks")  # there may be many

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.keys: dict[str, int] = {}
        self.tasks: list[Scope] = []

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
        """Parse the text up to a place in the document with tomllib."""
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
