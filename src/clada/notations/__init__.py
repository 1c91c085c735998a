"""From text to plan: which notation a document is in, and its reading. No input or output."""

from __future__ import annotations

from clada.errors import Problem, invalid_utf8, too_large
from clada.grammar import DELIMITERS, END_DELIMITER, MAX_INPUT, START_DELIMITER, check_delimiters
from clada.model import Plan
from clada.notations.registry import NOTATIONS, holds_any
from clada.notations.unscanned import read_scanned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.notations.registry import Delimiters, Module

    # A text, and where its pieces stand in the document: the start and the end of each, in turn.
    Prose = tuple[bytes, list[int]]

BOM = b"\xef\xbb\xbf"
NOTHING_FOUND = "no operations found"
# Texts without one of these are in no dialect: of rank 1, and of rank 2.
HINTS, HINTS_IN_PROSE = (
    tuple(hint for row in NOTATIONS.values() if row.rank == rank for hint in row.hints) for rank in (1, 2)
)
ALL_HINTS = HINTS + HINTS_IN_PROSE


def parse(  # noqa: PLR0913 (all but two are named)
    document: str | bytes,
    notation: str = "auto",
    *,
    start_delimiter: str = START_DELIMITER,
    end_delimiter: str = END_DELIMITER,
    roots: Sequence[str] = (),
    run_fences: bool = False,
) -> Plan:
    """Read a document into a plan: plan.fatal and plan.problems say what is wrong in it.

    `notation` is auto or the name of one; the delimiters are those of CSL's markers. Absolute paths below one
    of `roots` are made relative where another tool's dialect has them; `run_fences` makes a run of each fence
    that is tagged as a shell's. Raises TypeError or ValueError on bad arguments, and nothing else, whatever
    the text.
    """
    if not isinstance(document, str | bytes):
        raise TypeError(f"parse() takes a str or bytes, not {type(document).__name__}")
    if notation != "auto" and notation not in NOTATIONS:
        raise ValueError(f"unknown notation {notation!r}: use auto, {', '.join(NOTATIONS)}")
    delimiters = (start_delimiter, end_delimiter)
    if delimiters != DELIMITERS:
        check_delimiters(start_delimiter, end_delimiter)
    data = _checked(document)
    how: dict[str, Any] = {"roots": roots, "run_fences": run_fences}
    if isinstance(data, Problem):
        return Plan(None if notation == "auto" else notation, fatal=data)

    def read(text: bytes) -> tuple[Plan, Prose | None]:
        if notation == "auto":
            return _read_detected(text, delimiters, **how)
        return _read_as(notation, text, delimiters, **how)

    plan, prose = read_scanned(data, read, start_delimiter.encode())
    if any(block.attributes for block in plan.blocks):
        plan = _with_atomic(plan)
    return with_remarks(plan, notation, delimiters, prose, run_fences=run_fences).replace(source=data)


def _read_as(notation: str, data: bytes, delimiters: Delimiters, **how: Any) -> tuple[Plan, None]:
    """Read a document in the notation that was asked for."""
    if not NOTATIONS[notation].rank:
        return load(notation).read(data, delimiters), None
    from clada.notations import dialects

    return dialects.read(data, notation, **how), None


def _read_detected(data: bytes, delimiters: Delimiters, **how: Any) -> tuple[Plan, Prose | None]:
    """Read a document in the notation that it shows, or in all formats that it shows, if they mix.

    What stands in a block or in a file that is to be written is no sign, and no operation. What is beside the
    operations is returned, too, where it is known by then.
    """
    name, sign = native_sign(data, delimiters)
    how = {**how, "delimiters": delimiters}
    seen = data
    if name and sign and not NOTATIONS[name].mixes:
        seen = _without_files(data, sign, NOTATIONS[name].word, **how)
        name, sign = native_sign(seen, delimiters)
    if name is None or NOTATIONS[name].mixes:
        return _read_mixed(data, name, **how)
    if sign and holds_any(data[:sign], HINTS):
        from clada.notations import dialects

        found = dialects.read_mixed(data, **how) if dialects.shows_before(data, sign, **how) else None
        if found and (found[0].fatal or native_sign(found[1][0], delimiters)[0] is None):
            return dialects.judged(found[0], **how), found[1]
        if found:
            seen = dialects.masked_operations(found[0])
            name, sign = native_sign(seen, delimiters)
    if name is None or NOTATIONS[name].mixes:
        return _read_mixed(data, name, **how)
    plan = load(name).read(seen, delimiters)
    return plan if seen is data else plan.replace(source=data), None


def _read_mixed(data: bytes, native: str | None, **how: Any) -> tuple[Plan, Prose | None]:
    """Read a document in this notation, if any, and in all dialects that it shows."""
    if not holds_any(data, ALL_HINTS):
        return load(native).read(data, how["delimiters"]) if native else Plan(None, source=data), None
    from clada.notations import dialects

    found = dialects.read_mixed(data, (native,) if native else (), **how)
    return (dialects.judged(found[0], **how), found[1]) if found else (Plan(None, source=data), None)


