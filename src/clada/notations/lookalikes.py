"""What looks like an operation and is none: a likely mistake of an LLM, named with its line."""

from __future__ import annotations

from clada.errors import Problem
from clada.grammar import DELIMITERS
from clada.notations.reasoning import without_reasoning
from clada.notations.registry import NOTATIONS, ONE, holds_any

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    found = _first(without_reasoning(plan.source[:MOST]), delimiters, plan.notation if plan.blocks else None)
    if found is None:
        return None
    at, row, meant = found
    line = plan.source.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(meant.error_type, message, line)


def overlooked(plan: Plan, prose: bytes, gaps: list[int], delimiters: Delimiters) -> str | None:
    """Return a note on the first line beside the operations of a plan that was probably meant as one, too."""
    prose = without_reasoning(prose[:MOST])
    notes = []
    found = _first(prose, delimiters, plan.notation)
    if found:
        at, lookalike, meant = found
        advice = lookalike.advice if meant.rank or meant.name == plan.notation else ONE
        notes.append((at, f"looks like an operation and was ignored: {advice}"))
    row = NOTATIONS[plan.notation or ""]
    # Dialects that mix were read together; of those that do not, any other of rank 1 was fatal.
    block = None if row.mixes else _first_block(prose, 2 if row.rank else 1)
    if block:
        at, name = block
        notes.append((at, f"is {name} and was ignored: {ONE}; --format={name} reads it"))
    if not notes:
        return None
    at, note = min(notes)
    line = plan.source.count(b"\n", 0, place_in(gaps, at)) + 1
    told = any(text.startswith(f"Line {line}:") for text in plan.notes)
    return None if told else f"Line {line} {note}"


def place_in(gaps: list[int], at: int) -> int:
    """Return where a place in the text beside operations is in the document."""
    for start, end in zip(gaps[::2], gaps[1::2], strict=True):
        if at < end - start:
            return start + at
        at -= end - start
    return gaps[-1]


def _first_block(prose: bytes, rank: int) -> tuple[int, str] | None:
    """Return where the first block of a dialect is in a text, and of which: of this rank, or a weaker one."""
    rows = [row for row in NOTATIONS.values() if row.rank >= rank]
    names = [row.name for row in rows if holds_any(prose, row.hints)]
    if not names:
        return None
    from clada.notations.dialects import first_sign

    found = [(at, name) for name in names if (at := first_sign(prose, name)) is not None]
    return min(found, default=None)


def _first(
    text: bytes, delimiters: Delimiters, notation: str | None
) -> tuple[int, Lookalike, Notation] | None:
    """Return the first place that matches one of the lookalikes, in a document of this notation."""
    if not holds_any(text, [sign for row in NOTATIONS.values() for sign in row.lookalike_signs]):
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
