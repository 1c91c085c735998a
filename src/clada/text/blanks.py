"""Blanks that look like the plain one, and are not: models and web pages put them in."""

from __future__ import annotations

# Of all widths, and without any.
ODD_BLANKS = "".join(map(chr, (0xA0, 0x1680, *range(0x2000, 0x200C), 0x202F, 0x205F, 0x3000, 0xFEFF)))


def odd_blank(text: str) -> str | None:
    """Return a hint at a blank in a text that is not the plain one, if there is any."""
    found = next((char for char in text if char in ODD_BLANKS), None) if not text.isascii() else None
    if found is None:
        return None
    what = "a no-break space" if found == "\u00a0" else "an unusual blank"
    return f"there is {what} in it (U+{ord(found):04X}): write a plain one"
