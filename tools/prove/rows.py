"""What a proof consists of: rows that say what was required and what was observed."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CELL = 160  # characters of a cell that are shown
CHANGING = re.compile(r"\S*/clada-prove-\w+")  # places, which are other ones each time


class Row(NamedTuple):
    """One case: what has to come of it, and what came of it. `ok` is None where it could not be tried."""

    case: str
    required: str
    observed: str
    ok: bool | None

    def __str__(self) -> str:
        """Return the row as one line."""
        mark = {True: "ok", False: "FAILED", None: "not run"}[self.ok]
        return f"{mark}: {self.case}: required {self.required}; observed {self.observed}"


def failures(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that disprove something."""
    return [row for row in rows if row.ok is False]


def tally(rows: Iterable[Row]) -> str:
    """Return how many rows there are of each kind."""
    counts = Counter(row.ok for row in rows)
    said = [f"{counts[True]} of {counts[True] + counts[False]} hold"]
    if counts[None]:
        said.append(f"{counts[None]} not run")
    return ", ".join(said)


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a Markdown table."""
    yield "| case | required | observed | |"
    yield "|---|---|---|---|"
    for row in rows:
        mark = {True: "✓", False: "**✗**", None: "not run"}[row.ok]
        yield f"| {_cell(row.case)} | {_cell(row.required)} | {_cell(row.observed)} | {mark} |"


def _cell(text: str) -> str:
    """Return a text that stays in its cell, whatever it is made of."""
    plain = "".join(char if char.isprintable() else repr(char)[1:-1] for char in CHANGING.sub("…", text))
    short = plain if len(plain) <= CELL else f"{plain[: CELL - 1]}…"
    return short.replace("\\", "\\\\").replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
