"""The command line: arguments, standard input, output and exit codes. The only part that prints and asks."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without its enums, a third of our start
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.cli.flags import Invocation

    Handler = Callable[[dict[str, Any], Sequence[str], Console], int]

FAILED, USAGE, INTERRUPTED = 1, 2, 130
_OWN_NAME = "/clada/cli/__init__.py"  # of this file, in the directory that clada is installed in


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code; an interrupt is one, however early it comes."""
    try:
        if arguments is None:
            leave_out_of_path(".")
            _speak_utf8()
            arguments = sys.argv[1:]
        _prepare_process()
        if list(arguments) in (["--version"], ["-V"]):
            return _print_version()
        import gc

        gc.disable()  # a run is short and makes hardly any cycles: looking for them is a tenth of a long one
        return dispatch(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:  # so early that there is nothing yet to say it with
        os.write(2, b"clada: out of memory\n")
        return FAILED


def leave_out_of_path(directory: str) -> None:
    """Take this directory, what is in it, and all relative names off the path on which modules are found.

    A document writes there: a `select.py` of its own would be loaded in place of the real one. What this
    interpreter has installed there stays, for clada itself may be part of it.
    """
    try:
        top = f"{os.path.realpath(directory)}/"
    except OSError:  # the present directory was removed, or cannot be read: nobody finds a module in there
        top = "//"
    installed = (f"{sys.prefix}/lib", f"{sys.base_prefix}/lib")
    own = __file__.removesuffix(_OWN_NAME)
    entries = [entry for entry in sys.path if os.path.isabs(entry)]
    inside = [
        entry
        for entry in entries
        if not entry.startswith(installed) and f"{os.path.realpath(entry)}/".startswith(top)
    ]
    sys.path[:] = [entry for entry in entries if entry not in inside]
    if own in inside:
        sys.path.append(own)


def _speak_utf8() -> None:
    """Start again in UTF-8 mode, where the locale has another encoding: documents name files in UTF-8.

    What the commands of a document find in their environment stays as it is.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (ourselves)


def _prepare_process() -> None:
    """Undo what some callers leave behind."""
    for handle in (0, 1, 2):  # a closed one must not be given to a file that then gets our output
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # the system would forget how a child ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _print_version() -> int:
    from clada.version import VERSION

    try:
        os.write(1, f"clada {VERSION}\n".encode())
    except OSError:
        return FAILED
    return 0


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the command line asks for; nothing that goes wrong is more than a line, unless asked for."""
    from clada.cli.console import Console
    from clada.cli.flags import read
    from clada.errors import Trouble, UsageError, unforeseen

    console = Console()
    options: Mapping[str, Any] = {}
    takes_detail = False
    try:
        invocation = read(arguments)
        takes_detail = "error_detail" in invocation.row.flags
        options = _options(invocation)
        code = _perform(invocation, options, console)
    except UsageError as error:
        console.complain(f"clada: {error}")
        return USAGE
    except Trouble as trouble:
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


def _options(invocation: Invocation) -> Mapping[str, Any]:
    """Return all options: flags win over the workspace's file, which wins over the user's.

    Where a command reads no configuration, those that were given are all.
    """
    given = invocation.given
    if not invocation.row.configured or given.get("help") or given.get("version"):
        return given
    from clada import config
    from clada.settings import DEFAULTS

    return {**DEFAULTS, **config.load(given.get("workspace")), **given}


def _perform(invocation: Invocation, options: Mapping[str, Any], console: Console) -> int:
    if options.get("help"):
        from clada.cli.help import command_help

        console.write(command_help(invocation.command))
        return 0
    if options.get("version"):
        return _print_version()
    workspace = options.get("workspace", ".")
    if workspace != ".":  # that one was left out at the start
        leave_out_of_path(workspace)
    if invocation.row.inside:
        _check_workspace(workspace)
    from importlib import import_module

    # A command is loaded when it is asked for: its module has run(options, arguments, console).
    run: Handler = import_module(f"clada.cli.{invocation.command or 'document'}").run
    return run(dict(options), invocation.arguments, console)


def _check_workspace(directory: str) -> None:
    """Refuse what can be no workspace as a mistake in the call: nothing was tried."""
    from clada.errors import Trouble, UsageError
    from clada.world.files.root import check

    try:
        check(directory)
    except Trouble as trouble:
        raise UsageError(f"--workspace: {trouble.error.sentence}") from None
