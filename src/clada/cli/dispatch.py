"""From a command line to what does it; and every way that it can end, as an exit code."""

from __future__ import annotations

from clada.cli import config, flags
from clada.cli.console import Console
from clada.problems import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

USAGE = 2
INTERRUPTED = 130


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    console = Console()
    try:
        return _dispatch(arguments, console)
    except flags.UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except Trouble as trouble:
        hint = f"; {trouble.error.hint}" if trouble.error.hint else ""
        console.complain(f"clada: {trouble.error.message}{hint}")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as bug:
        if any("debug" in argument for argument in arguments):
            raise
        console.complain(
            f"clada: internal error: {type(bug).__name__}: {bug}; --error-detail=debug shows where"
        )
        return 1


def _dispatch(arguments: Sequence[str], console: Console) -> int:
    invocation = flags.read(arguments)
    if invocation.given.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(invocation.command))
        return 0
    if invocation.given.get("version"):
        from clada.version import VERSION

        console.write(f"clada {VERSION}\n")
        return 0
    options = merged(invocation.given)
    if invocation.command in (None, "plan"):
        from clada.cli.document import run

        if invocation.command == "plan":
            options["dry_run"] = True
        return run(options, invocation.arguments, console)
    if invocation.command == "parse":
        from clada.cli.document import show_plan

        return show_plan(options, invocation.arguments, console)
    from clada.cli.others import HANDLERS

    return HANDLERS[invocation.command](options, invocation.arguments, console)


def merged(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's."""
    options = {flag.key: flag.default for flag in flags.FLAGS}
    workspace = given.get("workspace", ".")
    return {**options, **dict.fromkeys(flags.USER_LISTS, ()), **config.defaults(workspace), **given}
