"""Columns of text, and the width that they have to fit into."""

from __future__ import annotations

import os

from clada.cli.console import STDOUT
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GAP = 2  # blanks between columns
NARROWEST = 20  # columns that the last field gets at least


def screen_width() -> int | None:
    """Return the columns of the terminal on standard output; None if it is not one."""
    try:
        return int(os.environ.get("COLUMNS", "")) if os.isatty(STDOUT) else None
    except ValueError:
        return os.get_terminal_size(STDOUT).columns or None


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], right: int = -1) -> Iterator[str]:
    """Yield a header and rows in columns; on a terminal the last column is cut to fit.

    `right` is the column that is aligned to the right, as numbers are.
    """
    shown = [tuple(map(escape_controls, row)) for row in (header, *rows)]
    widths = [max(len(row[at]) for row in shown) for at in range(len(header) - 1)]
    room, width = None, screen_width()
    if width is not None:
        room = max(width - sum(widths) - GAP * len(widths), NARROWEST)
    for row in shown:
        fields = [
            row[at].rjust(size) if at == right else row[at].ljust(size) for at, size in enumerate(widths)
        ]
        last = row[-1]
        fields.append(f"{last[: room - 1]}…" if room is not None and len(last) > room else last)
        yield (" " * GAP).join(fields).rstrip()
