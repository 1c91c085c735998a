"""The notations: one row each, with all that differs between them. No other module names one.

A notation is a module with two functions, `sign` and `read` (see Module), and its row here. A document is in
the notation whose first sign comes first; of signs at the same place, the earlier row counts.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from clada.model import Plan

    Delimiters = tuple[str, str]  # how a marker starts and ends, where a notation has such

    class Module(Protocol):
        """What the module of a notation offers."""

        def sign(self, data: bytes, delimiters: Delimiters) -> int | None:
            """Return where the document first shows that it is in this notation."""

        def read(self, data: bytes, delimiters: Delimiters) -> Plan:
            """Read a document: valid UTF-8, LF line endings."""


# The families of reports: `[task-1] SUCCESS: WRITE - a.txt (created, 6 bytes)`, and
# `[task-1] Success: created a.txt`.
TAGGED, SENTENCES = "tagged", "sentences"

ONE = "a document is in one notation only"
COLUMN = "a marker must start at the first column"
LINE_START = "an element must start its line"

_MARKERS = rb"(?:WRITE|RUN|SEARCH|TASKS)\b"
_DASH = rb"(?:-|\xe2\x80[\x90-\x95]|\xe2\x88\x92)"  # and those that word processors make of hyphens
_ELEMENT = rb"(?:tasks|edit|write|move|remove|run)\b"
_LIST_ITEM = rb"^[ \t]*+(?:[-*+>]|[0-9]{1,9}[.)])[ \t]"


class Lookalike(Value):
    """What looks like an operation of a notation and is none: a pattern, and what is wrong with it.

    In the pattern, %s stands for the start delimiter.
    """

    pattern: bytes
    advice: str
    own: bool = True  # whether it can also be overlooked in a document of that very notation
    default_delimiters: bool = False  # whether it is only looked for where the delimiters are the usual ones


class Notation(Value):
    """All that is particular to one notation."""

    name: str
    module: str
    hint: bytes  # a document without these bytes shows no sign of it: looked for before the module is loaded
    error_type: str  # of fatal errors in it
    prompt: str  # the file with the instructions for an LLM, in prompts/ if it is not a whole path
    words: Mapping[str, str] = {}  # for operations, in status lines, where they are not their names
    family: str = TAGGED  # of its reports
    summary: str = "none"  # that is printed by default
    numbers_through: bool = False  # tasks are numbered through the document, and not by blocks
    problems_name_lines: bool = False  # in the status lines of invalid operations
    # Blocks of these versions call an edit that found nothing by its older name, search_not_found.
    search_not_found_versions: tuple[str, ...] = ()
    lookalikes: tuple[Lookalike, ...] = ()
    lookalike_signs: tuple[bytes, ...] = ()  # without one of these, no lookalike can match


UNKNOWN = Notation("", "", b"", "invalid_operation", "")  # where no notation has been found

NOTATIONS = {
    row.name: row
    for row in (
        Notation(
            "csl",
            "clada.notations.csl",
            b"",
            "malformed_csl",
            "csl.md",
            words={"edit": "SEARCH"},
            lookalikes=(
                Lookalike(rb"^[ \t>*`\-+0-9.)]+%s" + _MARKERS, COLUMN),
                Lookalike(rb"^%s" + _MARKERS, ONE, own=False),
                Lookalike(rb"^[ \t>*`\-]*+&lt;-+" + _MARKERS, "a marker is written with < and >"),
                Lookalike(
                    rb"^[ \t>*`]*+<" + _DASH + rb"++[ \t]*" + _MARKERS,
                    "a marker starts with <--- and its name",
                    own=False,
                    default_delimiters=True,
                ),
            ),
            lookalike_signs=(b"WRITE", b"SEARCH", b"RUN", b"TASKS"),
        ),
        Notation(
            "cml",
            "clada.notations.cml",
            b"<",
            "malformed_xml",
            "cml.md",
            family=SENTENCES,
            summary="xml",
            numbers_through=True,
            search_not_found_versions=("1.0", "1.0.0"),
            lookalikes=(
                Lookalike(_LIST_ITEM + rb"[^\n<`]{0,80}<" + _ELEMENT, LINE_START),
                Lookalike(rb"^[^\n<`]{1,80}<" + _ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", LINE_START),
                Lookalike(rb"^[ \t]*+<" + _ELEMENT + rb"[^>\n]*\b(?:path|from)\s*=", ONE, own=False),
                Lookalike(rb"^[ \t]*+<(?:tasks|run)(?:[ \t][^>\n]*)?>", ONE, own=False),
                Lookalike(
                    rb"^[ \t]*+<(?!" + _ELEMENT + rb")(?i:" + _ELEMENT + rb")[^>\n]*\bpath\s*=",
                    "names are in lower case",
                ),
                Lookalike(rb"^[ \t>*`\-]*+&lt;" + _ELEMENT, "an element is written with < and >"),
            ),
            lookalike_signs=(b"<", b"&lt;"),
        ),
        Notation(
            "json",
            "clada.notations.json",
            b'"tasks"',
            "malformed_json",
            "json.md",
            summary="json",
            problems_name_lines=True,
            search_not_found_versions=("1.0", "1.0.0"),
            lookalikes=(
                Lookalike(
                    rb'[\[{,]\s*"tasks"\s*:\s*\[\s*\{', "it must be in a block tagged ```json", own=False
                ),
                Lookalike(
                    rb'"action"\s*:\s*"(?:write|edit|move|remove|run)"',
                    "tasks stand in a list, `tasks`",
                    own=False,
                ),
                Lookalike(
                    rb"^[ \t]*+[\[{][ \t\[{]*+'tasks'\s*:", "JSON is written with double quotes", own=False
                ),
            ),
            lookalike_signs=(b'"action"', b"tasks"),
        ),
        Notation(
            "toml",
            "clada.notations.toml",
            b"[[",
            "malformed_toml",
            "toml.md",
            summary="json",
            problems_name_lines=True,
            search_not_found_versions=("1.0", "1.0.0"),
            lookalikes=(
                Lookalike(rb"^\[tasks?\][ \t]*$", "a task is opened by [[task]]", own=False),
                Lookalike(rb"^\[\[tasks?\]\][ \t]*$", ONE, own=False),
            ),
            lookalike_signs=(b"[task",),
        ),
    )
}
