"""The records of a log: its values, and which of them are on the branch that counts.

A log is JSON, or one value of it a line. In a session's log, each record names the one that it follows:

    Claude Code: {"type": "assistant", "uuid": "b", "parentUuid": "a", …}
    pi:          {"type": "message", "id": "b", "parentId": "a", …}

If the user went back and asked again, several records follow the same one. Calls on an abandoned branch are
ignored: only the branch of the last message counts. All results count, because the parallel calls of one
message have their results on branches of their own.
"""

from __future__ import annotations

from clada.notations.json_values import SCAN_ERRORS, ValueReader, scan_strictly, skip_blanks
from clada.notations.markdown import line_end
from clada.notations.structured import MalformedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Record = tuple[int, int, Any]  # its start, its end and its value

AFTER = "Expected a line break after this value: one value a line, or one in all"
_KEYS = (("uuid", "parentUuid"), ("id", "parentId"))
_MESSAGES = ("user", "assistant", "message")  # types of records that continue a session


def read_records(data: bytes, start: int, end: int) -> Iterator[Record]:
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
            value, length = scan_strictly(line, 0)
            if length != len(line) and line[length:].strip():
                raise MalformedError(AFTER, at + len(line[:length].encode()))
        except SCAN_ERRORS:
            reader = reader or ValueReader(data[:end], lone_surrogates=True)
            reader.go_to(at, end)
            value, stop = reader.value(1), reader.ended
            if data[stop : line_end(data, stop, end)].strip():
                raise MalformedError(AFTER, stop) from None
        yield at, stop, value
        at = skip_blanks(data, stop, end)


def without_abandoned(records: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the records without the assistant's messages on abandoned branches, and how many those are.

    A log may hold several sessions, one after the other: each has its last branch.
    """
    parents: dict[str, str] = {}
    firsts: dict[str, str] = {}  # of each record, the first one of its session
    leaves: dict[str, str] = {}  # of each session, by its first record, the last message
    for _, _, value in records:
        for own, parent in _links(value):
            parents[own], firsts[own] = parent, firsts.get(parent, own)
            if value.get("type") in _MESSAGES:
                leaves[firsts[own]] = own
    kept = {own for leaf in leaves.values() for own in _ancestors(leaf, parents)}
    going_on = {
        identity for _, _, value in records for own, _ in _links(value)
        if own in kept and (identity := _message(value).get("id"))
    }  # fmt: skip
    left = [record for record in records if not _is_abandoned(record[2], kept, going_on)]
    return left, len(records) - len(left)


def _links(value: Any) -> list[tuple[str, str]]:
    """Return the id of a record and of the one that it follows; nothing if it is not linked."""
    if not isinstance(value, dict) or value.get("isSidechain") is True:  # which another agent wrote
        return []
    for own, parent in _KEYS:
        if parent in value and isinstance(value.get(own), str):
            follows = value[parent] or value.get("logicalParentUuid")  # the latter after a summary
            return [(value[own], follows if isinstance(follows, str) else "")]
    return []


def _ancestors(own: str, parents: Mapping[str, str]) -> set[str]:
    """Return this record and all that come before it on its branch."""
    found = {own}
    while (own := parents.get(own, "")) in parents and own not in found:
        found.add(own)
    return found


def _message(value: Any) -> dict[str, Any]:
    message = value.get("message") if isinstance(value, dict) else None
    return message if isinstance(message, dict) else {}


def _is_abandoned(value: Any, kept: set[str], going_on: set[Any]) -> bool:
    """Whether a record is a message of the assistant on a branch that does not count."""
    message = _message(value)
    linked = _links(value)
    if not linked or message.get("role") != "assistant":
        return False
    return linked[0][0] not in kept and message.get("id") not in going_on
