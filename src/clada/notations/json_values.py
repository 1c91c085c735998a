"""Reads JSON values as RFC 8259 has them: each error has its offset, and a key occurs once.

The depth and the number of values are limited. Strings, the bulk of most documents, are read by the C scanner
of the standard library, and so are values whose places do not matter.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]  # which typeshed leaves out

from clada.errors import shortened
from clada.notations.markdown import line_end
from clada.notations.structured import CUT, MAX_VALUES, OTHER, MalformedError, too_deep, too_many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    PlacedValue = tuple[int, int, Any]  # its start, its end and the value

AFTER = "Expected a line break after this value: one value a line, or one in all"
_BLANKS = re.compile(rb"[ \t\n\r]*+")
LAST_BLANK = " "
LONGEST_ESCAPE = 12  # a pair of surrogates
MAX_DIGITS = 640  # of an integer: what Python converts under any limit that a host may have set
_GAP = re.compile(r"[ \t\n\r]*+")
# Pieces of strings. Not possessive as a whole: before Python 3.11.5, such a group keeps what its last, failed
# round had gone over. It does not go back all the same: nothing comes after it.
_PIECE = re.compile(
    r'(?:[^"\\\x00-\x1f]{1,1024}+|\\["\\/bfnrt]'
    r"|\\u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}){1,1000}"
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_CUT_ESCAPE = re.compile(
    r"(?:\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?"
)
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*+))((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", OTHER)}
_DIGITS = frozenset("-0123456789")
_NOT_JSON = {
    "'": "Expected a value: strings stand in double quotes",
    "/": "Expected a value: JSON has no comments",
    "#": "Expected a value: JSON has no comments",
    "N": "Expected a value: NaN is not JSON",
    "I": "Expected a value: Infinity is not JSON",
}


def skip_blanks(data: bytes, at: int, end: int) -> int:
    """Return the offset of the next character that is not a blank, or the end."""
    match = _BLANKS.match(data, at, end)
    return match.end() if match else at


class PlacedObject(dict):  # type: ignore[type-arg]  # which would cost an import
    """A JSON object that knows where in the document it starts."""

    __slots__ = ("at",)

    at: int


class ValueReader:
    """Reads the values of a document one after the other; errors are raised with their offset.

    It goes over the document as Latin-1, where each byte is a character: all places are the document's, and
    only strings that are not ASCII need a second look.
    """

    def __init__(self, data: bytes, *, lone_surrogates: bool = False) -> None:
        self._data, self._end = data, len(data)
        self._lone_surrogates = lone_surrogates  # whether a string may have some, as in logs
        self._text = data.decode("latin-1")
        self.at = 0  # where the next token starts
        self.ended = 0  # where the last one ended: only blanks are between the two
        self._values = 0

    def go_to(self, start: int, end: int) -> None:
        """Read on from another place, up to an end."""
        self._end = end
        self._move(start)

    def _move(self, to: int) -> None:
        self.ended = to
        if to < self._end and self._text[to] <= LAST_BLANK:
            gap = _GAP.match(self._text, to, self._end)
            to = gap.end() if gap else to
        self.at = to

    def next(self) -> str:
        """Return the character that the next token starts with; nothing at the end."""
        return self._text[self.at] if self.at < self._end else ""

    def members(self, depth: int) -> Iterator[tuple[str, int]]:
        """Yield each key of an object and its place; the caller reads the value."""
        seen: set[str] = set()
        for place in self._items(depth, "}"):
            key = self._key()
            if key in seen:
                raise MalformedError(f"Duplicate key '{shortened(key)}'", place)
            seen.add(key)
            yield key, place

    def elements(self, depth: int) -> Iterator[int]:
        """Yield the place of each element of a list; the caller reads it."""
        return self._items(depth, "]")

    def _items(self, depth: int, close: str) -> Iterator[int]:
        """Yield the place of each thing between brackets; the caller reads it."""
        too_deep(depth, self.at)
        self._move(self.at + 1)
        if self.next() == close:
            self._move(self.at + 1)
            return
        while True:
            yield self.at
            if self._take(",", close) == close:
                return
            if self.next() == close:
                raise MalformedError(f"A comma must not stand before '{close}'", self.at)

    def _key(self) -> str:
        """Read a key and the colon after it."""
        if self.next() != '"':
            raise self.expected_error("a key in double quotes")
        key = self._string()
        self._take(":")
        return key

    def _take(self, *marks: str) -> str:
        found = self.next()
        if found not in marks:
            raise self.expected_error(" or ".join(f"'{mark}'" for mark in marks))
        self._move(self.at + 1)
        return found

    def expected_error(self, what: str) -> MalformedError:
        """Return the error of finding something else than this."""
        if self.next():
            return MalformedError(f"Expected {what}", self.at)
        return MalformedError(f"Unexpected end of text, expected {what}", self.at, CUT)

    def scalar(self, depth: int) -> Any:
        """Read a value and return it, if it is a text, a number or a boolean; read over any other."""
        first = self.next()
        if first in ("{", "["):
            self.value(depth)
            return OTHER
        self.count()
        if first == '"':
            return self._string()
        return self._number() if first in _DIGITS else self._literal(first)

    def value(self, depth: int) -> Any:
        """Read any value; its objects know their places."""
        first = self.next()
        if first not in ("{", "["):
            found = self.scalar(depth)
            return None if found is OTHER else found
        self.count()
        if first == "[":
            return [self.value(depth + 1) for _ in self.elements(depth)]
        made = PlacedObject()
        made.at = self.at
        for key, _ in self.members(depth):
            made[key] = self.value(depth + 1)
        return made

    def count(self) -> None:
        """Count a value, of which there may be so many."""
        self._values += 1
        too_many(self._values, MAX_VALUES, "values", self.at)

    def _string(self) -> str:
        start = self.at + 1
        try:
            value, end = scanstring(self._text, start)
            value = value if value.isascii() else self._not_ascii(value, start, end)
        except ValueError:
            raise self._wrong_string(self.at) from None
        if end > self._end:
            raise self._wrong_string(self.at)
        self._move(end)
        return value

    def _not_ascii(self, value: str, start: int, end: int) -> str:
        """Return a string that was scanned as Latin-1, decoded as UTF-8 with its escapes resolved."""
        if self._data.find(rb"\u", start, end) < 0:
            return value.encode("latin-1").decode()
        raw = self._data[start:end]
        if not raw.isascii():
            value, _end = scanstring(raw.decode(), 0)
        if not self._lone_surrogates:
            value.encode()  # raises an error for a lone surrogate
        return value

    def _wrong_string(self, start: int) -> MalformedError:
        at = start + 1
        while piece := _PIECE.match(self._text, at, self._end):
            at = piece.end()
        rest = self._text[at : min(at + LONGEST_ESCAPE, self._end)]
        if _CUT_ESCAPE.fullmatch(rest):
            return MalformedError("Unterminated string", start, CUT)
        if rest[:1] == "\n":
            return MalformedError(r"Line break in a string: write \n", at)
        if rest[:1] != "\\":
            return MalformedError(rf"Control character in a string: write \u{ord(rest[0]):04x}", at)
        surrogate = _SURROGATE.match(rest)
        if surrogate:
            return MalformedError(f"Lone surrogate {surrogate.group()} in a string", at)
        return MalformedError(r"Invalid escape in a string: a backslash is written \\", at)

    def _number(self) -> int | float:
        match = _NUMBER.match(self._text, self.at, self._end)
        if not match:
            raise MalformedError("Expected a value: a number needs a digit", self.at)
        self._move(match.end())
        whole, rest = match.groups()
        return float(match.group()) if rest or len(whole) > MAX_DIGITS else int(whole)

    def _literal(self, first: str) -> Any:
        if first not in _LITERALS:
            raise (
                MalformedError(_NOT_JSON[first], self.at)
                if first in _NOT_JSON
                else self.expected_error("a value")
            )
        word, value = _LITERALS[first]
        found = self._text[self.at : min(self.at + len(word), self._end)]
        if found != word:
            if word.startswith(found):  # cut off
                self.at = self._end
            raise self.expected_error("a value")
        self._move(self.at + len(word))
        return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises ValueError if a key occurs twice."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"Duplicate key '{shortened(twice)}'")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER: Any = JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant)
_SCAN_ERRORS = (ValueError, StopIteration, IndexError, RecursionError)


def strict_value(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError if it is not JSON, or has a key twice."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def read_values(data: bytes, start: int, end: int) -> Iterator[PlacedValue]:
    """Yield each value between two offsets. Raises MalformedError for other text, or an incomplete value.

    The standard library reads a value on one line. A value over several lines is read by `ValueReader`, so
    that each object has its place; so is a wrong one, for the place of the error.
    """
    reader: ValueReader | None = None
    at = skip_blanks(data, start, end)
    while at < end:
        stop = line_end(data, at, end)
        try:
            line = data[at:stop].decode()
            value, length = _DECODER.scan_once(line, 0)
            if length != len(line) and line[length:].strip():
                raise MalformedError(AFTER, at + len(line[:length].encode()))
        except _SCAN_ERRORS:
            reader = reader or ValueReader(data[:end], lone_surrogates=True)
            reader.go_to(at, end)
            value, stop = reader.value(1), reader.ended
            if data[stop : line_end(data, stop, end)].strip():
                raise MalformedError(AFTER, stop) from None
        yield at, stop, value
        at = skip_blanks(data, stop, end)
