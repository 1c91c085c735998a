"""JSON, or one value of it a line, as logs and messages have it: each value with its place.

A value on one line is read by the C scanner of the standard library at once. Of one over several lines, the
objects that can hold calls are walked through, so that each has its place; what is in them is read the same
way. A key stands once. What is wrong is told by the reader of our own JSON, which knows where it is.
"""

from __future__ import annotations

import re
from json import JSONDecoder

from clada.errors import shortened
from clada.notations.json import ValueReader
from clada.notations.markdown import line_end
from clada.notations.structured import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_DEPTH = 32  # of objects that are walked through
# Keys of what is walked through: the wrappers of calls, from whole conversations to a single message.
WALKED = frozenset(
    ("message", "messages", "choices", "candidates", "content", "parts", "output", "tool_calls", "payload")
)
AFTER = "Expected a line break after this value: one value a line, or one in all"
_BLANKS = re.compile(rb"[ \t\n\r]*+")
_GAP = re.compile(r"[ \t\n\r]*+")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, if each key stands in it once."""
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"Duplicate key '{shortened(twice)}'")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
_scan = _DECODER.scan_once  # type: ignore[attr-defined]  # which typeshed leaves out
_WRONG = (ValueError, StopIteration, IndexError, RecursionError)


class Placed(dict):  # type: ignore[type-arg]  # which would cost an import
    """An object that knows where in the document it starts."""

    __slots__ = ("at",)

    at: int


def strict_value(text: str) -> Any:
    """Return the value that a text is; raise ValueError where it is none."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def records(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, Any]]:
    """Yield each value between two places: where it starts and ends, and what it is.

    Raises Malformed where something else is there, or not all of a value.
    """
    long = _LongValues(data, end)
    at = _skip(data, start, end)
    while at < end:
        stop = line_end(data, at, end)
        try:
            line = data[at:stop].decode()
            value, length = _scan(line, 0)
            if length != len(line) and line[length:].strip():
                raise Malformed(AFTER, at + len(line[:length].encode()))
        except _WRONG:
            value, stop = long.read(at)
            if data[stop : line_end(data, stop, end)].strip():
                raise Malformed(AFTER, stop) from None
        yield at, stop, value
        at = _skip(data, stop, end)


def _skip(data: bytes, at: int, end: int) -> int:
    blanks = _BLANKS.match(data, at, end)
    return blanks.end() if blanks else at


class _LongValues:
    """Reads values over several lines. It goes over text; its places are counted in bytes as they come."""

    def __init__(self, data: bytes, end: int) -> None:
        self._data, self._end = data, end
        self._text: str | None = None
        self._characters = self._bytes = 0  # the same place in both

    def read(self, start: int) -> tuple[Any, int]:
        """Return the value that starts at a place, and where it has ended."""
        if self._text is None:
            self._text = self._data[: self._end].decode()
        self._characters += len(self._data[self._bytes : start].decode())
        self._bytes = start
        try:
            value, end = self._value(self._characters, 1)
        except _WRONG:
            raise self._trouble(start) from None
        return value, self._place(end)

    def _place(self, character: int) -> int:
        """Return where in the document a character is, which is not before the last one asked for."""
        text = self._text or ""
        self._bytes += len(text[self._characters : character].encode())
        self._characters = character
        return self._bytes

    def _trouble(self, start: int) -> Malformed:
        """Return what is wrong with a value."""
        reader = ValueReader(self._data[: self._end])
        reader.go_to(start, self._end)
        try:
            reader.skip(1)
        except Malformed as trouble:
            return trouble
        except RecursionError:
            pass
        return Malformed("this is not JSON", start)

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        text = self._text or ""
        if depth > MAX_DEPTH:
            raise ValueError
        first = text[at]
        if first == "{":
            return self._object(text, at, depth)
        if first == "[":
            return self._list(text, at, depth)
        value: tuple[Any, int] = _scan(text, at)
        return value

    def _object(self, text: str, at: int, depth: int) -> tuple[Placed, int]:
        made = Placed()
        made.at = self._place(at)
        at = _over(text, at + 1)
        while text[at] != "}":
            if made:
                at = _over(text, _after(text, at, ","))
            if text[at] != '"':
                raise ValueError
            key, at = _scan(text, at)
            if key in made:
                raise ValueError
            at = _over(text, _after(text, _over(text, at), ":"))
            if key in WALKED:
                made[key], at = self._value(at, depth + 1)
            else:
                made[key], at = _scan(text, at)
            at = _over(text, at)
        return made, at + 1

    def _list(self, text: str, at: int, depth: int) -> tuple[list[Any], int]:
        made: list[Any] = []
        at = _over(text, at + 1)
        while text[at] != "]":
            if made:
                at = _over(text, _after(text, at, ","))
            value, at = self._value(at, depth + 1)
            made.append(value)
            at = _over(text, at)
        return made, at + 1


def _over(text: str, at: int) -> int:
    """Return where the next sign is that is no blank."""
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _after(text: str, at: int, sign: str) -> int:
    if text[at] != sign:
        raise ValueError
    return at + 1
