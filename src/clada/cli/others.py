"""The commands beside the main job: approvals, history, undo, prompt, doctor, completion."""

from __future__ import annotations

from clada.cli.flags import COMMANDS, UsageError
from clada.text.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clada.cli.console import Console

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]


def _usage(command: str) -> UsageError:
    return UsageError(f"usage: clada {command} {COMMANDS[command][0]}".rstrip())


def approvals(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Manage the approved commands of the workspace."""
    from clada.world.approvals import Approvals

    action, *commands = arguments or ("list",)
    known = Approvals.load(options["workspace"])
    if action == "list" and not commands:
        for line in known.listed():
            console.write(f"{shown(line)}\n")
        return 0
    if action not in ("add", "remove", "block") or len(commands) != 1:
        raise _usage("approvals")
    if action == "add":
        known.add(commands[0], network=bool(options.get("network")))
    elif action == "remove":
        known.remove(commands[0])
    else:
        known.block(commands[0])
    return 0
