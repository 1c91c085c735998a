"""What looks like an operation and is none: a likely mistake of an LLM, named with its line."""

from __future__ import annotations

from clada.errors import Problem
from clada.grammar import DELIMITERS
from clada.notations.registry import NOTATIONS, ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.model import Plan
    from clada.notations.registry import Delimiters, Lookalike, Notation

MOST = 1 << 20  # bytes of prose that are looked through


def without_operations(
    plan: Plan, asked: str, detected: str | None, delimiters: Delimiters
) -> Problem | None:
    """Return why a document without operations is probably not what was meant.

    It is in another notation than the one that was asked for, or a line looks like an operation.
    """
    if detected and detected != asked:
        message = f"This looks like {detected.upper()}, but it was to be read as {asked.upper()}"
        return Problem(NOTATIONS[asked].error_type, message)
    found = _first(plan.source[:MOST], delimiters, plan.notation if plan.blocks else None)
    if found is None:
        return None
    at, row, meant = found
    line = plan.source.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(meant.error_type, message, line)


def overlooked(plan: Plan, beside: Sequence[tuple[int, int]], delimiters: Delimiters) -> str | None:
    """Return a note on the first line beside the operations of a plan that was probably meant as one, too."""
    prose = b"".join(plan.source[start : min(end, start + MOST)] for start, end in beside)[:MOST]
    found = _first(prose, delimiters, plan.notation)
    if found is None:
        return None
    at, row, meant = found
    for start, end in beside:
        if at < end - start:
            line = plan.source.count(b"\n", 0, start + at) + 1
            if any(note.startswith(f"Line {line}:") for note in plan.notes):
                return None  # it has been told
            advice = row.advice if meant.name == plan.notation else ONE
            return f"Line {line} looks like an operation and was ignored: {advice}"
        at -= end - start
    return None


def _first(
    text: bytes, delimiters: Delimiters, notation: str | None
) -> tuple[int, Lookalike, Notation] | None:
    """Return the first place that matches one of the lookalikes, in a document of this notation."""
    if not any(sign in text for row in NOTATIONS.values() for sign in row.lookalike_signs):
        return None
    import re

    mark, usual = re.escape(delimiters[0].encode()), delimiters == DELIMITERS
    found = []
    for meant in NOTATIONS.values():
        for row in meant.lookalikes:
            if (row.own or meant.name != notation) and (usual or not row.default_delimiters):
                match = re.search(row.pattern.replace(b"%s", mark), text, re.MULTILINE)
                if match:
                    found.append((match.start(), row, meant))
    return min(found, key=lambda each: each[0]) if found else None
