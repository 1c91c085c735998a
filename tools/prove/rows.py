"""What a proof consists of: rows that say what was required and what was observed."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

LENGTH = 160  # characters of a text that are kept
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

    def printable(self) -> Row:
        """Return the row as it is written down: each text one short printable line, the same each time."""
        return Row(_printable(self.case), _printable(self.required), _printable(self.observed), self.ok)


def missing(command: str) -> str | None:
    """Return what the row of a command observes where its program is not installed; else None."""
    program = command.split(maxsplit=1)[0]
    return None if shutil.which(program) else f"{program} is not installed here"


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


def _printable(text: str) -> str:
    plain = "".join(char if char.isprintable() else repr(char)[1:-1] for char in CHANGING.sub("…", text))
    return plain if len(plain) <= LENGTH else f"{plain[: LENGTH - 1]}…"
