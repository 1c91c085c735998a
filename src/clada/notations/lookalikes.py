"""Lookalikes: text that looks like an operation and is not one, probably a mistake of the LLM."""

from __future__ import annotations

import re
from itertools import islice

from clada.errors import Problem
from clada.grammar import DELIMITERS
from clada.model import NotApplied
from clada.notations.dialects import places_of_blocks
from clada.notations.hidden import blank_hidden
from clada.notations.registry import NOTATIONS, holds_any, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.model import Plan
    from clada.notations.registry import Delimiters, Lookalike, Notation

MOST = 1 << 20  # upper limit of bytes of prose that are searched
MOST_LISTED = 20  # lookalikes in a report


def without_operations(
    plan: Plan, asked: str, detected: str | None, delimiters: Delimiters
) -> Problem | None:
    """Return why a document without operations is probably not what was meant.

    It is in another notation than the one that was asked for, or a line looks like an operation.
    """
    if detected and detected != asked:
        message = f"This looks like {title(detected)}, but it was to be read as {title(asked)}"
        return Problem(NOTATIONS[asked].error_type, message)
    found = _all(
        blank_hidden(plan.source[:MOST], with_code=False), delimiters, plan.notation if plan.blocks else None
    )
    if not found:
        return None
    at, row, meant = found[0]
    line = plan.source.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(meant.error_type, message, line)


def overlooked(  # noqa: PLR0913 (how it was read)
    plan: Plan, prose: bytes, gaps: list[int], delimiters: Delimiters, *, chosen: bool, run_fences: bool
) -> list[NotApplied]:
    """Return the text beside the operations of a plan that was probably meant as an operation, too.

    If the user has chosen the notation, other notations do not count.
    """
    prose = blank_hidden(prose[:MOST])
    row = NOTATIONS[plan.notation or ""]
    # Beside dialects, all others were read. In CSL, some may be left between the operations of a block.
    names = [each.name for each in NOTATIONS.values() if each.rank and holds_any(prose, each.hints)]
    is_read = row.rank or chosen or not names
    blocks = [] if is_read else places_of_blocks(prose, names, run_fences=run_fences)
    answer = f"the answer is in {row.title}"
    found = [(at, NOTATIONS[name].one, answer) for at, name in blocks]
    for at, lookalike, meant in _all(prose, delimiters, plan.notation):
        is_wrapper = lookalike.closing and _wraps(plan, offset_in(gaps, at), lookalike.closing)
        if is_wrapper or lookalike.illustrates or (chosen and meant.name != plan.notation):
            continue
        is_other = not meant.rank and meant.name != plan.notation and not (meant.mixes and row.mixes)
        found.append((at, *((meant.one, answer) if is_other else (f"likely {meant.one}", lookalike.advice))))
    by_line: dict[int, NotApplied] = {}
    for at, what, why in sorted(found, key=lambda each: each[0]):
        line = plan.source.count(b"\n", 0, offset_in(gaps, at)) + 1
        by_line.setdefault(line, NotApplied(line, what, why))
    known = {each.line for each in plan.not_applied}
    new = [each for line, each in by_line.items() if line not in known and not _is_noted(plan, line)]
    return new[:MOST_LISTED]


def nearest(source: bytes) -> str:
    """Return a clause on the first code block of a text without operations, or nothing."""
    if b"```" not in source and b"~~~" not in source:
        return ""
    fence = re.search(rb"^[ \t]*(?:`{3,}|~{3,})", source[:MOST], re.MULTILINE)
    if not fence:
        return ""
    line = source.count(b"\n", 0, fence.start()) + 1
    return f"; the nearest thing to one is the code block at line {line}, which names no file"


def _wraps(plan: Plan, at: int, closing: bytes) -> bool:
    """Whether operations of a plan are between an offset and the next closing text."""
    end = plan.source.find(closing, at)
    return any(at < item.span[0] < end for block in plan.blocks for item in block.operations)


def _is_noted(plan: Plan, line: int) -> bool:
    return any(note.startswith(f"Line {line}:") for note in plan.notes)


def offset_in(gaps: list[int], at: int) -> int:
    """Return the offset in the document of an offset in the text between operations."""
    for start, end in zip(gaps[::2], gaps[1::2], strict=True):
        if at < end - start:
            return start + at
        at -= end - start
    return gaps[-1]


def _all(text: bytes, delimiters: Delimiters, notation: str | None) -> list[tuple[int, Lookalike, Notation]]:
    """Return the offsets of lookalikes in a document of this notation, in order."""
    if not holds_any(text, [sign for row in NOTATIONS.values() for sign in row.lookalike_signs]):
        return []
    start, end = (re.escape(delimiter.encode()) for delimiter in delimiters)
    usual = delimiters == DELIMITERS
    found = []
    for meant in NOTATIONS.values():
        for row in meant.lookalikes:
            if (row.own or meant.name != notation) and (usual or not row.default_delimiters):
                pattern = row.pattern.replace(b"%s", start).replace(b"%e", end)
                matches = re.finditer(pattern, text, re.MULTILINE)
                found += [(match.start(), row, meant) for match in islice(matches, MOST_LISTED)]
    return sorted(found, key=lambda each: each[0])
