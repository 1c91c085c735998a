"""Shout: a notation of one line an operation, `SHOUT WRITE path: content`."""

from __future__ import annotations

from clada.errors import Problem
from clada.model import Block, Invalid, Operation, Plan
from clada.operations.write import Write

MARK = b"SHOUT "


def sign(data: bytes, _delimiters: tuple[str, str]) -> int | None:
    """Return where the first line starts that shouts."""
    at = (b"\n" + data).find(b"\n" + MARK)
    return None if at < 0 else at


def read(data: bytes, _delimiters: tuple[str, str]) -> Plan:
    """Read a whole document."""
    blocks, at = [], 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.startswith(MARK):
            blocks.append(Block(number, None, True, (_operation(line, number, at),)))
        at += len(line) + 1
    return Plan(
        "shout",  # type: ignore[arg-type]
        tuple(blocks),
        source=data,
    )


def _operation(line: bytes, number: int, at: int) -> Operation | Invalid:
    word, _, rest = line.removeprefix(MARK).decode().partition(" ")
    path, colon, content = rest.partition(": ")
    span = (at, at + len(line))
    if word == "WRITE" and colon:
        return Write(number, span, {}, path, content)
    problem = Problem("invalid_operation", "Shout a path and a content", number, None, "write")
    return Invalid(number, span, {}, "write", {}, (problem,))
