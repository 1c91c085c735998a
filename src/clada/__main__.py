"""The `clada` command, and `python -m clada`."""

import _signal as signal  # type: ignore[import-not-found]  # an interrupt while `signal` is loaded would print a traceback

# Until clada is loaded, an interrupt ends it at once: Python's own handler would print where that was.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from clada.cli import start

if __name__ == "__main__":
    start()
