"""`clada approvals`: the commands of this workspace that may run, and those that must not."""

from __future__ import annotations

from clada.commands.judgements import remedy
from clada.commands.prefixes import covered_options
from clada.errors import UsageError
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

NOTHING = "no command is approved or blocked here; add one with: clada approvals add CMD"
HOW_TO_TRUST = "what is untrusted came with the workspace, and does not count: clada trust shows it and asks"


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the commands, or change one and print what was done."""
    action, *commands = arguments or ("list",)
    ways = {name: True for name in ("network", "prefix", "shell") if options.get(name) is True}
    _check_usage(action, commands, ways)
    if action == "list":
        return _list(Approvals.load(options["workspace"]), console)
    text = commands[0].strip()
    if action == "add":
        _refuse_unmatchable(text, ways, options["workspace"])
    known = Approvals.load(options["workspace"])
    done = _change(known, action, text, ways)
    if done is None:
        console.complain(f"clada: neither approved nor blocked: {text}")
        return 1
    console.write(f"{escape_controls(f'{done}: {text}')}\n")
    if "prefix" in ways:
        console.write(f"{escape_controls(_reach(text))}\n")
    return 0


def _list(known: Approvals, console: Console) -> int:
    lines = known.listed()
    if not lines:
        console.complain(f"clada: {NOTHING}")
    console.write("".join(f"{escape_controls(line)}\n" for line in lines))
    if any(line.startswith("untrusted  ") for line in lines):
        console.complain(f"clada: {HOW_TO_TRUST}")
    return 0


def _check_usage(action: str, commands: Sequence[str], ways: dict[str, bool]) -> None:
    for way in ways:
        if action != "add":
            raise UsageError(f"--{way} goes with approvals add, not with {action}")
    if "prefix" in ways and "shell" in ways:
        raise UsageError("--prefix and --shell do not go together: what a shell runs is approved whole")
    if action == "list" and commands:
        raise UsageError("approvals list takes no command")
    if action != "list" and not commands:
        raise UsageError(f'approvals {action} needs a command; such as clada approvals {action} "npm test"')
    if len(commands) > 1:
        whole = " ".join(commands)
        raise UsageError(f'approvals {action} takes one command: quote it, as in "{whole}"')


def _refuse_unmatchable(text: str, ways: dict[str, bool], workspace: str) -> None:
    """Refuse what could never match, and say what would."""
    with Workspace(workspace) as files:
        found = mismatch(text, files, shell="shell" in ways, prefix="prefix" in ways)
    if found:
        network = "network" in ways
        would = " or ".join(remedy(other, network=network, flag=flag) for flag, other in found.instead)
        instead = f"; what would match: {would}" if would else ""
        raise UsageError(f"{text!r} is not approved: {found.message}{instead}")


def _reach(prefix: str) -> str:
    options = " ".join(covered_options(prefix_words(prefix)))
    these = f" and these options: {options}" if options else ""
    return f"with any further names and paths{these}; other options need approval of the exact command"


def _change(known: Approvals, action: str, text: str, ways: dict[str, bool]) -> str | None:
    """Change the approval of one command and return its new state; None where there was nothing to remove."""
    if action == "add":
        prefix = "prefix" in ways
        known.add(text, network="network" in ways, prefix=prefix)
        done = "approved as a prefix" if prefix else "approved"
        return f"{done} with network" if "network" in ways else done
    if action == "block":
        known.block(text)
        return "blocked"
    return "removed" if known.remove(text) else None
