"""What looks like an operation in a document where none was found: a likely mistake, named with its line."""

from __future__ import annotations

import re

from clada.problems import Problem


def lookalike(data: bytes, start_delimiter: str) -> Problem | None:
    """Return the first line that was probably meant as an operation."""
    mark = re.escape(start_delimiter.encode())
    patterns = {
        rb"^[ \t>*`\-]+" + mark + rb"(?:WRITE|RUN|SEARCH|TASKS)\b": "a marker must start at the first column",
        rb"^[ \t>*`\-]*+&lt;(?:tasks|edit|write|move|remove|run)\b": "an element is written with < and >",
        rb"^[ \t]*+```[ \t]*\n\s*+[\[{][^`]{0,200}\"tasks\"\s*:": "a block of JSON must be tagged ```json",
        rb"^[ \t]*+[\[{][ \t\[{]*+\"tasks\"[ \t]*:": "JSON in prose must be in a block tagged ```json",
    }
    found = [
        (match.start(), advice)
        for pattern, advice in patterns.items()
        if (match := re.search(pattern, data, re.MULTILINE))
    ]
    if not found:
        return None
    at, advice = min(found)
    line = data.count(b"\n", 0, at) + 1
    return Problem("malformed_csl", f"Line {line}: This looks like an operation, but {advice}", line)
