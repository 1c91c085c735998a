"""What an attack consists of: rows that say what was required and what was observed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Row(NamedTuple):
    """One case: what has to come of it, and what came of it. `ok` is None where it could not be tried."""

    case: str
    required: str
    observed: str
    ok: bool | None

    def __str__(self) -> str:
        """Return the row as one line."""
        return f"{self.case}: required {self.required}; observed {self.observed}"


def missing(command: str) -> str | None:
    """Return what the row of a command observes where its program is not installed; else None."""
    program = command.split(maxsplit=1)[0]
    return None if shutil.which(program) else f"{program} is not installed here"


def failures(rows: Iterable[Row]) -> list[str]:
    """Return the rows that show a failure, one line each."""
    return [str(row) for row in rows if row.ok is False]
