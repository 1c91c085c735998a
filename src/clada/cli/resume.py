"""`clada resume`: applies what failed or was skipped in a run, and nothing that succeeded."""

from __future__ import annotations

from clada.cli.document import carry_out, settings_of, with_uncommitted
from clada.errors import UsageError
from clada.grammar import read_number
from clada.resuming import notes_on, plan_of, refuse_reverted, rest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Resume the last run, or the one with the given number; return the exit code."""
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"resume takes the number of a run, not {arguments[0]!r}", "clada history")
    rest = rest_of(options["workspace"], number)
    if not options["again"]:
        refuse_reverted(rest)
    options = with_uncommitted({**options, **rest.settings, **options["given"]}, ())
    if options["merge"] is True:  # by its flag here
        options = {**options, "merge": "history"}
    plan = plan_of(rest, settings_of(options))
    for note in notes_on(rest, plan):
        console.note(note)
    return carry_out(plan, options, console, rest.left_out)[0]
