"""`clada undo`: puts back what a run changed."""

from __future__ import annotations

from clada.errors import UsageError
from clada.grammar import read_number
from clada.past import undo, undo_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Undo the last run that changed something, or the one with the given number; tell what was restored."""
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"undo takes the number of a run, not {arguments[0]!r}; clada history lists them")
    if options["record"] == "none":
        raise UsageError("undo is recorded, so that it can be undone: --record=commits or snapshots")
    names = ("dry_run", "git_author", "lock_timeout", *(["record"] if options["record"] else []))
    undone = undo(
        options["workspace"],
        number,
        waiting=lambda: console.complain("clada: waiting for another run in this repository"),
        **{name: options[name] for name in names},
    )
    console.write(undo_text(undone, dry_run=options["dry_run"]))
    for note in undone.notes:
        console.complain(f"clada: {note}")
    return 0
