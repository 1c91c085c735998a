"""Reads the dialects of other tools: one block after the other.

A dialect is a module with a class `Blocks`, which finds and reads its blocks, and a row in the registry.
All of them, and CSL, are read together in document order: the block that opens first is read to its end.
"""

from __future__ import annotations

import re

from clada.errors import Problem
from clada.model import Block, Plan, dialect_of
from clada.notations.markdown import MARKDOWN, answer_span, open_fence
from clada.notations.reading import Reading, UnreadableError, prose_of
from clada.notations.registry import HINTS_IN_PROSE, NOTATIONS, SHELL, holds_any, load, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Protocol, TypedDict, Unpack

    from clada.notations.reading import Prose
    from clada.notations.registry import Delimiters

    class Blocks(Protocol):
        """Finds and reads the blocks of one dialect in a document."""

        def next(self, at: int, before: int | None = None) -> int | None:
            """Return where the next block starts, at or after a place.

            Dialects of rank 2 get the offset before which it must start.
            """

        def read(self, at: int, floor: int) -> int:
            """Read the block that starts here, after what ended at `floor`; return where it ends."""

    class ReadOptions(TypedDict, total=False):
        """Options for reading a document, in any dialect."""

        roots: Sequence[str]  # absolute paths below these are relative
        run_fences: bool  # fences of a shell are commands to be run
        delimiters: Delimiters  # of the markers of CSL


_BLANKED = rb"[^\n]"
_CLOSING = rb"\s*+(?:`{3,}+|~{3,}+)[ \t]*+(?=\n|\Z)"
IN_PROSE = 2  # the rank of dialects whose signs are in many a text that asks for nothing
# The notation of operations without a dialect, in a document of several formats.
NATIVE = next(row.name for row in NOTATIONS.values() if row.mixes and not row.rank)
SEVERAL = "an answer in several formats ({}) is carried out only if every block is clear"


def read(data: bytes, name: str, **how: Unpack[ReadOptions]) -> Plan:
    """Read a document in the dialect that was asked for, and no other but commands that are to be run."""
    commands = [SHELL] if how.get("run_fences") and name != SHELL else []
    return _read_together(data, [name, *commands], chosen=True, **how)[0]


def read_mixed(
    data: bytes, native: Sequence[str] = (), **how: Unpack[ReadOptions]
) -> tuple[Plan, Prose] | None:
    """Read a document in all dialects that it shows, and in these notations of our own; None if in none.

    The text beside the operations is returned with the plan.
    """
    names = [row.name for row in NOTATIONS.values() if row.rank and holds_any(data, row.hints)]
    plan, prose = _read_together(data, [*native, *names], **how)
    if not plan.fatal and not plan.notation:
        return None
    return _all_or_nothing(plan), prose


def _formats(text: Plan | Reading) -> list[str]:
    """Return the names of the formats that operations are in, in the order of the document."""
    return list(dict.fromkeys(dialect_of(item) or NATIVE for item in text.operations))


def _all_or_nothing(plan: Plan) -> Plan:
    """Return a plan; an unclear block in a document of several formats is fatal."""
    formats = _formats(plan)
    unclear = next((item for item in plan.operations if item.problems), None)
    if plan.fatal or len(formats) < 2 or unclear is None:  # noqa: PLR2004 (several)
        return plan
    problem, row = unclear.problems[0], NOTATIONS[dialect_of(unclear) or NATIVE]
    several = SEVERAL.format(" and ".join(map(title, formats)))
    message = f"Line {problem.line}: {row.one}: {problem.message}; nothing was carried out: {several}"
    return plan.replace(fatal=Problem(row.error_type, message, problem.line))


def shows_before(data: bytes, limit: int, **how: Unpack[ReadOptions]) -> bool:
    """Whether a document shows a dialect of rank 1 before an offset."""
    names = [row.name for row in NOTATIONS.values() if row.rank == 1 and holds_any(data[:limit], row.hints)]
    signs = (first_sign(data, name, **how) for name in names)
    return any(sign is not None and sign < limit for sign in signs)


