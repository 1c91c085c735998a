"""What looks like an operation in a document where none was found: a likely mistake, named with its line."""

from __future__ import annotations

import re

from clada.notations.csl import START
from clada.problems import Problem

NAMES = rb"(?:WRITE|RUN|SEARCH|TASKS)\b"
DASH = rb"(?:-|\xe2\x80[\x90-\x95]|\xe2\x88\x92)"  # and those that word processors make of hyphens
NEARLY = rb"^[ \t>*`]*+<" + DASH + rb"++[ \t]*" + NAMES
QUOTED = rb"^[ \t>*`\-]"  # what a list, a quotation or a code span puts before a line


def lookalike(data: bytes, start_delimiter: str) -> Problem | None:
    """Return the first line that was probably meant as an operation."""
    mark = re.escape(start_delimiter.encode())
    patterns = {
        QUOTED + rb"+" + mark + NAMES: "a marker must start at the first column",
        QUOTED + rb"*+&lt;-+" + NAMES: "a marker is written with < and >",
        QUOTED + rb"*+&lt;(?:tasks|edit|write|move|remove|run)\b": "an element is written with < and >",
        rb"^[ \t]*+```[ \t]*\n\s*+[\[{][^`]{0,200}\"tasks\"\s*:": "a block of JSON must be tagged ```json",
        rb"^[ \t]*+[\[{][ \t\[{]*+\"tasks\"[ \t]*:": "JSON in prose must be in a block tagged ```json",
        rb"^[ \t]*+[\[{][ \t\[{]*+'tasks'[ \t]*:": "JSON is written with double quotes",
    }
    if start_delimiter == START:
        patterns[NEARLY] = f"a marker starts with {START} and its name"
    found = [
        (match.start(), advice)
        for pattern, advice in patterns.items()
        if (match := re.search(pattern, data, re.MULTILINE))
    ]
    if not found:
        return None
    at, advice = min(found, key=_place)
    line = data.count(b"\n", 0, at) + 1
    return Problem("malformed_csl", f"Line {line}: This looks like an operation, but {advice}", line)


def _place(found: tuple[int, str]) -> int:
    return found[0]
