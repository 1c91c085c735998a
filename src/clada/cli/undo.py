"""`clada undo`: reverts a run."""

from __future__ import annotations

import json

from clada.errors import UsageError
from clada.grammar import read_number
from clada.past import undo, undo_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.record.undo import Undone


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Undo the last run that changed something, or the one with the given number; print what was restored."""
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"undo takes the number of a run, not {arguments[0]!r}", "clada history")
    if options["record"] == "none":
        raise UsageError("an undo is recorded too, so that it can be undone", "clada undo --record=snapshots")
    names = ("dry_run", "git_author", "lock_timeout", *(["record"] if options["record"] else []))
    undone = undo(
        options["workspace"],
        number,
        waiting=lambda: console.note("waiting for another run in this repository"),
        **{name: options[name] for name in names},
    )
    if options["json"]:
        console.write(json.dumps(_as_dict(undone, options), indent=2) + "\n")
    else:
        console.write(undo_text(undone, dry_run=options["dry_run"]))
    for note in undone.notes:
        console.note(note)
    return 0


def _as_dict(undone: Undone, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "undone": undone.run.number,
        "what": undone.run.what,
        "dry_run": options["dry_run"],
        "restored": list(undone.restored),
        "removed": list(undone.removed),
        "run": undone.number or None,
        "commit": undone.commit or None,
        "notes": list(undone.notes),
    }
