"""`clada undo`: restores the files that a run changed, in a new commit."""

from __future__ import annotations

from clada.cli.history import SHORT
from clada.errors import UsageError
from clada.grammar import read_number
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Undo the last run, or the one with the given number, and print what was restored."""
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"undo takes the number of a run, not {arguments[0]!r}; clada history lists them")
    from clada.world.git.undo import undo

    undone = undo(
        options["workspace"],
        number,
        options["git_author"],
        lock_timeout=options["lock_timeout"],
        waiting=lambda: console.complain("clada: waiting for another run in this repository"),
    )
    lines = [
        f"undone: run {undone.run.number} ({escape_controls(undone.run.what)})",
        *(f"  restored {escape_controls(path)}" for path in undone.restored),
        *(f"  removed {escape_controls(path)}" for path in undone.removed),
        f"recorded as run {undone.number}, commit {undone.commit[:SHORT]}; clada undo takes it back",
    ]
    console.write("".join(f"{line}\n" for line in lines))
    for note in undone.notes:
        console.complain(f"clada: {note}")
    return 0
