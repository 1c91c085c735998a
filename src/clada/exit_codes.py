"""The exit codes of clada, and the one place that decides between them."""

from __future__ import annotations

DONE = 0  # everything in the answer was carried out
FAILED = 1  # something failed, was refused, or was recognised and not carried out
USAGE = 2  # the command line or a configuration file cannot be understood
NOTHING_FOUND = 3  # there are no operations in the text
SIGNALLED = 128  # and the number of the signal that ended the run


def exit_code(*, failed: bool, has_operations: bool, signal: int | None = None) -> int:
    """Return the exit code of a run, a plan or a conversion."""
    if signal:
        return SIGNALLED + signal
    if failed:
        return FAILED
    return DONE if has_operations else NOTHING_FOUND
