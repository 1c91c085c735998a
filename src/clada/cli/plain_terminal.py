"""A terminal without colour: stands in for rich where that is not installed, as in the one-file build."""

from __future__ import annotations

import os
from unicodedata import combining, east_asian_width

COLOR_SYSTEMS = {"standard": None}
WIDE = ("F", "W")
FALLBACK = os.terminal_size((80, 24))


def cell_len(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 1 + (east_asian_width(each) in WIDE) for each in text)


def set_cell_size(text: str, total: int) -> str:
    """Return a text that takes this many columns: cut, or filled with blanks."""
    while cell_len(text) > total:
        text = text[:-1]
    return text + " " * (total - cell_len(text))


class Style:
    """A style of a text, which is not shown."""

    @staticmethod
    def parse(_words: str) -> Style:
        """Return it, by its words."""
        return Style()

    def render(self, text: str, *, color_system: None) -> str:  # noqa: ARG002 (rich names it)
        """Return the text as it is."""
        return text


class Console:
    """The size of the terminal; it has no colours."""

    color_system = None

    def __init__(self, *, force_terminal: bool | None = None) -> None:
        self.is_dumb_terminal = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self.force_terminal = force_terminal

    @property
    def width(self) -> int:
        """How many columns a line has."""
        return self._size().columns

    @property
    def height(self) -> int:
        """How many lines the screen has."""
        return self._size().lines

    @staticmethod
    def _size() -> os.terminal_size:
        for handle in (0, 1, 2):
            try:
                size = os.get_terminal_size(handle)
            except OSError:
                continue
            if size.columns and size.lines:
                return size
        return FALLBACK