def without_files(data: bytes, at: int, word: bytes = b"", **how: Unpack[ReadOptions]) -> bytes | None:
    """Return the document without the files that it writes, if a place is in the content of one; else None.

    A fence that begins with the text at this offset is only named by the line above it: that is not content,
    if the word is in it, and it is not of Markdown, which shows such things. One that is never closed goes to
    the end.
    """
    if not holds_any(data[:at], HINTS_IN_PROSE):
        return None  # no file begins before it
    reading, end = _reading(data, **how), len(data)
    open_at, path = end, ""
    try:
        _read_blocks(reading, [row.name for row in NOTATIONS.values() if row.rank == IN_PROSE])
    except UnreadableError as error:
        open_at, path = error.offset, error.path
    files = [*((item.span, item.target) for item in reading.operations), ((open_at, end), path)]
    around = next((file for file in files if file[0][0] < at < file[0][1]), None)
    if around is None:
        return None
    (start, stop), path = around
    begins = data.find(b"\n", start, at)
    is_named_only = begins < 0 or not data[begins:at].strip()
    if is_named_only and not path.lower().endswith(MARKDOWN) and word in data[at:stop]:
        return None
    plan = Plan(None, tuple(reading.blocks), source=data[:open_at])
    return mask_operations(plan) + re.sub(_BLANKED, b" ", data[open_at:])


def _read_together(
    data: bytes, names: Sequence[str], *, chosen: bool = False, **how: Unpack[ReadOptions]
) -> tuple[Plan, Prose]:
    """Read a document in these dialects; return the plan, and the text beside its operations."""
    plan = _read(data, names, chosen=chosen, **how)
    prose = prose_of(plan)
    if plan.fatal or how.get("run_fences") or plan.notation in (None, NATIVE):
        return plan, prose
    return plan.replace(notes=(*plan.notes, *load(SHELL).not_run(prose[0]))), prose


def notes_on_shown(data: bytes, **how: Unpack[ReadOptions]) -> list[str]:
    """Return notes on the files and commands that a document without operations shows."""
    reading = _reading(data, **how)
    for row in NOTATIONS.values():
        if row.rank == IN_PROSE and any(hint in data for hint in row.hints):
            try:
                _NextBlock(reading, row.name).next(reading.start)
            except UnreadableError:
                continue
    return [*reading.notes, *load(SHELL).not_run(data)]


def refuse_if_empty(plan: Plan, **how: Unpack[ReadOptions]) -> Plan:
    """Return a plan; if a document shows a dialect and nothing could be read, that is fatal."""
    if plan.fatal or plan.blocks:
        return plan
    name = plan.notation or ""
    line = plan.source.count(b"\n", 0, first_sign(plan.source, name, **how) or 0) + 1
    message = (
        f"Line {line}: This looks like {title(name)}, but there is nothing in it that can be carried out"
    )
    because = [*plan.notes[1:2], *(each.text for each in plan.not_applied[:1])]
    message = "; ".join([message, *because[:1]])  # the first note says in which dialect it was read
    return plan.replace(fatal=Problem("malformed_dialect", message, line))


def first_sign(data: bytes, name: str, **how: Unpack[ReadOptions]) -> int | None:
    """Return where a document first shows that it is in this dialect."""
    reading = _reading(data, **how)
    try:
        found = _next({name: _NextBlock(reading, name)}, reading.start)
    except UnreadableError as error:
        return error.offset  # which is for the reading to refuse
    return found[1] if found else None


def places_of_blocks(text: bytes, names: Iterable[str], **how: Unpack[ReadOptions]) -> list[tuple[int, str]]:
    """Return where operations of these dialects are in a text, and of which; one that is cut off counts."""
    reading, broken = _reading(text, **how), []
    try:
        _read_blocks(reading, names)
    except UnreadableError as error:
        broken = [(error.offset, reading.dialect)] if reading.dialect else []
    asked = [item for item in reading.operations if not getattr(item, "suggested", False)]
    return [*((item.span[0], dialect_of(item)) for item in asked), *broken]


def mask_operations(plan: Plan) -> bytes:
    """Return the document with blanks in place of its operations, line by line."""
    pieces, at = [], 0
    gaps = prose_of(plan)[1]
    for start, end in zip(gaps[::2], gaps[1::2], strict=True):
        pieces += [re.sub(_BLANKED, b" ", plan.source[at:start]), plan.source[start:end]]
        at = end
    return b"".join([*pieces, re.sub(_BLANKED, b" ", plan.source[at:])])


