"""From text to plan: which notation a document is in, and its reading. No input or output."""

from __future__ import annotations

from clada.errors import Problem, too_large
from clada.grammar import DELIMITERS, END_DELIMITER, MAX_INPUT, START_DELIMITER, check_delimiters
from clada.model import Plan
from clada.notations.registry import NOTATIONS, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.notations.registry import Delimiters

BOM = b"\xef\xbb\xbf"


def parse(
    document: str | bytes,
    notation: str = "auto",
    *,
    start_delimiter: str = START_DELIMITER,
    end_delimiter: str = END_DELIMITER,
) -> Plan:
    """Read a document into a plan: plan.fatal and plan.problems say what is wrong in it.

    `notation` is auto or the name of one; the delimiters are those of CSL's markers. Raises TypeError or
    ValueError on bad arguments, and nothing else, whatever the text.
    """
    if not isinstance(document, str | bytes):
        raise TypeError(f"parse() takes a str or bytes, not {type(document).__name__}")
    if notation != "auto" and notation not in NOTATIONS:
        raise ValueError(f"unknown notation {notation!r}: use auto, {', '.join(NOTATIONS)}")
    check_delimiters(start_delimiter, end_delimiter)
    delimiters = (start_delimiter, end_delimiter)
    data = _checked(document)
    if isinstance(data, Problem):
        return Plan(None if notation == "auto" else notation, fatal=data)
    name = _detect(data, delimiters) if notation == "auto" else notation
    plan = load(name).read(data, delimiters) if name else Plan(None, source=data)
    if plan.fatal:
        return plan
    if any(block.operations for block in plan.blocks):
        return _with_remarks(plan, delimiters)
    return _without_operations(plan, notation, delimiters)


def _checked(document: str | bytes) -> bytes | Problem:
    """Return the document as UTF-8 without BOM and with LF line endings, or what forbids reading it."""
    if len(document) > MAX_INPUT:
        return too_large()
    if isinstance(document, str):
        try:
            data = document.encode()
        except UnicodeEncodeError as error:
            return invalid_utf8(len(document[: error.start].encode()))
        if len(data) > MAX_INPUT:
            return too_large()
    else:
        data = document
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError as error:
                return invalid_utf8(error.start)
    data = data.removeprefix(BOM)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def invalid_utf8(offset: int) -> Problem:
    """Return the problem of a document that is not UTF-8."""
    return Problem("invalid_utf8", f"Invalid UTF-8 at byte offset {offset}")


def _detect(data: bytes, delimiters: Delimiters) -> str | None:
    """Return the notation whose first sign comes first."""
    best, before = None, data  # of the next, only an earlier sign counts
    for name, row in NOTATIONS.items():
        sign = load(name).sign(before, delimiters) if row.hint in before else None
        if sign is not None:
            best, before = name, data[:sign]
    return best


def _with_remarks(plan: Plan, delimiters: Delimiters) -> Plan:
    """Return the plan with a note on what was probably meant as an operation and is none."""
    from clada.notations.lookalikes import overlooked

    note = overlooked(plan, delimiters[0], usual=delimiters == DELIMITERS)
    return plan.replace(notes=(note, *plan.notes)) if note else plan


def _without_operations(plan: Plan, given: str, delimiters: Delimiters) -> Plan:
    """Return a plan that says why a document without operations is probably not what was meant."""
    from clada.notations.lookalikes import lookalike, mismatch

    detected = None if given == "auto" else _detect(plan.source, delimiters)
    if detected and detected != given:
        return plan.replace(fatal=mismatch(given, detected))
    notation = plan.notation if plan.blocks else None
    found = lookalike(plan.source, delimiters[0], usual=delimiters == DELIMITERS, notation=notation)
    return plan.replace(fatal=found) if found else plan.replace(notes=(NOTHING_FOUND, *plan.notes))


NOTHING_FOUND = "no operations found"
