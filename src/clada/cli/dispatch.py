"""From a command line to what does it; and every way that it can end, as an exit code."""

from __future__ import annotations

from clada.cli import config, flags
from clada.cli.console import Console
from clada.errors import Trouble, system_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.cli.flags import Invocation

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]

FAILED, USAGE = 1, 2


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    console = Console()
    options: Mapping[str, Any] = {}
    taken: tuple[str, ...] = ()  # flags that the command has
    try:
        invocation = flags.read(arguments)
        taken = flags.described(invocation.command).flags
        options = _options(invocation)
        code = _perform(invocation, options, console)
    except flags.UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except Trouble as trouble:
        hint = f"; {trouble.error.hint}" if trouble.error.hint else ""
        console.complain(f"clada: {trouble.error.message}{hint}")
        return FAILED
    except Exception as bug:
        if options.get("error_detail") == "debug":
            raise
        if isinstance(bug, OSError | MemoryError):
            console.complain(f"clada: {system_words(bug)}")
            return FAILED
        hint = "; --error-detail=debug shows where" if "error-detail" in taken else ""
        console.complain(f"clada: internal error: {type(bug).__name__}: {bug}{hint}")
        return FAILED
    return code or (FAILED if console.lost else 0)


def _options(invocation: Invocation) -> Mapping[str, Any]:
    """Return the options of a command; those that were given are all, where no configuration is read."""
    given = invocation.given
    plain = given.get("help") or given.get("version")
    configured = flags.described(invocation.command).configured and not plain
    return merged(given) if configured else given


def _perform(invocation: Invocation, options: Mapping[str, Any], console: Console) -> int:
    if options.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(invocation.command))
        return 0
    if options.get("version"):
        from clada.version import VERSION

        console.write(f"clada {VERSION}\n")
        return 0
    if flags.described(invocation.command).inside:
        _check_workspace(options["workspace"])
    return _handler(invocation.command)(dict(options), invocation.arguments, console)


def _check_workspace(directory: str) -> None:
    """Refuse what can be no workspace as a mistake in the call: nothing was tried."""
    from clada.world.files.root import check

    try:
        check(directory)
    except Trouble as trouble:
        hint = f"; {trouble.error.hint}" if trouble.error.hint else ""
        raise flags.UsageError(f"--workspace: {trouble.error.message}{hint}") from None


def _handler(command: str | None) -> Handler:
    """Load what does a command, and only that: its module has run(options, arguments, console)."""
    if command is None:
        from clada.cli import document

        return document.run
    from importlib import import_module

    run: Handler = import_module(f"clada.cli.{command}").run
    return run


def merged(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's."""
    return {**flags.DEFAULTS, **config.defaults(given.get("workspace")), **given}
