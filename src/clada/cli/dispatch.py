"""From a command line to what does it; and every way that it can end, as an exit code."""

from __future__ import annotations

from clada.cli import config, flags
from clada.cli.console import Console
from clada.problems import Trouble, system_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]

FAILED, USAGE = 1, 2


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    console = Console()
    try:
        code = _dispatch(arguments, console)
    except flags.UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except Trouble as trouble:
        hint = f"; {trouble.error.hint}" if trouble.error.hint else ""
        console.complain(f"clada: {trouble.error.message}{hint}")
        return FAILED
    except Exception as bug:
        if not {"debug", "--error-detail=debug"}.isdisjoint(arguments):
            raise
        if isinstance(bug, OSError | MemoryError):
            console.complain(f"clada: {system_words(bug)}")
            return FAILED
        console.complain(
            f"clada: internal error: {type(bug).__name__}: {bug}; --error-detail=debug shows where"
        )
        return FAILED
    return code or (FAILED if console.lost else 0)


def _dispatch(arguments: Sequence[str], console: Console) -> int:
    invocation = flags.read(arguments)
    command, given = invocation.command, invocation.given
    if given.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(command))
        return 0
    if given.get("version"):
        from clada.version import VERSION

        console.write(f"clada {VERSION}\n")
        return 0
    options = merged(given, configured=flags.described(command).configured)
    return _handler(command)(options, invocation.arguments, console)


def _handler(command: str | None) -> Handler:
    """Load what does a command, and only that: its module has run(options, arguments, console)."""
    if command is None:
        from clada.cli import document

        return document.run
    from importlib import import_module

    run: Handler = import_module(f"clada.cli.{command}").run
    return run


def merged(given: Mapping[str, Any], *, configured: bool = True) -> dict[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's."""
    options = {flag.key: flag.default for flag in flags.FLAGS}
    files = config.defaults(given.get("workspace")) if configured else {}
    return {**options, **dict.fromkeys(flags.USER_LISTS, ()), **files, **given}
