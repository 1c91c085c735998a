"""Documents of edits, and how they are carried out: through the library."""

from __future__ import annotations

import clada


def search(path: str, old: str, new: str) -> str:
    """Return a SEARCH operation."""
    return f'<---SEARCH file="{path}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'


def execute(document: str, folder: str, record: str = "none", *, atomic: bool = False) -> None:
    """Parse and execute a document, all of which must succeed."""
    report = clada.execute(clada.parse(document), workspace=folder, record=record, atomic=atomic)
    if not report.ok:
        raise SystemExit(f"the benchmark's document failed: {next(t for t in report.tasks if t.error)}")
