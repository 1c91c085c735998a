"""Columns of text, and the width that they have to fit into."""

from __future__ import annotations

import os

from clada.cli.console import STDOUT
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GAP = 2  # blanks between columns
NARROWEST = 20  # columns of the screen below which a field is cut only if no other can be


def screen_width() -> int | None:
    """Return the columns of the terminal on standard output; None if it is not one."""
    try:
        return int(os.environ.get("COLUMNS", "")) if os.isatty(STDOUT) else None
    except ValueError:
        return os.get_terminal_size(STDOUT).columns or None


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], right: int = -1) -> Iterator[str]:
    """Yield a header and rows in columns; on a terminal the last column is cut to fit, then the widest.

    `right` is the column that is aligned to the right, as numbers are.
    """
    shown = [tuple(map(escape_controls, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    if (width := screen_width()) is not None:
        widest = max(range(len(widths) - 1), key=widths.__getitem__)
        for at, least in ((-1, NARROWEST), (widest, NARROWEST), (-1, 1)):
            excess = max(sum(widths) + GAP * (len(widths) - 1) - width, 0)
            widths[at] = min(widths[at], max(widths[at] - excess, least))
    for row in shown:
        fields = []
        for at, (text, size) in enumerate(zip(row, widths, strict=True)):
            cut = f"{text[: size - 1]}…" if len(text) > size else text
            fields.append(cut.rjust(size) if at == right else cut.ljust(size))
        yield (" " * GAP).join(fields).rstrip()
