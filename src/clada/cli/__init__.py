"""The command line: arguments, standard input, output and exit codes. The only part that knows sys."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if list(arguments) in (["--version"], ["-V"]):
        from clada.version import VERSION

        print(f"clada {VERSION}")  # noqa: T201 (that is its job)
        return 0
    from clada.cli.dispatch import dispatch

    return dispatch(arguments)
