"""`clada undo`: the files that a run changed are put back, in a new commit."""

from __future__ import annotations

from clada.cli.history import SHORT
from clada.errors import UsageError
from clada.grammar import read_number
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.git.undo import Undone


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Undo the last run, or the one that is named, and say what came of it."""
    number = _number(arguments)
    from clada.world.git.undo import undo

    undone = undo(
        options["workspace"],
        number,
        options["git_author"],
        lock_timeout=options["lock_timeout"],
        waiting=lambda: console.complain("clada: waiting for another run in this repository"),
    )
    console.write("".join(f"{line}\n" for line in _lines(undone)))
    for note in undone.notes:
        console.complain(f"clada: {note}")
    return 0


def _number(arguments: Sequence[str]) -> int | None:
    if not arguments:
        return None
    number = read_number(arguments[0])
    if not number:
        raise UsageError(f"undo takes the number of a run, not {arguments[0]!r}; clada history lists them")
    return number


def _lines(undone: Undone) -> Iterator[str]:
    yield f"undone: run {undone.run.number} ({escape_controls(undone.run.what)})"
    yield from (f"  restored {escape_controls(path)}" for path in undone.restored)
    yield from (f"  removed {escape_controls(path)}" for path in undone.removed)
    yield f"recorded as run {undone.number}, commit {undone.commit[:SHORT]}; clada undo takes it back"
