"""JSON: operations as the objects of a `tasks` list, bare or in fenced blocks tagged `json`.

    document = [blanks] block or blocks [prose] | { prose | fence with block or blocks }
    blocks   = "[" block { "," block } "]"
    block    = "{" "tasks": [ task, … ], "version": "…", and others, which are ignored "}"
    task     = "{" "action": "…", and its fields "}"

`json_values` reads the values; `structured` checks whether a task makes a valid operation.
"""

from __future__ import annotations

import re
from itertools import islice

from clada.grammar import DELIMITERS
from clada.notations.json_values import ValueReader
from clada.notations.markdown import tagged_fences
from clada.notations.structured import (
    LISTS,
    NESTED,
    Draft,
    MalformedError,
    RawTask,
    check_version,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clada.model import Plan
    from clada.notations.registry import Delimiters

NAME = "json"
MANY_TOKENS = 1_000  # before the `tasks` key: hardly ever

# Possessive, so that no input makes them go back. Bytes are for the document, texts for it as Latin-1.
_BLANKS = re.compile(rb"[ \t\n\r]*+")
_TASKS_KEY = re.compile(rb'"tasks"[ \t\n\r]*+:')
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.?+)*+"?+|[{}\[\]]', re.DOTALL)  # a string, or what makes depth
_DEEPER = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}

_MORE = frozenset('{[}],:"')  # after a value, this is no prose


def sign(data: bytes, _delimiters: Delimiters = DELIMITERS) -> int | None:
    """Return where the first value starts that has a `tasks` key."""
    start = _bare_start(data)
    if start is not None and _tasks_key(data, start, len(data)) is not None:
        return start
    return next((start for start, _end in _fenced(data, 0)), None)


def _bare_start(data: bytes) -> int | None:
    """Return where the text itself starts with a value, unless its `tasks` key is first seen in a fence."""
    start = _value_start(data, 0, len(data))
    if start is None:
        return None
    key = _tasks_key(data, start, len(data), most=MANY_TOKENS)
    if key is not None and next(tagged_fences(data, NAME, 0, key), None) is None:
        return start  # no fence needs to be looked for in all of the text
    first_fence = next(_fenced(data, 0), None)
    return start if first_fence is None or _tasks_key(data, start, first_fence[0]) is not None else None


def _fenced(data: bytes, since: int) -> Iterator[tuple[int, int]]:
    """Yield the value in each fenced block with a sign: where it starts, and where the block ends."""
    for fence in tagged_fences(data, NAME, since, len(data)):
        start = _value_start(data, fence.inside, fence.inside_end)
        if start is not None and _tasks_key(data, start, fence.inside_end) is not None:
            yield start, fence.inside_end


def _tasks_key(data: bytes, start: int, end: int, most: int | None = None) -> int | None:
    """Return where the value that starts here has a `tasks` key of its own, or its first element has.

    Where the value is not closed, any such key counts: it is to be read, and what is wrong with it told.
    With `most`, only so many tokens are examined.
    """
    depth, own = 0, 1 if data[start : start + 1] == b"{" else 2
    for token in islice(_TOKEN.finditer(data, start, end), most):
        depth += _DEEPER.get(data[token.start()], 0)
        if depth == own and _TASKS_KEY.match(data, token.start(), end):
            return token.start()
        if depth == 0:
            return None
    anywhere = _TASKS_KEY.search(data, start, end) if most is None else None
    return anywhere.start() if anywhere else None


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
    reader = ValueReader(data)
    try:
        _read_document(data, reader, draft)
    except MalformedError as error:
        return draft.plan(error)
    return draft.plan()


def _read_document(data: bytes, reader: ValueReader, draft: Draft) -> None:
    start = _bare_start(data)
    if start is not None:
        _read_value(reader, draft, start, len(data))
    for start, end in _fenced(data, reader.at):
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
        raise reader.expected("an object with a 'tasks' list")
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
        raise reader.expected("a list of tasks")
    for start in reader.elements(depth):
        draft.expect_task(start)
        members = None
        if reader.next() == "{":
            members = _read_members(reader, depth + 1)
        else:
            reader.value(depth + 1)
        draft.add(RawTask(start, reader.ended, members))


def _read_members(reader: ValueReader, depth: int) -> dict[str, tuple[Any, int]]:
    """Read an object: each of its values with the place of its key."""
    members: dict[str, tuple[Any, int]] = {}
    for key, place in reader.members(depth):
        value: Any
        if reader.next() == "[" and key in NESTED:
            value = [_read_hunk(reader, start, depth + 2) for start in reader.elements(depth + 1)]
        elif reader.next() == "[" and key in LISTS:
            value = [reader.scalar(depth + 2) for _ in reader.elements(depth + 1)]
        else:
            value = reader.scalar(depth + 1)
        members[key] = value, place
    return members


def _read_hunk(reader: ValueReader, start: int, depth: int) -> RawTask:
    reader.count()
    if reader.next() == "{":
        return RawTask(start, reader.ended, _read_members(reader, depth))
    reader.value(depth)
    return RawTask(start, reader.ended, None)
