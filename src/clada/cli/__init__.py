"""The command line: arguments, standard input, output and exit codes. The only part that prints."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without its enums, a third of our start
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code; an interrupt is one, however early it comes."""
    try:
        if arguments is None:
            _speak_utf8()
            arguments = sys.argv[1:]
        return _main(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED


def _speak_utf8() -> None:
    """Start again in UTF-8 mode, where the locale has another encoding: documents name files in UTF-8.

    What the commands of a document find in their environment stays as it is.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 (ourselves)


def _main(arguments: Sequence[str]) -> int:
    _hold_standard_handles()
    _wait_for_children()
    if list(arguments) in (["--version"], ["-V"]):
        from clada.version import VERSION

        return _say(f"clada {VERSION}\n")
    import gc

    from clada.cli.dispatch import dispatch

    gc.disable()  # a run is short and makes hardly any cycles: looking for them is a tenth of a long one
    return dispatch(arguments)


def _hold_standard_handles() -> None:
    """Open those of 0, 1 and 2 that are closed: a file must not be opened there, and get our output."""
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _wait_for_children() -> None:
    """Undo what some callers leave behind: with SIGCHLD ignored, the system forgets how a child ended."""
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _say(text: str) -> int:
    try:
        os.write(1, text.encode())
    except OSError:
        return 1
    return 0
