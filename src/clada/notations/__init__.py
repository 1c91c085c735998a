"""From text to plan: which notation a document is in, and its reading. No input or output."""

from __future__ import annotations

from clada.errors import Problem, invalid_utf8, too_large
from clada.grammar import END_DELIMITER, MAX_INPUT, START_DELIMITER, check_delimiters
from clada.model import Plan
from clada.notations.registry import NOTATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.notations.registry import Delimiters, Module

BOM = b"\xef\xbb\xbf"
NOTHING_FOUND = "no operations found"


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
    name = detect(data, delimiters) if notation == "auto" else notation
    plan = load(name).read(data, delimiters) if name else Plan(None, source=data)
    return with_remarks(plan, notation, delimiters)


def _checked(document: str | bytes) -> bytes | Problem:
    """Return the document as UTF-8 without BOM and with LF line endings, or what forbids reading it."""
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


def detect(data: bytes, delimiters: Delimiters) -> str | None:
    """Return the notation whose first sign comes first."""
    best, before = None, data  # of the next, only an earlier sign counts
    for name, row in NOTATIONS.items():
        sign = load(name).sign(before, delimiters) if row.hint in before else None
        if sign is not None:
            best, before = name, data[:sign]
    return best


def load(name: str) -> Module:
    """Import the module of a notation, when a document needs it: start-up is a feature."""
    from importlib import import_module

    return import_module(NOTATIONS[name].module)


def with_remarks(plan: Plan, asked: str, delimiters: Delimiters) -> Plan:
    """Return a plan with what is to be said of the text beside its operations.

    That is a note on what was probably meant as one, too. Where there are no operations at all, it is fatal.
    `asked` is the notation that was asked for, or auto.
    """
    if plan.fatal:
        return plan
    if not any(block.operations for block in plan.blocks):
        from clada.notations.lookalikes import without_operations

        detected = None if asked == "auto" else detect(plan.source, delimiters)
        fatal = without_operations(plan, asked, detected, delimiters)
        return plan.replace(fatal=fatal) if fatal else plan.replace(notes=(NOTHING_FOUND, *plan.notes))
    at, beside = 0, []  # where the last operation ended; the pieces of the document between them
    for block in plan.blocks:
        for item in block.operations:
            start, end = item.span
            if start - at > 1:  # more than a line break
                beside.append((at, start))
            at = max(at, end)
    if len(plan.source) - at > 1:
        beside.append((at, len(plan.source)))
    if not beside:
        return plan
    from clada.notations.lookalikes import overlooked

    note = overlooked(plan, beside, delimiters)
    return plan.replace(notes=(note, *plan.notes)) if note else plan
