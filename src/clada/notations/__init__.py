"""From text to plan: which notation a document is in, and its reading. No input or output."""

from __future__ import annotations

from clada.errors import Problem, too_large
from clada.grammar import MAX_INPUT
from clada.model import Plan
from clada.notations import csl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Notation(Protocol):
        """What a module of this package offers."""

        NAME: str

        def sign(self, data: bytes) -> int | None:
            """Return where the document first shows that it is in this notation."""

        def read(self, data: bytes) -> Plan:
            """Read a document: valid UTF-8, LF line endings."""


BOM = b"\xef\xbb\xbf"
# The bytes without which a document shows no sign of a notation: looked for before it is loaded.
HINTS = {"cml": b"<", "json": b'"tasks"', "toml": b"[["}
NOTATIONS = ("csl", *HINTS)


def parse(
    document: str | bytes,
    notation: str = "auto",
    *,
    start_delimiter: str = csl.START,
    end_delimiter: str = csl.END,
) -> Plan:
    """Read a document into a plan. Whatever the text, this does not raise: see plan.fatal and plan.problems.

    `notation` is auto, csl, cml, json or toml; the delimiters are those of CSL's markers.
    """
    _check_call(document, notation, start_delimiter, end_delimiter)
    data = _checked(document)
    if isinstance(data, Problem):
        return Plan(None if notation == "auto" else notation, fatal=data)
    given = notation
    if given == "auto":
        notation = _detect(data, start_delimiter) or ""
    if notation == "csl":
        plan = csl.read(data, start_delimiter, end_delimiter)
    else:
        plan = _load(notation).read(data) if notation else Plan(None, source=data)
    if plan.fatal or any(block.operations for block in plan.blocks):
        return plan
    return plan.replace(fatal=_mistake(plan, given, start_delimiter))


def _check_call(document: object, notation: str, start_delimiter: object, end_delimiter: object) -> None:
    """Raise where parse() was called with what is no text, or no notation: that is no matter of the text."""
    if not isinstance(document, str | bytes):
        raise TypeError(f"parse() takes a str or bytes, not {type(document).__name__}")
    if notation not in ("auto", *NOTATIONS):
        raise ValueError(f"unknown notation {notation!r}: use auto, {', '.join(NOTATIONS)}")
    if not isinstance(start_delimiter, str) or not isinstance(end_delimiter, str):
        raise TypeError(f"delimiters must be texts, not {start_delimiter!r} and {end_delimiter!r}")
    csl.check_delimiters(start_delimiter, end_delimiter)


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


def _detect(data: bytes, start_delimiter: str) -> str | None:
    """Return the notation whose first sign comes first."""
    first = csl.sign(data, start_delimiter)
    best = None if first is None else "csl"
    before = data if first is None else data[:first]  # of the next, only an earlier sign counts
    for name, hint in HINTS.items():
        sign = _load(name).sign(before) if hint in before else None
        if sign is not None:
            best, before = name, data[:sign]
    return best


def _load(name: str) -> Notation:
    """Import a notation when a document needs it: start-up is a feature."""
    from importlib import import_module

    return import_module(f"clada.notations.{name}")


def _mistake(plan: Plan, given: str, start_delimiter: str) -> Problem | None:
    """Return why a document without operations is probably not what it was meant to be."""
    from clada.notations.lookalikes import lookalike, mismatch

    detected = None if given == "auto" else _detect(plan.source, start_delimiter)
    if detected and detected != given:
        return mismatch(given, detected)
    return lookalike(plan.source, start_delimiter, plan.notation if plan.blocks else None)
