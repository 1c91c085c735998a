"""--confirm: the plan and its diff are shown, and a person says yes or no."""

from __future__ import annotations

import os

from clada.cli.presenter import Presenter
from clada.problems import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan, Report

TERMINAL = "/dev/tty"


def confirmed(plan: Plan, options: dict[str, Any], console: Console) -> bool:
    """Show what a plan would do, and return whether it shall be done."""
    terminal = _terminal()
    try:
        report = _look(plan, options, console)
        console.pause()
        if report.fatal is None and _answer(terminal, _question(report)) in (b"y", b"yes"):
            return True
    finally:
        os.close(terminal)
    console.complain("clada: not executed")
    return False


def _terminal() -> int:
    try:
        return os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        hint = "without one, use clada plan to look first"
        raise Trouble("io_error", "--confirm needs a terminal to ask on", hint) from None


def _look(plan: Plan, options: dict[str, Any], console: Console) -> Report:
    from clada.cli.document import perform

    look = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}
    presenter = Presenter(plan, look, console)
    report = perform(plan, look, presenter)
    presenter.finish(report)
    return report


def _question(report: Report) -> bytes:
    failing = sum(not report.fine(task) for task in report.tasks)
    return f"Execute this{f', though {failing} would fail' if failing else ''}? [y/N] ".encode()


def _answer(terminal: int, question: bytes) -> bytes:
    import termios

    termios.tcflush(terminal, termios.TCIFLUSH)  # what was typed before the question does not answer it
    os.write(terminal, question)
    return os.read(terminal, 1024).strip().lower()
