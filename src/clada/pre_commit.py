"""The hook of .pre-commit-hooks.yaml: refuses files that are answers or reports, or have markers of answers.

    python -m clada.pre_commit FILE …

Code fences in Markdown may have markers: these are examples.
"""

from __future__ import annotations

import re
import sys

from clada.prompts import own_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MARKDOWN = (".md", ".markdown", ".mdx")
FENCE = re.compile(rb"^[ ]{0,3}(`{3,}|~{3,}).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
MARKER = re.compile(
    rb"^(?:<---(?:WRITE|SEARCH|REPLACE|RUN|MOVE|REMOVE|READ|END)\b[^\r\n]*--->|<<<<<<< SEARCH|>>>>>>> REPLACE"
    rb"|\*\*\* (?:Begin|End) Patch)[ \t]*\r?$",
    re.MULTILINE,
)


def find_leftover(name: str, data: bytes) -> str | None:
    """Return the first leftover that does not belong into a commit, with its line; None if there is none."""
    if what := own_text(data):
        return f"{name}: {what.partition(',')[0]}"
    text = data
    if name.lower().endswith(MARKDOWN):
        text = FENCE.sub(lambda match: b"\n" * match[0].count(b"\n"), data)
    found = MARKER.search(text)
    if not found:
        return None
    line = text.count(b"\n", 0, found.start()) + 1
    return f"{name}:{line}: marker of an answer: {found[0].decode(errors='replace').strip()}"


def main(names: Sequence[str]) -> int:
    """Check files; print what was found, and return 1 if there is anything."""
    found = []
    for name in names:
        try:
            with open(name, "rb") as file:
                found.append(find_leftover(name, file.read()))
        except OSError as error:
            found.append(f"{name}: cannot be read: {(error.strerror or str(error)).lower()}")
    lines = list(filter(None, found))
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
