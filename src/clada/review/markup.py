"""HTML by construction: text is escaped unless it is `Markup`, which only this package makes.

Characters that cannot be seen, or change the direction of others, are shown by their numbers.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from unicodedata import category

INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp", "Zs"}  # categories of Unicode
BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols without ink
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
VOID = {"input", "br", "hr", "meta", "link"}
_ASCII_OR_NOT = re.compile(r"[^\x00-\x7f]+|[\x00-\x7f]+")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def el(tag: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """Return an element. `class_` is the attribute class, `data_x` is data-x; None and False are left out."""
    written = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    opened = f"<{tag}{''.join(written)}>"
    return Markup(opened if tag in VOID else f"{opened}{join(*children)}</{tag}>")


def join(*parts: str | None) -> Markup:
    """Return the parts in a row; those that are not markup are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts if part))


def text(value: str) -> Markup:
    """Return a text as markup, with characters that cannot be seen marked."""
    if value.isascii() and value.translate(_LAYOUT).isprintable():
        return Markup(escape(value))
    return Markup("".join(map(_shown, value)))


def odd_text(value: str) -> Markup:
    """Return a command or path as markup, in which everything that is not ASCII stands out."""
    pieces = (
        text(piece) if piece.isascii() else el("span", piece, class_="odd", title=numbers(piece))
        for piece in _ASCII_OR_NOT.findall(value)
    )
    return join(*pieces)


def visible(value: str) -> str:
    """Return a text in which characters that cannot be seen are replaced by their numbers."""
    if value.isascii() and value.translate(_LAYOUT).isprintable():
        return value
    return "".join(f"⟨{_number(char)}⟩" if _is_invisible(char) else char for char in value)


def numbers(value: str) -> str:
    """Return the numbers of characters, each once: `U+0430 U+200B`."""
    return " ".join(map(_number, dict.fromkeys(value)))


_LAYOUT = {ord("\n"): " ", ord("\t"): " "}


def _number(char: str) -> str:
    return f"U+{ord(char):04X}"


@cache
def _is_invisible(char: str) -> bool:
    return char not in "\n\t " and (category(char) in INVISIBLE or char in BLANK_LETTERS)


def _shown(char: str) -> str:
    return f'<span class="ctl">⟨{_number(char)}⟩</span>' if _is_invisible(char) else escape(char)
