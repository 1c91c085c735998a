"""Escapes text from files, names and commands, so that it can neither forge a line nor control a terminal."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# First and last of each run of characters that move the cursor, start a line, turn the reading
# direction or cannot be seen. Surrogates stand apart: they cannot even be written as UTF-8.
_UNSAFE_RANGES = (
    (0x00, 0x08),  # C0 controls, around the tab
    (0x0A, 0x1F),
    (0x7F, 0x9F),  # DEL and the C1 controls, which some terminals obey like ESC sequences
    (0xAD, 0xAD),  # soft hyphen
    (0x61C, 0x61C),  # Arabic letter mark
    (0x180E, 0x180E),  # Mongolian vowel separator
    (0x200B, 0x200F),  # zero-width characters, direction marks
    (0x2028, 0x202E),  # line and paragraph separators, bidi embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidi isolates
    (0xFEFF, 0xFEFF),  # BOM
    (0xFFF9, 0xFFFB),  # interlinear annotations
    (0xFFFE, 0xFFFF),  # no characters at all: XML forbids them
    (0x1BCA0, 0x1BCA3),  # shorthand format controls
    (0x1D173, 0x1D17A),  # musical format controls
    (0xE0000, 0xE007F),  # tags
)


def escape_controls(text: str) -> str:
    """Return the text with every character escaped that could forge or disturb a line; a tab stays."""
    if text.isprintable() or text.replace("\t", " ").isprintable():
        return text
    escaped = text.translate(_escapes())
    return escaped if escaped.isascii() else escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def escape_lines(text: str) -> str:
    """Return a text of several lines with the same characters escaped; its line feeds stay, too."""
    return "\n".join(map(escape_controls, text.split("\n")))


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Return names as a message lists them, escaped: `a, b, c and 2 more`."""
    shown = ", ".join(map(escape_controls, names[:most]))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def fence_for(text: str) -> str:
    """Return a fence that is longer than any run of its signs in the text."""
    return "`" * (max(map(len, re.findall("`{3,}|~{3,}", text)), default=2) + 1)


@cache  # most runs need none
def _escapes() -> dict[int, str]:
    codes = (code for first, last in _UNSAFE_RANGES for code in range(first, last + 1))
    return {code: chr(code).encode("unicode_escape").decode("ascii") for code in codes}