def _without_files(data: bytes, sign: int, word: bytes, **how: Any) -> bytes:
    """Return the document without the files that it writes, if this sign of a notation is in one of them."""
    if not holds_any(data[:sign], HINTS_IN_PROSE):
        return data
    from clada.notations import dialects

    masked = dialects.without_files(data, sign, word, **how)
    return data if masked is None else masked


def _with_atomic(plan: Plan) -> Plan:
    """Return a plan whose blocks say by themselves whether they are atomic; all notations write it alike."""
    blocks = []
    for block in plan.blocks:
        said = block.attributes.get("atomic")
        if said is None:
            blocks.append(block)
            continue
        if said not in ("true", "false"):
            message = f"Line {block.line}: Invalid value for 'atomic': must be 'true' or 'false'"
            fatal = Problem(NOTATIONS[plan.notation or ""].error_type, message, block.line)
            return plan.replace(blocks=tuple(blocks), fatal=plan.fatal or fatal)
        others = {name: value for name, value in block.attributes.items() if name != "atomic"}
        blocks.append(block.replace(attributes=others, atomic=said == "true"))
    return plan.replace(blocks=tuple(blocks), atomic=any(block.atomic for block in blocks))


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


def native_sign(data: bytes, delimiters: Delimiters) -> tuple[str | None, int | None]:
    """Return the notation whose first sign comes first, and where; dialects aside."""
    best, at, before = None, None, data  # of the next, only an earlier sign counts
    for name, row in NOTATIONS.items():
        if not row.rank and row.hint in before:
            sign = load(name).sign(before, delimiters)
            if sign is not None:
                best, at, before = name, sign, data[:sign]
    return best, at


def load(name: str) -> Module:
    """Import the module of a notation, when a document needs it: start-up is a feature."""
    # importlib has a function for that, whose own import is a fiftieth of a start.
    module: Module = __import__(NOTATIONS[name].module, fromlist=("read",))
    return module


def load_writer(name: str) -> Any:
    """Import the module that writes a notation (see `write`)."""
    return __import__(NOTATIONS[name].writer, fromlist=("write",))


def with_remarks(
    plan: Plan,
    asked: str,
    delimiters: Delimiters,
    beside_it: Prose | None = None,
    *,
    run_fences: bool = False,
) -> Plan:
    """Return a plan with what is to be said of the text beside its operations.

    That is what was probably meant as one, too. Where there are no operations at all, it is fatal.
    `asked` is the notation that was asked for, or auto.
    """
    if plan.fatal:
        return plan
    if not any(block.operations for block in plan.blocks):
        from clada.notations.lookalikes import nearest, without_operations

        detected = None if asked == "auto" else _read_detected(plan.source, delimiters)[0].notation
        fatal = without_operations(plan, asked, detected, delimiters)
        if fatal:
            return plan.replace(fatal=fatal)
        shown = _shown(plan)
        seen = "" if plan.notes or shown else nearest(plan.source)
        return plan.replace(notes=(NOTHING_FOUND + seen, *plan.notes, *shown), not_applied=())
    prose, gaps = beside_it or beside(plan)
    if not gaps or not _has_signs(prose):
        return plan
    from clada.notations.lookalikes import overlooked

    found = overlooked(plan, prose, gaps, delimiters, chosen=asked != "auto", run_fences=run_fences)
    return plan.replace(not_applied=(*plan.not_applied, *found)) if found else plan


def _has_signs(prose: bytes) -> bool:
    """Whether a text has anything without which nothing in it looks like an operation."""
    signs = [sign for row in NOTATIONS.values() for sign in (*row.lookalike_signs, *row.hints)]
    return holds_any(prose, signs)


def _shown(plan: Plan) -> list[str]:
    """Return notes on what a document without operations shows."""
    if not holds_any(plan.source, HINTS_IN_PROSE):
        return []
    from clada.notations import dialects

    return dialects.shown(plan.source)


def beside(plan: Plan) -> Prose:
    """Return the text that is in no operation of a plan, and where its pieces stand in the document."""
    at, source = 0, plan.source  # where the last operation ended
    gaps: list[int] = []
    for block in plan.blocks:
        for item in block.operations:
            start, end = item.span
            if start - at > 1:  # more than a line break
                gaps += (at, start)
            if end > at:  # noqa: PLR1730 (there are many, and max takes several times as long)
                at = end
    if len(source) - at > 1:
        gaps += (at, len(source))
    pieces = [source[start:end] for start, end in zip(gaps[::2], gaps[1::2], strict=True)]
    return b"".join(pieces), gaps
