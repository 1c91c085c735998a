"""JSON: operations as the objects of a `tasks` list, bare or in fenced blocks tagged `json`.

    document = [blanks] block or blocks [prose] | { prose | fence with block or blocks }
    blocks   = "[" block { "," block } "]"
    block    = "{" "tasks": [ task, … ], "version": "…", and others, which are ignored "}"
    task     = "{" "action": "…", and its fields "}"

The values are those of RFC 8259, read here rather than by the standard library: each error has its place in
the document, a key stands once, and depth, tasks and values are bounded before they cost anything. Whether a
task makes a valid operation is not checked here but in `structured`.
"""

from __future__ import annotations

import re

from clada.errors import shortened
from clada.grammar import DELIMITERS
from clada.notations.fences import fences
from clada.notations.strings import PAIR, SHORT, pieces, unescaped
from clada.notations.structured import (
    CUT,
    MAX_VALUES,
    OTHER,
    Draft,
    Malformed,
    Task,
    checked_version,
    too_deep,
    too_many,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clada.model import Plan
    from clada.notations.registry import Delimiters

NAME = "json"
QUOTE, LAST_BLANK = ord('"'), ord(" ")
LONGEST_ESCAPE = 12  # a pair of surrogates
MAX_DIGITS = 640  # of an integer: what Python converts under any limit that a host may have set

# Possessive, so that no input makes them go back.
_BLANKS = re.compile(rb"[ \t\n\r]*+")
_TASKS_KEY = re.compile(rb'"tasks"[ \t\n\r]*+:')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+"?+|[{}\[\]]', re.DOTALL)  # a string, or what makes depth
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*+')
_PLAIN_KEY = re.compile(rb'"([^"\\\x00-\x1f]*+)"[ \t\n\r]*+:')
_PIECE = pieces(rb'[^"\\\x00-\x1f]', rb'\\["\\/bfnrt]', SHORT, PAIR)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_CUT_ESCAPE = re.compile(
    rb"(?:\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?"
)
_NUMBER = re.compile(rb"(-?(?:0|[1-9][0-9]*+))((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_LITERALS = {b"t": (b"true", True), b"f": (b"false", False), b"n": (b"null", OTHER)}
_DIGITS = {bytes([byte]) for byte in b"-0123456789"}
_DEEPER = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_SKIPPED = (b'"', b"{", b"[")
_MORE = {bytes([byte]) for byte in b'{[}],:"'}  # after a value, this is no prose
_NOT_JSON = {
    b"'": "Expected a value: strings stand in double quotes",
    b"/": "Expected a value: JSON has no comments",
    b"#": "Expected a value: JSON has no comments",
    b"N": "Expected a value: NaN is not JSON",
    b"I": "Expected a value: Infinity is not JSON",
}


def sign(data: bytes, _delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first value starts that has a `tasks` key."""
    start = _bare_start(data)
    if start is not None and _has_tasks(data, start, len(data)):
        return start
    return next((start for start, _end in _fenced(data, 0)), None)


def _bare_start(data: bytes) -> int | None:
    """Return where the text itself starts with a value, unless its `tasks` key is first seen in a fence."""
    start = _value_start(data, 0, len(data))
    first_fence = next(_fenced(data, 0), None) if start is not None else None
    if start is None or first_fence is None or _has_tasks(data, start, first_fence[0]):
        return start
    return None


def _fenced(data: bytes, since: int) -> Iterator[tuple[int, int]]:
    """Yield the value in each fenced block with a sign: where it starts, and where the block ends."""
    for fence in fences(data, NAME, since, len(data)):
        end = len(data) if fence.close is None else fence.close
        start = _value_start(data, fence.start, end)
        if start is not None and _has_tasks(data, start, end):
            yield start, end


def _has_tasks(data: bytes, start: int, end: int) -> bool:
    """Whether the value that starts here has a `tasks` key of its own, or its first element has.

    Where the value is not closed, any such key counts: it is to be read, and what is wrong with it told.
    """
    depth, own = 0, 1 if data[start : start + 1] == b"{" else 2
    for token in _TOKEN.finditer(data, start, end):
        depth += _DEEPER.get(data[token.start()], 0)
        if depth == own and _TASKS_KEY.match(data, token.start(), end):
            return True
        if depth == 0:
            return False
    return _TASKS_KEY.search(data, start, end) is not None


def _value_start(data: bytes, start: int, end: int) -> int | None:
    """Return where an object or a list starts, if that is what comes first."""
    at = _skip_blanks(data, start, end)
    return at if data[at : at + 1] in (b"{", b"[") and at < end else None


def _skip_blanks(data: bytes, at: int, end: int) -> int:
    match = _BLANKS.match(data, at, end)
    return match.end() if match else at


def read(data: bytes, _delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    draft = Draft(NAME, data)
    reader = Reader(data)
    try:
        _read_document(data, reader, draft)
    except Malformed as trouble:
        return draft.plan(trouble)
    return draft.plan()


def _read_document(data: bytes, reader: Reader, draft: Draft) -> None:
    start = _bare_start(data)
    if start is not None:
        _read_value(reader, draft, start, len(data))
    for start, end in _fenced(data, reader.at):
        _read_value(reader, draft, start, end)


def _read_value(reader: Reader, draft: Draft, start: int, end: int) -> None:
    reader.go_to(start, end)
    if reader.next() == b"[":
        for _ in reader.elements(1):
            _read_block(reader, draft, 2)
    else:
        _read_block(reader, draft, 1)
    if reader.next() in _MORE:
        raise Malformed(
            "Expected the end of the JSON: several blocks stand in one list, [{…}, {…}]", reader.at
        )


def _read_block(reader: Reader, draft: Draft, depth: int) -> None:
    start = reader.at
    if reader.next() != b"{":
        raise reader.expected("an object with a 'tasks' list")
    draft.open_block(start)
    version, found, others = None, False, {}
    for key, place in reader.members(depth):
        if key == "tasks":
            found = True
            _read_tasks(reader, draft, depth + 1)
        elif key == "version":
            version = checked_version(reader.scalar(depth + 1), place)
        else:
            others[key] = reader.scalar(depth + 1)
    if not found:
        raise Malformed("Expected an object with a 'tasks' list", start)
    draft.close_block(version, others)


def _read_tasks(reader: Reader, draft: Draft, depth: int) -> None:
    if reader.next() != b"[":
        raise reader.expected("a list of tasks")
    for start in reader.elements(depth):
        draft.expect_task(start)
        members = None
        if reader.next() == b"{":
            members = {key: (reader.scalar(depth + 2), place) for key, place in reader.members(depth + 1)}
        else:
            reader.skip(depth + 1)
        draft.add(Task(start, reader.ended, members))


class Reader:
    """Reads the values of a document one after the other; what is wrong is raised with its place."""

    def __init__(self, data: bytes) -> None:
        self._data, self._end = data, len(data)
        self.at = 0  # where the next token starts
        self.ended = 0  # where the last one ended: only blanks are between the two
        self._values = 0

    def go_to(self, start: int, end: int) -> None:
        """Read on from another place, up to an end."""
        self._end = end
        self._move(start)

    def _move(self, to: int) -> None:
        self.ended = to
        if to < self._end and self._data[to] <= LAST_BLANK:
            to = _skip_blanks(self._data, to, self._end)
        self.at = to

    def next(self) -> bytes:
        """Return the byte that the next token starts with; nothing at the end."""
        return self._data[self.at : self.at + 1] if self.at < self._end else b""

    def members(self, depth: int) -> Iterator[tuple[str, int]]:
        """Yield each key of an object and its place; the caller reads the value."""
        seen: set[str] = set()
        for place in self._items(depth, b"}"):
            key = self._key()
            if key in seen:
                raise Malformed(f"Duplicate key '{shortened(key)}'", place)
            seen.add(key)
            yield key, place

    def elements(self, depth: int) -> Iterator[int]:
        """Yield the place of each element of a list; the caller reads it."""
        return self._items(depth, b"]")

    def _items(self, depth: int, close: bytes) -> Iterator[int]:
        """Yield the place of each thing between brackets; the caller reads it."""
        too_deep(depth, self.at)
        self._move(self.at + 1)
        if self.next() == close:
            self._move(self.at + 1)
            return
        while True:
            yield self.at
            if self._take(b",", close) == close:
                return
            if self.next() == close:
                raise Malformed(f"A comma must not stand before '{close.decode()}'", self.at)

    def _key(self) -> str:
        """Read a key and the colon after it."""
        plain = _PLAIN_KEY.match(self._data, self.at, self._end)
        if plain:
            self._move(plain.end())
            return plain.group(1).decode()
        if self.next() != b'"':
            raise self.expected("a key in double quotes")
        key = self._string()
        self._take(b":")
        return key

    def _take(self, *marks: bytes) -> bytes:
        found = self.next()
        if found not in marks:
            raise self.expected(" or ".join(f"'{mark.decode()}'" for mark in marks))
        self._move(self.at + 1)
        return found

    def expected(self, what: str) -> Malformed:
        """Return the trouble of finding something else than this."""
        if self.next():
            return Malformed(f"Expected {what}", self.at)
        return Malformed(f"Unexpected end of text, expected {what}", self.at, CUT)

    def scalar(self, depth: int) -> Any:
        """Read a value and return it, if it is a text, a number or a boolean; read over any other."""
        first = self.next()
        if first in (b"{", b"["):
            self.skip(depth)
            return OTHER
        self._count()
        if first == b'"':
            return self._string()
        return self._number() if first in _DIGITS else self._literal(first)

    def skip(self, depth: int) -> None:
        """Read over a value, keeping nothing of it."""
        first = self.next()
        if first not in _SKIPPED:
            self.scalar(depth)
            return
        self._count()
        if first == b'"':
            self._string_end()
        else:
            for _ in self.members(depth) if first == b"{" else self.elements(depth):
                self.skip(depth + 1)

    def _count(self) -> None:
        self._values += 1
        too_many(self._values, MAX_VALUES, "values", self.at)

    def _string(self) -> str:
        start = self.at + 1
        return unescaped(self._data, start, self._string_end(), _PIECE)

    def _string_end(self) -> int:
        """Move past a string and return where its closing quote is."""
        start = self.at
        plain = _PLAIN.match(self._data, start + 1, self._end)
        at = plain.end() if plain else start + 1
        while match := _PIECE.match(self._data, at, self._end):
            at = match.end()
        if at >= self._end or self._data[at] != QUOTE:
            raise self._wrong_string(start, at)
        self._move(at + 1)
        return at

    def _wrong_string(self, start: int, at: int) -> Malformed:
        rest = self._data[at : min(at + LONGEST_ESCAPE, self._end)]
        if _CUT_ESCAPE.fullmatch(rest):
            return Malformed("Unterminated string", start, CUT)
        if rest[:1] == b"\n":
            return Malformed(r"Line break in a string: write \n", at)
        if rest[:1] != b"\\":
            return Malformed(rf"Control character in a string: write \u{rest[0]:04x}", at)
        surrogate = _SURROGATE.match(rest)
        if surrogate:
            return Malformed(f"Lone surrogate {surrogate.group().decode()} in a string", at)
        return Malformed(r"Invalid escape in a string: a backslash is written \\", at)

    def _number(self) -> int | float:
        match = _NUMBER.match(self._data, self.at, self._end)
        if not match:
            raise Malformed("Expected a value: a number needs a digit", self.at)
        self._move(match.end())
        whole, rest = match.groups()
        return float(match.group()) if rest or len(whole) > MAX_DIGITS else int(whole)

    def _literal(self, first: bytes) -> Any:
        if first not in _LITERALS:
            raise Malformed(_NOT_JSON[first], self.at) if first in _NOT_JSON else self.expected("a value")
        word, value = _LITERALS[first]
        found = self._data[self.at : min(self.at + len(word), self._end)]
        if found != word:
            if word.startswith(found):  # cut off
                self.at = self._end
            raise self.expected("a value")
        self._move(self.at + len(word))
        return value
