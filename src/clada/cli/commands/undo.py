"""`clada undo` reverts a run; `clada recover` rolls back an --atomic run that was killed."""

from __future__ import annotations

from clada import past
from clada.cli.commands.apply import run_number
from clada.errors import UsageError
from clada.past import undo_text
from clada.settings import Settings
from clada.world.record import recover as recovery
from clada.world.record.store import find_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.record.undo import Undone

WAITING = "waiting for another run in this repository"


def undo(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Undo the last run that changed something, or the one with the given number; print what was restored."""
    number = run_number(arguments, "undo")
    if options["record"] == "none":
        raise UsageError("an undo is recorded too, so that it can be undone", "clada undo --record=snapshots")
    names = ("dry_run", "git_author", "lock_timeout", *(["record"] if options["record"] else []))
    undone = past.undo(
        options["workspace"],
        number,
        waiting=lambda: console.note(WAITING),
        **{name: options[name] for name in names},
    )
    if options["json"]:
        console.write_json(_as_dict(undone, options))
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


def recover(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Roll back what is pending in this workspace, and say so."""
    settings = Settings(workspace=options["workspace"], lock_timeout=options["lock_timeout"])
    put_back = find_store(settings.workspace).clear_scratch()
    done = [*put_back, *recovery.recover(settings, lambda: console.note(WAITING))]
    console.write("".join(f"{line}\n" for line in done or ["nothing to recover"]))
    return 0
