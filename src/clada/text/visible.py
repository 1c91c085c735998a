"""A text with nothing hidden in it, for a person who decides about it."""

from __future__ import annotations

BLANKS_SHOWN = 3  # in a row; more are counted
INVISIBLE = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols, by their category, that look like blanks


def visible(text: str) -> str:
    """Return a text as one line, with invisible characters escaped and long runs of blanks as a count.

    What stands for a character is in ⟨⟩, so that a line break is not taken for a backslash and an `n`.
    """
    import unicodedata

    def escape(char: str) -> str:
        plain = char == " " or (char.isascii() and char.isprintable())
        if plain or (unicodedata.category(char)[0] in "LNPS" and char not in INVISIBLE and char != "\u27e8"):
            return char
        return f"\u27e8{char.encode('unicode_escape').decode()}\u27e9"

    pieces: list[str] = []
    blanks = 0
    for piece in "".join(map(escape, text)).split(" "):
        if piece:
            pieces += [_shown_blanks(blanks), piece]
            blanks = 0
        blanks += 1
    return "".join([*pieces, _shown_blanks(blanks - 1)])


def _shown_blanks(count: int) -> str:
    return " " * count if count <= BLANKS_SHOWN else f"\u27e8{count} blanks\u27e9"
