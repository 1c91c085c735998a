"""`clada approvals`: the commands of this workspace that may run, and those that must not."""

from __future__ import annotations

from clada.errors import UsageError
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.approvals import Approvals

NOTHING = "no command is approved or blocked here; add one with: clada approvals add CMD"


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the commands, or change one and print what was done."""
    from clada.world.approvals import Approvals

    action, *commands = arguments or ("list",)
    network = bool(options.get("network"))
    _check_usage(action, commands, network=network)
    known = Approvals.load(options["workspace"])
    if action == "list":
        lines = known.listed()
        if not lines:
            console.complain(f"clada: {NOTHING}")
        console.write("".join(f"{escape_controls(line)}\n" for line in lines))
        return 0
    done = _change(known, action, commands[0], network=network)
    if done is None:
        console.complain(f"clada: neither approved nor blocked: {commands[0]}")
        return 1
    console.write(f"{escape_controls(f'{done}: {commands[0].strip()}')}\n")
    return 0


def _check_usage(action: str, commands: Sequence[str], *, network: bool) -> None:
    if network and action != "add":
        raise UsageError(f"--network goes with approvals add, not with {action}")
    if action == "list" and commands:
        raise UsageError("approvals list takes no command")
    if action != "list" and not commands:
        raise UsageError(f'approvals {action} needs a command; such as clada approvals {action} "npm test"')
    if len(commands) > 1:
        whole = " ".join(commands)
        raise UsageError(f'approvals {action} takes one command: quote it, as in "{whole}"')


def _change(known: Approvals, action: str, command: str, *, network: bool) -> str | None:
    """Change the approval of one command and return its new state; None where there was nothing to remove."""
    if action == "add":
        known.add(command, network=network)
        return "approved with network" if network else "approved"
    if action == "block":
        known.block(command)
        return "blocked"
    return "removed" if known.remove(command) else None