def _reading(data: bytes, *, chosen: bool = False, **how: Unpack[ReadOptions]) -> Reading:
    return Reading(data, *answer_span(data), chosen=chosen, **how)


def _read(data: bytes, names: Iterable[str], *, chosen: bool = False, **how: Unpack[ReadOptions]) -> Plan:
    reading = _reading(data, chosen=chosen, **how)
    fatal = None
    try:
        _read_blocks(reading, names)
    except UnreadableError as error:
        fatal = reading.fatal(error)
    # The first operation decides how a report is written.
    met = _formats(reading) or list(reading.dialects) or (list(names)[:1] if chosen else [])
    foreign = not chosen and any(NOTATIONS[name].rank for name in met)
    notes = [f"read as {' and '.join(map(title, met))}"] if foreign else []
    blocks = tuple(reading.blocks)
    first: Any = met[0] if met else None
    if not blocks and reading.ignored and not fatal:
        blocks = (Block(1, None, False, ()),)  # it is read, and asks for nothing
    return Plan(
        first, blocks, fatal, (*notes, *reading.notes), data, reading.atomic,
        not_applied=tuple(reading.not_applied),
    )  # fmt: skip


def _read_blocks(reading: Reading, names: Iterable[str]) -> None:
    """Read block after block, in any of these formats."""
    waiting = {name: _NextBlock(reading, name) for name in names}
    at, opened = reading.start, b""  # the mark of the fence that is open there
    while found := _next(waiting, at):
        name, place, floor = found
        around = open_fence(reading.data, floor, place, opened) if len(waiting) > 1 else None
        opened = around.mark if around else b""
        reading.dialect = name if NOTATIONS[name].rank else ""
        at = _read_block(reading, waiting, name, place, floor)
        closing = re.compile(_CLOSING).match(reading.data, at, reading.end) if opened else None
        if NOTATIONS[name].takes_fence:
            opened = b""
        elif closing:  # of a fence around the block, which is not a new one
            at, opened = closing.end(), b""
    for each in waiting.values():
        finish = getattr(each.blocks, "finish", None)  # for checks that need all blocks
        if finish:
            finish()


def _read_block(reading: Reading, waiting: dict[str, _NextBlock], name: str, place: int, floor: int) -> int:
    """Read the block that starts here, and return where it ends.

    A call of an unknown tool with operations of our own in it is only their wrapper: they are read next.
    """
    complete, passed_over, is_new = reading.complete, len(reading.not_applied), name not in reading.dialects
    reading.dialects[name] = None
    end = waiting[name].blocks.read(place, floor)
    native = waiting.get(NATIVE)
    inside = native.next(place) if native and reading.complete == complete else None
    if inside is not None and place < inside < end:
        del reading.not_applied[passed_over:]
        if is_new:
            del reading.dialects[name]
        return inside
    return end


def _next(waiting: dict[str, _NextBlock], at: int) -> tuple[str, int, int] | None:
    """Return the dialect of the next block, its offset, and the offset after which its name may be."""
    first, nearest = "", None
    for name, each in waiting.items():
        place = each.next(at, nearest)
        if place is not None and (nearest is None or place < nearest):
            first, nearest = name, place
    return None if nearest is None else (first, nearest, at)


class _NextBlock:
    """The next block of a dialect; it is searched once and remembered.

    A dialect of rank 2 is only searched before the next block of the others, because their content has many
    of its signs.
    """

    def __init__(self, reading: Reading, name: str) -> None:
        self.blocks: Blocks = load(name).Blocks(reading)
        self._in_prose = NOTATIONS[name].rank == IN_PROSE
        self._next: int | None = -1

    def next(self, at: int, before: int | None = None) -> int | None:
        """Return where the next block starts, at or after a place, and before another if that is given."""
        if self._next is None or self._next >= at:
            return self._next
        if not self._in_prose or before is None:
            self._next = self.blocks.next(at)
            return self._next
        found = self.blocks.next(at, before)
        self._next = -1 if found is None else found
        return found
