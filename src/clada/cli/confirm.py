"""--confirm: the plan and its diff are shown, and a person says yes or no."""

from __future__ import annotations

import os

from clada.problems import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan


def confirmed(plan: Plan, options: dict[str, Any], console: Console) -> bool:
    """Show what a plan would do, and return whether it shall be done."""
    from clada.cli.document import perform
    from clada.cli.presenter import Presenter

    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        raise Trouble(
            "io_error", "--confirm needs a terminal to ask on", "use clada plan to look first"
        ) from None
    with open(terminal, "r+b", buffering=0) as tty:
        look = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}
        presenter = Presenter(plan, look, console)
        presenter.finish(perform(plan, look, presenter))
        tty.write(b"Execute this? [y/N] ")
        answer = tty.readline().strip().lower()
    if answer in (b"y", b"yes"):
        return True
    console.complain("clada: not executed")
    return False
