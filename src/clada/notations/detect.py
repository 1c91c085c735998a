"""From text to plan: detects the notations of a document, and reads it. No input or output.

Hidden parts (see `hidden`) count only outside of operations. So the document is read first. The parts with
operations in them are blanked, and it is read again, until no operation is in such a part.
"""

from __future__ import annotations

from bisect import bisect_left

from clada.errors import Problem, invalid_utf8, too_large
from clada.grammar import DELIMITERS, END_DELIMITER, MAX_INPUT, START_DELIMITER, check_delimiters
from clada.model import Plan
from clada.notations import dialects
from clada.notations.hidden import Part, Scan, blank_out, is_transcript
from clada.notations.hidden_forms import CLOSED_ALONE, DRAFT, INDENTED, RECORD
from clada.notations.lookalikes import (
    find_overlooked,
    nearest_code_block,
    notes_on_indented_code,
    without_operations,
)
from clada.notations.markdown import line_end
from clada.notations.reading import LineCounter, prose_of
from clada.notations.registry import HINTS, HINTS_IN_PROSE, NOTATIONS, UNKNOWN, holds_any, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clada.notations.reading import Prose
    from clada.notations.registry import Delimiters
    from clada.public_types import ErrorType, Format

    Read = Callable[[bytes], tuple[Plan, Prose | None]]

BOM = b"\xef\xbb\xbf"
NOTHING_FOUND = "no operations found"
MOST_NOTES = 20  # hidden parts with a note each
MOST_ROUNDS = 50  # upper limit of readings of one document; each blanks at least one part
NEVER_CLOSED = "{} is never closed, and there are operations after it: close it, or leave it out"
TOO_MANY = "too many parts that are not scanned have operations in them: leave these parts out"


def parse(  # noqa: PLR0913 (all but two are named)
    document: str | bytes,
    notation: Format = "auto",
    *,
    start_delimiter: str = START_DELIMITER,
    end_delimiter: str = END_DELIMITER,
    roots: Sequence[str] = (),
    run_fences: bool = False,
) -> Plan:
    """Read a document into a plan; plan.fatal and plan.problems say what is wrong with it.

    `notation` is auto or the name of a notation; the delimiters are those of CSL's markers. In the dialects
    of other tools, absolute paths below one of `roots` are made relative; `run_fences` makes a run of each
    fence that is tagged as a shell's. Raises TypeError or ValueError for bad arguments, and never for a text.
    """
    if not isinstance(document, str | bytes):
        raise TypeError(f"parse() takes a str or bytes, not {type(document).__name__}")
    if notation != "auto" and notation not in NOTATIONS:
        raise ValueError(f"unknown notation {notation!r}: use auto, {', '.join(NOTATIONS)}")
    delimiters = (start_delimiter, end_delimiter)
    if delimiters != DELIMITERS:
        check_delimiters(start_delimiter, end_delimiter)
    data = _normalize(document)
    how: dict[str, Any] = {"roots": roots, "run_fences": run_fences}
    if isinstance(data, Problem):
        return Plan(None if notation == "auto" else notation, fatal=data)

    def read(text: bytes) -> tuple[Plan, Prose | None]:
        if notation == "auto":
            return _read_detected(text, delimiters, **how)
        if NOTATIONS[notation].rank:
            return dialects.read(text, notation, **how), None
        return load(notation).read(text, delimiters), None

    plan, prose = _read_visible(data, read, start_delimiter.encode())
    if any(block.attributes for block in plan.blocks):
        plan = _with_atomic(plan)
    return _with_remarks(plan, notation, delimiters, prose, run_fences=run_fences).replace(source=data)


def _normalize(document: str | bytes) -> bytes | Problem:
    """Return the document as UTF-8 without BOM and with LF line endings, or why it cannot be read."""
    if len(document) > MAX_INPUT:
        return too_large()
    try:
        if isinstance(document, str):
            data = document.encode()
        else:
            data = document
            if not data.isascii():
                data.decode()
    except UnicodeEncodeError as error:
        offset = len(error.object[: error.start].encode())
        return invalid_utf8(offset) if offset <= MAX_INPUT else too_large()
    except UnicodeDecodeError as error:
        return invalid_utf8(error.start)
    if len(data) > MAX_INPUT:
        return too_large()
    data = data.removeprefix(BOM)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _with_atomic(plan: Plan) -> Plan:
    """Return a plan with the attribute `atomic` of its blocks as a field; all notations write it alike."""
    blocks = []
    for block in plan.blocks:
        written = block.attributes.get("atomic")
        if written is None:
            blocks.append(block)
            continue
        if written not in ("true", "false"):
            message = f"Line {block.line}: Invalid value for 'atomic': must be 'true' or 'false'"
            fatal = Problem(NOTATIONS[plan.notation or ""].error_type, message, block.line)
            return plan.replace(blocks=tuple(blocks), fatal=plan.fatal or fatal)
        others = {name: value for name, value in block.attributes.items() if name != "atomic"}
        blocks.append(block.replace(attributes=others, atomic=written == "true"))
    return plan.replace(blocks=tuple(blocks), atomic=any(block.atomic for block in blocks))


