"""JSON: operations as the objects of a `tasks` list, bare or in fenced blocks tagged `json`.

    document = [blanks] block or blocks [prose] | { prose | fence with block or blocks }
    blocks   = "[" block { "," block } "]"
    block    = "{" "tasks": [ task, … ], "version": "…", and others, which are ignored "}"
    task     = "{" "action": "…", and its fields "}"

`json_values` reads the values; `structured` checks whether a task makes a valid operation.
"""

from __future__ import annotations

import re

from clada.grammar import DELIMITERS
from clada.notations.json_values import ValueReader, skip_blanks
from clada.notations.markdown import tagged_fences
from clada.notations.registry import holds_any
from clada.notations.structured import (
    LISTS,
    NESTED,
    Draft,
    MalformedError,
    RawTask,
    check_version,
    read_draft,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clada.model import Plan
    from clada.notations.registry import Delimiters
    from clada.public_types import NotationName


NAME: NotationName = "json"

# Possessive, so that no input makes them go back. Bytes are for the document, texts for it as Latin-1.
_TASKS_KEY = re.compile(rb'"tasks"[ \t\n\r]*+:')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+"?+|[{}\[\]]', re.DOTALL)  # a string, or what makes depth
_DEEPER = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}

_MORE = frozenset('{[}],:"')  # characters after a value that do not start prose


def sign(data: bytes, _delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first value starts that has a `tasks` key."""
    start = _bare_start(data)
    if start is not None and _tasks_key(data, start, len(data)) is not None:
        return start
    return next((start for start, _end in _fenced_values(data, 0)), None)


def _bare_start(data: bytes) -> int | None:
    """Return where the text itself starts with a value, unless its `tasks` key is first seen in a fence."""
    start = _value_start(data, 0, len(data))
    if start is None or not holds_any(data, (b"```", b"~~~")):
        return start
    first_fence = next(_fenced_values(data, 0), None)
    return start if first_fence is None or _tasks_key(data, start, first_fence[0]) is not None else None


def _fenced_values(data: bytes, since: int) -> Iterator[tuple[int, int]]:
    """Yield the value in each fenced block with a sign: where it starts, and where the block ends."""
    for fence in tagged_fences(data, NAME, since, len(data)):
        start = _value_start(data, fence.inside, fence.inside_end)
        if start is not None and _tasks_key(data, start, fence.inside_end) is not None:
            yield start, fence.inside_end


def _tasks_key(data: bytes, start: int, end: int) -> int | None:
    """Return where the value that starts here has a `tasks` key of its own, or its first element has.

    If the value is not closed, any such key counts, so that it is read and its error is reported.
    """
    depth, own = 0, 1 if data[start : start + 1] == b"{" else 2
    for token in _TOKEN.finditer(data, start, end):
        depth += _DEEPER.get(data[token.start()], 0)
        if depth == own and _TASKS_KEY.match(data, token.start(), end):
            return token.start()
        if depth == 0:
            return None
    anywhere = _TASKS_KEY.search(data, start, end)
    return anywhere.start() if anywhere else None


def _value_start(data: bytes, start: int, end: int) -> int | None:
    """Return where an object or a list starts, if it comes first."""
    at = skip_blanks(data, start, end)
    return at if data[at : at + 1] in (b"{", b"[") and at < end else None


def read(data: bytes, _delimiters: Delimiters = DELIMITERS) -> Plan:
    """Read a whole document: UTF-8 with LF line endings."""
    return read_draft(NAME, data, _read_document)


def _read_document(data: bytes, draft: Draft) -> None:
    reader, start = ValueReader(data), _bare_start(data)
    if start is not None:
        _read_value(reader, draft, start, len(data))
    for start, end in _fenced_values(data, reader.at):
        _read_value(reader, draft, start, end)


def _read_value(reader: ValueReader, draft: Draft, start: int, end: int) -> None:
    reader.go_to(start, end)
    if reader.next() == "[":
        for _ in reader.elements(1):
            _read_block(reader, draft, 2)
    else:
        _read_block(reader, draft, 1)
    if reader.next() in _MORE:
        raise MalformedError(
            "Expected the end of the JSON: several blocks stand in one list, [{…}, {…}]", reader.at
        )


def _read_block(reader: ValueReader, draft: Draft, depth: int) -> None:
    start = reader.at
    if reader.next() != "{":
        raise reader.expected_error("an object with a 'tasks' list")
    draft.open_block(start)
    version, found, others = None, False, {}
    for key, place in reader.members(depth):
        if key == "tasks":
            found = True
            _read_tasks(reader, draft, depth + 1)
        elif key == "version":
            version = check_version(reader.scalar(depth + 1), place)
        else:
            others[key] = reader.scalar(depth + 1)
    if not found:
        raise MalformedError("Expected an object with a 'tasks' list", start)
    draft.close_block(version, others)


def _read_tasks(reader: ValueReader, draft: Draft, depth: int) -> None:
    if reader.next() != "[":
        raise reader.expected_error("a list of tasks")
    for start in reader.elements(depth):
        draft.expect_task(start)
        draft.add(_read_object(reader, start, depth + 1))


def _read_object(reader: ValueReader, start: int, depth: int) -> RawTask:
    """Read a task, or a hunk of one; any other value has no members."""
    members = _read_members(reader, depth) if reader.next() == "{" else None
    if members is None:
        reader.value(depth)
    return RawTask(start, reader.ended, members)


def _read_members(reader: ValueReader, depth: int) -> dict[str, tuple[Any, int]]:
    """Read an object: each of its values with the place of its key."""
    members: dict[str, tuple[Any, int]] = {}
    for key, place in reader.members(depth):
        value: Any
        if reader.next() == "[" and key in NESTED:
            value = []
            for start in reader.elements(depth + 1):
                reader.count()
                value.append(_read_object(reader, start, depth + 2))
        elif reader.next() == "[" and key in LISTS:
            value = [reader.scalar(depth + 2) for _ in reader.elements(depth + 1)]
        else:
            value = reader.scalar(depth + 1)
        members[key] = value, place
    return members
