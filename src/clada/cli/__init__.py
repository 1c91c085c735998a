"""The command line: arguments, standard input, output and exit codes. The only part that prints and asks."""

from __future__ import annotations

import os
import signal
import sys

from clada.exit_codes import FAILED, SIGNALLED
from clada.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

INTERRUPTED = SIGNALLED + 2  # by SIGINT
# Modules that Python loads before clada in any way of starting, or would load if they existed.
_EARLY = """
    abc clada codecs collections contextlib copyreg encodings enum functools genericpath importlib io keyword
    operator os pkgutil posixpath re reprlib runpy site sitecustomize stat types usercustomize warnings
    zipimport _collections_abc _sitebuiltins
""".split()


def start() -> NoReturn:
    """Be the command line of this process: run it, and end the process with its exit code."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # set while clada is loaded
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while Python ends, its own handler would print a traceback
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code; an interrupt is one, however early it comes."""
    try:
        if arguments is None:
            remove_from_path(".")
            _restart_in_utf8()
            arguments = sys.argv[1:]
        _prepare_process()
        if list(arguments) in (["--version"], ["-V"]):
            return print_version()
        from clada.cli.dispatch import dispatch  # late: --version needs nothing of it

        return dispatch(arguments)
    except KeyboardInterrupt:
        if os.isatty(2):
            os.write(2, b"\n")  # after ^C, or an open question
        return INTERRUPTED
    except MemoryError:  # so early that there is nothing yet to say it with
        os.write(2, b"clada: out of memory\n")
        return FAILED


def remove_from_path(directory: str) -> None:
    """Remove a directory, all below it, and relative entries from `sys.path`.

    A document writes there: its `select.py` would be loaded in place of the real one. What this interpreter
    has installed there stays, because clada may be part of it. Documents that write modules which are loaded
    before clada are refused instead.
    """
    try:
        top = f"{os.path.realpath(directory)}/"
    except OSError:  # the present directory was removed, or cannot be read, so no module is found there
        top = "//"
    installed = (f"{sys.prefix}/lib", f"{sys.base_prefix}/lib")
    own = __file__.rsplit("/", 3)[0]  # this file is …/clada/cli/__init__.py, or in an archive .pyc
    before = sys.path.copy()
    entries = [entry for entry in before if os.path.isabs(entry)]
    inside = [
        entry
        for entry in entries
        if not entry.startswith(installed) and f"{os.path.realpath(entry)}/".startswith(top)
    ]
    sys.path[:] = [entry for entry in entries if entry not in inside]
    if own in inside:
        sys.path.append(own)
    if left_out := {*before} - {*sys.path}:
        _protect_early_modules(left_out)


def _protect_early_modules(directories: Iterable[str]) -> None:
    """Refuse documents that would write modules there which Python loads before clada."""
    from clada.world.files.paths import early_imports

    try:
        places = [os.path.realpath(directory) for directory in directories]
    except OSError:  # as above
        return
    names = {*_EARLY, *sys.modules}.difference(sys.builtin_module_names)  # which are looked for nowhere
    early_imports.update(dict.fromkeys(places, frozenset(names)))


def _restart_in_utf8() -> None:
    """Start again in UTF-8 mode, where the locale has another encoding: documents name files in UTF-8.

    What the commands of a document find in their environment stays as it is.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (ourselves)


def _prepare_process() -> None:
    """Open closed standard handles, and stop ignoring SIGCHLD."""
    for handle in (0, 1, 2):  # a closed one must not be given to a file that then gets our output
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # the system would forget how a child ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def print_version() -> int:
    """Print the version of clada."""
    try:
        os.write(1, f"clada {VERSION}\n".encode())
    except OSError:
        return FAILED
    return 0