def native_sign(data: bytes, delimiters: Delimiters) -> tuple[str | None, int | None]:
    """Return the native notation whose first sign comes first, and the offset of that sign."""
    best, at, before = None, None, data  # of the next notation, only an earlier sign counts
    for name, row in NOTATIONS.items():
        if not row.rank and row.hint in before:
            sign = load(name).sign(before, delimiters)
            if sign is not None:
                best, at, before = name, sign, data[:sign]
    return best, at


def _read_detected(data: bytes, delimiters: Delimiters, **how: Any) -> tuple[Plan, Prose | None]:
    """Read a document in the notation that it shows, or in all formats that it shows, if they mix.

    The content of a block or of a file that is written shows nothing. The text beside the operations is
    returned, too, if it is known by then.
    """
    name, sign = native_sign(data, delimiters)
    how = {**how, "delimiters": delimiters}
    visible = data
    if name and sign and not NOTATIONS[name].mixes and holds_any(data[:sign], HINTS_IN_PROSE):
        masked = dialects.without_files(data, sign, NOTATIONS[name].word, **how)
        visible = data if masked is None else masked
        name, sign = native_sign(visible, delimiters)
    if name is None or NOTATIONS[name].mixes:
        return _read_mixed(data, name, **how)
    if sign and holds_any(data[:sign], HINTS):
        found = dialects.read_mixed(data, **how) if dialects.shows_before(data, sign, **how) else None
        if found and (found[0].fatal or native_sign(found[1][0], delimiters)[0] is None):
            return dialects.refuse_if_empty(found[0], **how), found[1]
        if found:
            visible = dialects.mask_operations(found[0])
            name, sign = native_sign(visible, delimiters)
    if name is None or NOTATIONS[name].mixes:
        return _read_mixed(data, name, **how)
    plan = load(name).read(visible, delimiters)
    return plan if visible is data else plan.replace(source=data), None


def _read_mixed(data: bytes, native: str | None, **how: Any) -> tuple[Plan, Prose | None]:
    """Read a document in this notation, if any, and in all dialects that it shows."""
    if not holds_any(data, HINTS + HINTS_IN_PROSE):
        return load(native).read(data, how["delimiters"]) if native else Plan(None, source=data), None
    found = dialects.read_mixed(data, (native,) if native else (), **how)
    return (dialects.refuse_if_empty(found[0], **how), found[1]) if found else (Plan(None, source=data), None)


def _with_remarks(
    plan: Plan, asked: str, delimiters: Delimiters, prose: Prose | None, *, run_fences: bool
) -> Plan:
    """Return a plan with remarks on the text beside its operations, such as likely operations.

    Without any operation, a likely one is fatal. `asked` is the notation that was asked for, or auto.
    """
    if plan.fatal:
        return plan
    if not any(block.operations for block in plan.blocks):
        detected = None if asked == "auto" else _read_detected(plan.source, delimiters)[0].notation
        fatal = without_operations(plan, asked, detected, delimiters)
        if fatal:
            return plan.replace(fatal=fatal)
        shown = dialects.notes_on_shown(plan.source) if holds_any(plan.source, HINTS_IN_PROSE) else []
        hint = "" if plan.notes or shown else nearest_code_block(plan.source)
        return plan.replace(notes=(NOTHING_FOUND + hint, *plan.notes, *shown), not_applied=())
    text, gaps = prose or prose_of(plan)
    signs = [sign for row in NOTATIONS.values() for sign in (*row.lookalike_signs, *row.hints)]
    if not gaps or not holds_any(text, signs):
        return plan
    found = find_overlooked(plan, text, gaps, delimiters, chosen=asked != "auto", run_fences=run_fences)
    notes = notes_on_indented_code(plan, text, gaps, delimiters)
    return plan.replace(not_applied=(*plan.not_applied, *found), notes=(*plan.notes, *notes))


