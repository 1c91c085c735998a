"""`clada convert`: prints a document in another notation."""

from __future__ import annotations

from clada.cli import document
from clada.convert import convert
from clada.errors import UsageError
from clada.exit_codes import FAILED, exit_code
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the document; exit 1 if something in it cannot be expressed in the other notation."""
    if not options.get("to"):
        raise UsageError("clada convert needs --to", "clada convert --to=csl FILE")
    text = document.read(arguments, console)
    if text is None:
        return 2
    plan = plan_for(text, document.settings_of(options))
    for note in plan.notes:
        console.note(note)
    for each in plan.not_applied:
        console.note(each.text)
    if plan.fatal:
        console.note(plan.fatal.message, "clada plan -v FILE")
        return FAILED
    converted = convert(plan, options["to"], document.settings_of(options))
    console.write(converted.text)
    for note in converted.notes:
        console.note(note)
    failed = bool(converted.notes or plan.not_applied)
    return exit_code(failed=failed, has_operations=plan.has_operations)
