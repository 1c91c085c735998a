"""`clada approvals`: lists, adds, removes and blocks commands of this workspace."""

from __future__ import annotations

import shlex

from clada.commands.judgements import remedy
from clada.commands.prefixes import covered_options
from clada.errors import CladaError, UsageError
from clada.operations.run.approvable import mismatch
from clada.text.escape import escape_controls
from clada.world.approvals import Approvals, prefix_words
from clada.world.files.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.approvals import Approvals

EXAMPLE = 'clada approvals add "npm test"'


def approvals(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the commands, or change one and print its new state."""
    action, *commands = arguments or ("list",)
    as_json = options["json"]
    ways = {name: True for name in ("network", "prefix", "shell") if options.get(name) is True}
    _check_usage(action, commands, ways)
    if action == "list":
        return _list(Approvals.load(options["workspace"]), console, as_json=as_json)
    text = commands[0].strip()
    if action == "add":
        _refuse_unmatchable(text, ways, options["workspace"])
    known = Approvals.load(options["workspace"])
    done = _change(known, action, text, ways)
    if done is None:
        raise CladaError("invalid_operation", f"neither approved nor blocked: {text}", "clada approvals list")
    if as_json:
        console.write_json({"command": text, "done": done}, None)
        return 0
    console.write(f"{escape_controls(f'{done}: {text}')}\n")
    if "prefix" in ways:
        console.write(f"{escape_controls(_reach(text))}\n")
    return 0


def _list(known: Approvals, console: Console, *, as_json: bool) -> int:
    lines = known.describe()
    if as_json:
        rows = [line.partition("  ") for line in lines]
        found = [{"state": state.strip(), "command": command.strip()} for state, _, command in rows]
        console.write_json(found)
        return 0
    if not lines:
        console.note("no command is approved or blocked here", EXAMPLE)
    console.write("".join(f"{escape_controls(line)}\n" for line in lines))
    if any(line.startswith("untrusted  ") for line in lines):
        console.note("untrusted ones came with the workspace and are ignored", "clada trust")
    return 0


def _check_usage(action: str, commands: Sequence[str], ways: dict[str, bool]) -> None:
    for way in ways:
        if action != "add":
            raise UsageError(f"--{way} goes with approvals add, not with {action}", "clada approvals --help")
    if "prefix" in ways and "shell" in ways:
        raise UsageError(
            "--prefix and --shell do not go together: a shell command is approved as a whole",
            "clada approvals --help",
        )
    if action == "list" and commands:
        raise UsageError("approvals list takes no command", "clada approvals list")
    if action != "list" and not commands:
        raise UsageError(f"approvals {action} needs a command", f'clada approvals {action} "npm test"')
    if len(commands) > 1:
        whole = " ".join(commands)
        raise UsageError(
            f"approvals {action} takes one command: quote it",
            f"clada approvals {action} {shlex.quote(whole)}",
        )


def _refuse_unmatchable(text: str, ways: dict[str, bool], workspace: str) -> None:
    """Refuse a text that can never match, and say which would."""
    with Workspace(workspace) as files:
        found = mismatch(text, files, shell="shell" in ways, prefix="prefix" in ways)
    if found:
        network = "network" in ways
        would = "\n".join(remedy(other, network=network, flag=flag) for flag, other in found.instead)
        raise UsageError(f"{text!r} is not approved: {found.message}", would)


def _reach(prefix: str) -> str:
    options = " ".join(covered_options(prefix_words(prefix)))
    these = f" and these options: {options}" if options else ""
    return f"with any further names and paths{these}; other options need approval of the exact command"


def _change(known: Approvals, action: str, text: str, ways: dict[str, bool]) -> str | None:
    """Change the approval of one command and return its new state; None if there was nothing to remove."""
    if action == "add":
        prefix = "prefix" in ways
        known.add(text, network="network" in ways, prefix=prefix)
        done = "approved as a prefix" if prefix else "approved"
        return f"{done} with network" if "network" in ways else done
    if action == "block":
        known.block(text)
        return "blocked"
    return "removed" if known.remove(text) else None
