"""What looks like an operation and is none: a likely mistake of an LLM, named with its line."""

from __future__ import annotations

from clada.errors import Problem
from clada.notations.registry import NOTATIONS, ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.model import Plan
    from clada.notations.registry import Lookalike, Notation

MOST = 1 << 20  # bytes of prose that are looked through


def lookalike(
    data: bytes, start_delimiter: str, *, usual: bool, notation: str | None = None
) -> Problem | None:
    """Return the first line that was probably meant as an operation, in a document without any.

    `usual` says that the delimiters are the usual ones. The notation is the document's, where it has blocks
    that are empty.
    """
    found = _first(data[:MOST], start_delimiter, usual=usual, notation=notation)
    if found is None:
        return None
    at, row, meant = found
    line = data.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(meant.error_type, message, line)


def mismatch(given: str, detected: str) -> Problem:
    """Return the problem of a document in another notation than the one that was asked for."""
    message = f"This looks like {detected.upper()}, but it was to be read as {given.upper()}"
    return Problem(NOTATIONS[given].error_type, message)


def overlooked(plan: Plan, start_delimiter: str, *, usual: bool) -> str | None:
    """Return a note on the first line beside the operations of a plan that was probably meant as one, too."""
    pieces = list(_beside(plan))
    prose = b"".join(piece for _, piece in pieces)[:MOST]
    found = _first(prose, start_delimiter, usual=usual, notation=plan.notation)
    if found is None:
        return None
    at, row, meant = found
    for start, piece in pieces:
        if at < len(piece):
            line = plan.source.count(b"\n", 0, start + at) + 1
            if any(note.startswith(f"Line {line}:") for note in plan.notes):
                return None  # it has been told
            advice = row.advice if meant.name == plan.notation else ONE
            return f"Line {line} looks like an operation and was ignored: {advice}"
        at -= len(piece)
    return None


def _beside(plan: Plan) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of the document between its operations, with where they start."""
    at = 0
    for block in plan.blocks:
        for item in block.operations:
            start, end = item.span
            if start > at:
                yield at, plan.source[at:start]
            at = max(at, end)
    yield at, plan.source[at : at + MOST]


def _first(
    text: bytes, start_delimiter: str, *, usual: bool, notation: str | None
) -> tuple[int, Lookalike, Notation] | None:
    """Return the first place that matches one of the lookalikes, in a document of this notation."""
    if not any(sign in text for row in NOTATIONS.values() for sign in row.lookalike_signs):
        return None
    import re

    mark = re.escape(start_delimiter.encode())
    found = []
    for meant in NOTATIONS.values():
        for row in meant.lookalikes:
            if (row.own or meant.name != notation) and (usual or not row.default_delimiters):
                match = re.search(row.pattern.replace(b"%s", mark), text, re.MULTILINE)
                if match:
                    found.append((match.start(), row, meant))
    return min(found, key=lambda each: each[0]) if found else None
