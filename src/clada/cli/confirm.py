"""--confirm: shows the plan and its diff, and asks whether to execute it."""

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
    """Show what a plan would do, and ask; return whether the answer is yes."""
    from clada.cli.questions import open_terminal

    terminal = open_terminal()
    if terminal is None:
        hint = "without one, use clada plan to look first"
        raise Trouble("io_error", "--confirm needs a terminal to ask on", hint)
    try:
        if _is_our_terminal(STDOUT):
            report = _dry_run(plan, options, console)
            console.pause()
        else:
            # Shown where the question is asked: standard output is for what the run itself prints.
            screen_there = screen(options["color"], terminal)
            try:
                report = _dry_run(plan, options, screen_there)
            finally:
                screen_there.close()
        if report.fatal is None and _ask(terminal, report):
            return True
    finally:
        os.close(terminal)
    console.complain("clada: not executed")
    return False


def _is_our_terminal(handle: int) -> bool:
    """Whether a handle is the terminal that the question is asked on."""
    try:
        os.tcgetpgrp(handle)  # fails for any other terminal
    except OSError:
        return False
    return True


def _dry_run(plan: Plan, options: dict[str, Any], console: Console) -> Report:
    dry = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}
    presenter = Presenter(plan, dry, console)
    report = perform(plan, dry, presenter)
    presenter.finish(report)
    return report


def _ask(terminal: int, report: Report) -> bool:
    """Return whether the answer is yes. An interrupt ends the program: nothing has been executed yet."""
    from clada.cli.questions import answer

    failing = sum(not task.fine for task in report.tasks)
    question = f"Execute this{f', though {failing} would fail' if failing else ''}? [y/N] "
    try:
        return answer(terminal, None, question, ANSWERS) == "yes"
    except OSError:
        return False  # the terminal is gone
