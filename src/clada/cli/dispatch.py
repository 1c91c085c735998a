"""Reads the command line, loads the command that it names, and turns errors into a line and an exit code."""

from __future__ import annotations

import os
import re
from importlib import import_module

from clada import config
from clada.cli import print_version, remove_from_path
from clada.cli.arguments import as_typed, read
from clada.cli.console import Console
from clada.cli.flags import PAST
from clada.errors import CladaError, UsageError, unforeseen
from clada.exit_codes import FAILED, USAGE
from clada.settings import DEFAULTS
from clada.world.files.directories import check_workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.cli.arguments import Invocation
    from clada.errors import Error

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]

COMMAND = r"(^|: )(clada|git|mv|rm|mkdir|ls|pip|export|unset|chmod|\$EDITOR) "  # in advice


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; print an error as one line with its remedy below it."""
    console = Console()
    options: Mapping[str, Any] = {}
    invocation: Invocation | None = None
    try:
        invocation = read(arguments)
        if list(arguments) == ["-h"]:
            from clada.cli.help import FIRST_SCREEN  # late: a run shows no help

            console.write(FIRST_SCREEN)
            return 0
        options = _options(invocation, console)
        code = _perform(invocation, options, console)
    except UsageError as error:
        remedy = error.remedy or f"{invocation.name if invocation else 'clada'} --help"
        console.note(str(error), *remedy.splitlines())
        return USAGE
    except CladaError as error:
        if options.get("json"):
            found = error.error
            hint = "\n".join(found.advice) or None
            console.write_json({"error": {"type": found.type, "message": found.message, "hint": hint}}, None)
        console.note(error.error.message, *_advice(error.error, invocation))
        return FAILED
    except Exception as bug:
        if options.get("error_detail") == "debug":
            raise
        takes_detail = invocation is not None and "error_detail" in invocation.row.flags
        console.note(
            unforeseen(bug).message,
            as_typed([*arguments, "--error-detail=debug"]) if takes_detail else "clada doctor",
        )
        return FAILED
    return code or (FAILED if console.lost else 0)


def _advice(error: Error, invocation: Invocation | None) -> list[str]:
    """Return what to do about an error; the last line is a command to copy."""
    if not invocation or any(re.search(COMMAND, line) for line in error.advice):
        return error.advice
    if invocation.row.group == PAST:
        return [*error.advice, "clada history"]
    about_machine = error.type in ("io_error", "permission_denied", "git_operation_failed", "lock_timeout")
    return [*error.advice, "clada doctor" if about_machine else f"{invocation.name} --help"]


def _options(invocation: Invocation, console: Console) -> Mapping[str, Any]:
    """Return all options: flags win over the environment, then the workspace's file, then the user's.

    A command that reads no configuration gets only the flags.
    """
    given = dict(invocation.given)
    if "workspace" in given:
        given["workspace"] = config.find_workspace(given["workspace"])
    if not invocation.row.configured or given.get("help") or given.get("version"):
        return given

    def trusts(workspace: str) -> bool:
        if invocation.command == "trust":
            return False  # the command asks itself
        from clada.cli.commands.trust import settle  # late: most workspaces have no .clada

        may_ask = invocation.row.asks_for_trust and not given.get("dry_run") and not given.get("yes")
        return settle(workspace, console, may_ask=may_ask)

    configured = config.load(given.get("workspace"), trusts).merged
    unset = dict.fromkeys(invocation.row.by_flag)
    options = {"json": False, "yes": False, **DEFAULTS, **configured, **unset, **given}
    options["workspace"] = config.find_workspace(options["workspace"])
    return {**options, "record_configured": "record" in configured}


def _perform(invocation: Invocation, options: Mapping[str, Any], console: Console) -> int:
    if options.get("help") or invocation.command == "help":
        from clada.cli.help import command_help, named_command

        is_flag = options.get("help")
        console.write(command_help(invocation.command if is_flag else named_command(invocation.arguments)))
        return 0
    if options.get("version"):
        return print_version()
    workspace = options.get("workspace", ".")
    if workspace != ".":  # the current directory was left out at the start
        remove_from_path(workspace)
    if invocation.row.inside:
        _check_workspace(workspace)
    _clear_left_lock(workspace)
    name = invocation.command or "apply"
    if name in ("doctor", "plan") or (invocation.row.group == PAST and name != "recover"):
        _clear_scratch(workspace, console)  # runs do that themselves, and so does `clada recover`
    run: Handler = getattr(import_module(f"clada.cli.commands.{invocation.row.module or name}"), name)
    return run({**options, "given": invocation.given}, invocation.arguments, console)


def _clear_left_lock(workspace: str) -> None:
    """Remove the lock of git's index that a killed clada left, because git itself would refuse to work."""
    try:
        top = config.top_of_repository(os.path.realpath(workspace))
    except OSError:
        return  # the current directory is gone
    # Where .git is a file, the index is elsewhere.
    if top and (os.path.isfile(f"{top}/.git") or os.path.lexists(f"{top}/.git/index.lock")):
        from clada.world.git.index import clear_stale_lock_of

        clear_stale_lock_of(workspace)


def _clear_scratch(workspace: str, console: Console) -> None:
    """Put back files that a killed clada was about to move, and say so."""
    from clada.world.record.store import find_store

    try:
        notes = find_store(workspace).clear_scratch()
    except (CladaError, OSError):
        return  # the command itself says what is wrong with the workspace
    for note in notes:
        console.note(note)


def _check_workspace(directory: str) -> None:
    """Refuse a workspace that cannot be one, as a usage error."""
    try:
        check_workspace(directory)
    except CladaError as trouble:
        raise UsageError(f"--workspace: {trouble.error.message}", trouble.error.hint or "") from None
