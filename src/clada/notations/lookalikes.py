"""What looks like an operation and is none: a likely mistake of an LLM, named with its line."""

from __future__ import annotations

from clada.errors import Problem
from clada.notations.csl import START
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.model import Plan

MOST = 1 << 20  # bytes of prose that are looked through
# Without one of these, no row of the table can match: looked for before `re` is loaded.
SIGNS = (b"WRITE", b"SEARCH", b"RUN", b"TASKS", b"<", b"&lt;", b'"action"', b"tasks", b"[task")
ELEMENT = rb"(?:tasks|edit|write|move|remove|run)\b"
DASH = rb"(?:-|\xe2\x80[\x90-\x95]|\xe2\x88\x92)"  # and those that word processors make of hyphens
LIST_ITEM = rb"^[ \t]*+(?:[-*+>]|[0-9]{1,9}[.)])[ \t]"


NAMES = rb"(?:WRITE|RUN|SEARCH|TASKS)\b"
NEARLY = f"a marker starts with {START} and its name"
COLUMN, LINE, ONE = (
    "a marker must start at the first column",
    "an element must start its line",
    "a document is in one notation only",
)


class Row(Value):
    """A pattern, the notation that was probably meant, and what is wrong with it."""

    pattern: bytes
    notation: str
    advice: str
    own: bool = True  # whether it can also be overlooked in a document of that very notation


# In the patterns, %s is the start delimiter.
TABLE = (
    Row(rb"^[ \t>*`\-+0-9.)]+%s" + NAMES, "csl", COLUMN),
    Row(rb"^%s" + NAMES, "csl", ONE, own=False),
    Row(rb"^[ \t>*`\-]*+&lt;-+" + NAMES, "csl", "a marker is written with < and >"),
    Row(
        rb"^[ \t>*`]*+<" + DASH + rb"++[ \t]*" + NAMES,
        "csl",
        NEARLY,
        own=False,
    ),
    Row(LIST_ITEM + rb"[^\n<`]{0,80}<" + ELEMENT, "cml", LINE),
    Row(rb"^[^\n<`]{1,80}<" + ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", "cml", LINE),
    Row(rb"^[ \t]*+<" + ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", "cml", ONE, own=False),
    Row(rb"^[ \t]*+<(?:tasks|run)(?:[ \t][^>\n]*)?>", "cml", ONE, own=False),
    Row(
        rb"^[ \t]*+<(?!" + ELEMENT + rb")(?i:" + ELEMENT + rb")[^>\n]*\bpath\s*=",
        "cml",
        "names are in lower case",
    ),
    Row(rb"^[ \t>*`\-]*+&lt;" + ELEMENT, "cml", "an element is written with < and >"),
    Row(rb'[\[{,]\s*"tasks"\s*:\s*\[\s*\{', "json", "it must be in a block tagged ```json", own=False),
    Row(
        rb'"action"\s*:\s*"(?:write|edit|move|remove|run)"',
        "json",
        "tasks stand in a list, `tasks`",
        own=False,
    ),
    Row(rb"^[ \t]*+[\[{][ \t\[{]*+'tasks'\s*:", "json", "JSON is written with double quotes", own=False),
    Row(rb"^\[tasks?\][ \t]*$", "toml", "a task is opened by [[task]]", own=False),
    Row(rb"^\[\[tasks?\]\][ \t]*$", "toml", ONE, own=False),
)
TYPES = {"csl": "malformed_csl", "cml": "malformed_xml", "json": "malformed_json", "toml": "malformed_toml"}


def lookalike(data: bytes, start_delimiter: str, notation: str | None = None) -> Problem | None:
    """Return the first line that was probably meant as an operation, in a document without any.

    The notation is the document's, where it has blocks that are empty.
    """
    found = _first(data[:MOST], start_delimiter, _rows(notation))
    if found is None:
        return None
    at, row = found
    line = data.count(b"\n", 0, at) + 1
    message = f"Line {line}: This looks like an operation, but {row.advice}"
    return Problem(TYPES[row.notation], message, line)


def mismatch(given: str, detected: str) -> Problem:
    """Return the problem of a document in another notation than the one that was asked for."""
    message = f"This looks like {detected.upper()}, but it was to be read as {given.upper()}"
    return Problem(TYPES[given], message)


def overlooked(plan: Plan, start_delimiter: str) -> str | None:
    """Return a note on the first line beside the operations of a plan that was probably meant as one, too."""
    pieces = list(_beside(plan))
    prose = b"".join(piece for _, piece in pieces)[:MOST]
    found = _first(prose, start_delimiter, _rows(plan.notation))
    if found is None:
        return None
    at, row = found
    for start, piece in pieces:
        if at < len(piece):
            line = plan.source.count(b"\n", 0, start + at) + 1
            advice = row.advice if row.notation == plan.notation else ONE
            return f"Line {line} looks like an operation and was ignored: {advice}"
        at -= len(piece)
    return None


def _rows(notation: str | None) -> list[Row]:
    """Return what can be overlooked in a document of this notation."""
    return [row for row in TABLE if row.notation != notation or row.own]


def _beside(plan: Plan) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of the document between its operations, with where they start."""
    at = 0
    for block in plan.blocks:
        for operation in block.operations:
            start, end = operation.span
            if start > at:
                yield at, plan.source[at:start]
            at = max(at, end)
    yield at, plan.source[at : at + MOST]


def _first(text: bytes, start_delimiter: str, rows: list[Row]) -> tuple[int, Row] | None:
    """Return the first place that a row of the table matches."""
    if not any(sign in text for sign in SIGNS):
        return None
    import re

    mark = re.escape(start_delimiter.encode())
    found = []
    for row in rows:
        if row.advice == NEARLY and start_delimiter != START:
            continue
        pattern = row.pattern.replace(b"%s", mark)
        match = re.search(pattern, text, re.MULTILINE)
        if match:
            found.append((match.start(), row))
    return min(found, key=lambda pair: pair[0]) if found else None
