"""`clada convert` prints a document in another notation; `clada parse` prints its plan as JSON."""

from __future__ import annotations

from clada.cli.commands.apply import read_document, settings_of
from clada.convert import convert as converted
from clada.errors import UsageError
from clada.exit_codes import FAILED, USAGE, exit_code
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def convert(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the document; exit 1 if something in it cannot be expressed in the other notation."""
    if not options.get("to"):
        raise UsageError("clada convert needs --to", "clada convert --to=csl FILE")
    text = read_document(arguments, console)
    if text is None:
        return USAGE
    plan = plan_for(text, settings_of(options))
    for note in (*plan.notes, *(each.text for each in plan.not_applied)):
        console.note(note)
    if plan.fatal:
        console.note(plan.fatal.message, "clada plan -v FILE")
        return FAILED
    done = converted(plan, options["to"], settings_of(options))
    console.write(done.text)
    for note in done.notes:
        console.note(note)
    failed = bool(done.notes or plan.not_applied)
    return exit_code(failed=failed, has_operations=plan.has_operations)


def parse(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the plan; the exit code says whether all of it could be executed."""
    text = read_document(arguments, console)
    if text is None:
        return USAGE
    plan = plan_for(text, settings_of(options))
    console.write_json(plan.to_dict())
    return plan.exit_code
