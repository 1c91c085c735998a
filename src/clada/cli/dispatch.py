"""Reads the command line, loads the command that it names, and turns errors into a line and an exit code."""

from __future__ import annotations

import os
from importlib import import_module

from clada import config
from clada.cli import leave_out_of_path, print_version
from clada.cli.console import Console
from clada.cli.flags import read
from clada.errors import CladaError, UsageError, unforeseen
from clada.exit_codes import FAILED, USAGE
from clada.settings import DEFAULTS
from clada.world.files.directories import check_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.cli.flags import Invocation

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    console = Console()
    options: Mapping[str, Any] = {}
    takes_detail = False
    try:
        invocation = read(arguments)
        takes_detail = "error_detail" in invocation.row.flags
        options = _options(invocation, console)
        code = _perform(invocation, options, console)
    except UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except CladaError as trouble:
        console.complain(f"clada: {trouble.error.sentence}")
        return FAILED
    except Exception as bug:
        if options.get("error_detail") == "debug":
            raise
        found = unforeseen(bug)
        hint = "; --error-detail=debug shows where" if found.hint and takes_detail else ""
        console.complain(f"clada: {found.message}{hint}")
        return FAILED
    return code or (FAILED if console.lost else 0)


def _options(invocation: Invocation, console: Console) -> Mapping[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's.

    Where a command reads no configuration, those that were given are all.
    """
    given = invocation.given
    if not invocation.row.configured or given.get("help") or given.get("version"):
        return given

    def trusts(workspace: str) -> bool:
        if invocation.command == "trust":
            return False  # which is what it is about
        from clada.cli.trust import settle

        ask = invocation.row.asks_for_trust and not given.get("dry_run")
        return settle(workspace, console, ask=ask)

    own, shared = config.load(given.get("workspace"), trusts)
    unset = dict.fromkeys(invocation.row.by_flag)
    is_configured = "record" in own or "record" in shared
    return {**DEFAULTS, **own, **shared, **unset, **given, "record_configured": is_configured}


def _perform(invocation: Invocation, options: Mapping[str, Any], console: Console) -> int:
    if options.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(invocation.command))
        return 0
    if options.get("version"):
        return print_version()
    workspace = options.get("workspace", ".")
    if workspace != ".":  # that one was left out at the start
        leave_out_of_path(workspace)
    if invocation.row.inside:
        _check_workspace(workspace)
    _clear_left_lock(workspace)
    # Each command is a module with run(options, arguments, console), loaded only when it is asked for.
    run: Handler = import_module(f"clada.cli.{invocation.command or 'document'}").run
    return run({**options, "given": invocation.given}, invocation.arguments, console)


def _clear_left_lock(workspace: str) -> None:
    """Clear the lock of git's index that a killed clada has left: every command does, because git cannot."""
    try:
        top = os.path.realpath(workspace)
    except OSError:
        return  # the current directory is gone
    while not os.path.lexists(f"{top}/.git"):
        if top in ("", "/"):
            return
        top = os.path.dirname(top)
    if os.path.isfile(f"{top}/.git") or os.path.lexists(f"{top}/.git/index.lock"):  # a file: elsewhere
        from clada.world.git.index import clear_stale_lock_of

        clear_stale_lock_of(workspace)


def _check_workspace(directory: str) -> None:
    """Refuse what can be no workspace as a mistake in the call: nothing was tried."""
    try:
        check_workspace(directory)
    except CladaError as trouble:
        raise UsageError(f"--workspace: {trouble.error.sentence}") from None