def _read_visible(data: bytes, read: Read, marker: bytes) -> tuple[Plan, Prose | None]:
    """Read a document without its hidden parts; return what `read` returns.

    The plan has the text with blanks in place of these parts.
    """
    text, noted, blanked_all = data, dict[int, str](), False
    for _ in range(MOST_ROUNDS):
        plan, prose = read(text)
        found = _Found(text, plan)
        parts = found.hidden_parts(data, marker)
        chosen = found.to_blank(parts)
        if chosen and found.fatal and not chosen[-1].holds(found.places):
            before = chosen[-1].end if chosen[-1].form is CLOSED_ALONE else chosen[-1].start
            if read(text[:before])[0].fatal:  # it opens in the operation that cannot be read
                chosen.pop()
        unclosed = next((part for part in chosen if part.end is None), None)
        if unclosed:
            return _refuse_unclosed(plan, unclosed), prose
        noted |= {part.start: part.name for part in chosen if part.form.noted and found.is_in(part)}
        if not chosen and not blanked_all and not plan.has_operations and not plan.fatal:
            chosen = [part for part in parts if part.end is not None and part.form is not INDENTED]
            blanked_all = True
        if not chosen:
            return plan.replace(notes=(*plan.notes, *_notes(data, noted))) if noted else plan, prose
        text = blank_out(text, chosen)
    plan, prose = read(text)
    return plan.replace(fatal=Problem(_error_type(plan), TOO_MANY)), prose


class _Found:
    """The offsets of operations, of blocks without any, and of the fatal line in a text."""

    def __init__(self, text: bytes, plan: Plan) -> None:
        lines = LineCounter(text)
        empty = [lines.start(block.line) for block in plan.blocks if not block.operations]
        self.text = text
        # Of a notation that does not mix, only its operations are known: others may follow a hidden one.
        self._alone = not NOTATIONS.get(plan.notation or "", UNKNOWN).mixes
        self.spans = sorted(item.span for item in plan.operations)
        self.places = sorted([start for start, _ in self.spans] + empty)
        self.fatal: tuple[int, int] | None = None  # the line from which the document cannot be read
        if plan.fatal and plan.fatal.line:
            start = LineCounter(text).start(plan.fatal.line)
            self.fatal = start, line_end(text, start, len(text))

    def hidden_parts(self, original: bytes, marker: bytes) -> list[Part]:
        """Return the hidden parts that open outside of the operations, up to the fatal line."""
        text, fatal = self.text, self.fatal
        limit = max(fatal[1], max((end for _, end in self.spans), default=0)) if fatal else len(text)
        scan = Scan(text, marker, original=original, is_transcript=is_transcript(text, self.spans))
        parts: list[Part] = []
        at = 0
        for start, end in [*self.spans, (limit, limit)]:
            if start < at:
                continue
            for part in scan.parts(at, start):
                parts.append(part)
                at = len(text) if part.end is None else max(at, part.end)
            at = max(at, end) if at <= start else at
        if fatal:  # in its line, only a part that starts it
            parts = [
                part for part in parts if part.start < fatal[0] or not text[fatal[0] : part.start].strip()
            ]
        return parts

    def is_in(self, part: Part) -> bool:
        """Whether an operation, a block or the fatal line is in a part; a fatal fence is not in itself."""
        if part.holds(self.places) or not self.fatal:
            return part.holds(self.places)
        first, last = self.fatal
        after = part.end is not None and first >= part.end
        return part.start <= last and not after and not (part.form is RECORD and part.inside > first)

    def to_blank(self, parts: list[Part]) -> list[Part]:
        """Return the parts to be blanked: reasoning, and those with operations in them.

        It stops at a part that may have changed how the rest was read: the next reading decides.
        """
        chosen: list[Part] = []
        for part in parts:
            is_in = self.is_in(part)
            if not is_in and (part.form.name != DRAFT or part.end is None):
                continue
            chosen.append(part)
            end = len(self.text) if part.end is None else part.end
            last = bisect_left(self.spans, (end, 0))  # the last operation that starts before its end
            goes_on = last > 0 and self.spans[last - 1][1] > end
            if goes_on or (self.fatal and end > self.fatal[0]) or (is_in and self._alone):
                break
        return chosen


def _notes(data: bytes, noted: dict[int, str]) -> list[str]:
    """Return notes on hidden parts with operations, which are given by their starts."""
    lines = LineCounter(data)
    first = sorted(noted.items())[:MOST_NOTES]
    notes = [f"Line {lines.line(at)}: operations in {name} were passed over" for at, name in first]
    more = len(noted) - len(first)
    return [*notes, f"operations were passed over in {more} more places"] if more else notes


def _refuse_unclosed(plan: Plan, part: Part) -> Plan:
    line = plan.source.count(b"\n", 0, part.inside) + 1
    tag = plan.source[part.start : part.inside].strip().decode()
    blocks = tuple(block for block in plan.blocks if block.line < line)
    message = f"Line {line}: {NEVER_CLOSED.format(tag)}"
    return plan.replace(blocks=blocks, fatal=Problem(_error_type(plan), message, line))


def _error_type(plan: Plan) -> ErrorType:
    return NOTATIONS.get(plan.notation or "", UNKNOWN).error_type
