"""The branches of a session's log, in which each record names the one that it follows.

    Claude Code: {"type": "assistant", "uuid": "b", "parentUuid": "a", …}
    pi:          {"type": "message", "id": "b", "parentId": "a", …}

If the user went back and asked again, several records follow the same one. Calls on an abandoned branch are
ignored: only the branch of the last message counts. All results count, because the parallel calls of one
message have their results on branches of their own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Record = tuple[int, int, Any]  # where it starts and ends, and what it is

_KEYS = (("uuid", "parentUuid"), ("id", "parentId"))
_MESSAGES = ("user", "assistant", "message")  # kinds of records that a session goes on with


def without_abandoned(records: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the records without the assistant's messages on abandoned branches, and how many those are.

    A log may hold several sessions, one after the other: each has its last branch.
    """
    parents: dict[str, str] = {}
    firsts: dict[str, str] = {}  # of each record, the first one of its session
    leaves: dict[str, str] = {}  # of each session, by its first record, the last message
    for _, _, value in records:
        for own, parent in _linked(value):
            parents[own], firsts[own] = parent, firsts.get(parent, own)
            if value.get("type") in _MESSAGES:
                leaves[firsts[own]] = own
    kept = {own for leaf in leaves.values() for own in _ancestors(leaf, parents)}
    going_on = {
        identity for _, _, value in records for own, _ in _linked(value)
        if own in kept and (identity := _message(value).get("id"))
    }  # fmt: skip
    left = [record for record in records if not _is_abandoned(record[2], kept, going_on)]
    return left, len(records) - len(left)


def _linked(value: Any) -> list[tuple[str, str]]:
    """Return what a record is called, with the one that it follows; nothing of one that is not linked."""
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
    linked = _linked(value)
    if not linked or message.get("role") != "assistant":
        return False
    return linked[0][0] not in kept and message.get("id") not in going_on
