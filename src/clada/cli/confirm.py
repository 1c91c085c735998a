"""--confirm: the plan and its diff are shown, and a person says yes or no."""

from __future__ import annotations

import os

from clada.cli.console import STDOUT, screen
from clada.cli.document import Presenter, perform
from clada.errors import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan
    from clada.report import Report

ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "": "no"}


def confirmed(plan: Plan, options: dict[str, Any], console: Console) -> bool:
    """Show what a plan would do, and return whether it shall be done."""
    terminal = _terminal()
    try:
        if _is_our_terminal(STDOUT):
            report = _look(plan, options, console)
            console.pause()
        else:
            report = _look_on(terminal, plan, options)
        if report.fatal is None and _answer(terminal, _question(report)) == "yes":
            return True
    finally:
        os.close(terminal)
    console.complain("clada: not executed")
    return False


def _terminal() -> int:
    from clada.cli.questions import open_terminal

    terminal = open_terminal()
    if terminal is None:
        hint = "without one, use clada plan to look first"
        raise Trouble("io_error", "--confirm needs a terminal to ask on", hint)
    return terminal


def _is_our_terminal(handle: int) -> bool:
    """Whether a handle is the terminal that the question is asked on."""
    try:
        os.tcgetpgrp(handle)  # it tells this of no other terminal
    except OSError:
        return False
    return True


def _look_on(terminal: int, plan: Plan, options: dict[str, Any]) -> Report:
    """Show the plan where the question is asked: standard output is for what the run itself prints."""
    console = screen(options["color"], terminal)
    try:
        return _look(plan, options, console)
    finally:
        console.close()


def _look(plan: Plan, options: dict[str, Any], console: Console) -> Report:
    look = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}
    presenter = Presenter(plan, look, console)
    report = perform(plan, look, presenter)
    presenter.finish(report)
    return report


def _question(report: Report) -> str:
    failing = sum(not task.fine for task in report.tasks)
    return f"Execute this{f', though {failing} would fail' if failing else ''}? [y/N] "


def _answer(terminal: int, question: str) -> str | None:
    """Return yes or no; an interrupt ends the whole program, of which nothing has been executed yet."""
    from clada.cli.questions import answer

    try:
        return answer(terminal, None, question, ANSWERS)
    except OSError:
        return None  # the terminal has gone
