"""--confirm: shows the plan and its diff, and asks what of it to execute."""

from __future__ import annotations

import os

from clada.cli.choose import choose
from clada.cli.document import settings_of
from clada.cli.pager import Pages, edit
from clada.cli.presenter import Presenter
from clada.cli.questions import answer, open_terminal
from clada.cli.terminal import Terminal
from clada.errors import CladaError
from clada.report.diff import diff_lines
from clada.run import execute, plan_for
from clada.selection import preview, select, warnings
from clada.text.escape import escape_controls
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan
    from clada.report import Report

KEYS = "[y] all  [n] none  [s] select  [e] edit  [d] diff  [?] "
ANSWERS = {
    "y": "all", "yes": "all", "all": "all", "n": "none", "no": "none", "none": "none", "": "none",
    "s": "select", "select": "select", "e": "edit", "edit": "edit", "d": "diff", "diff": "diff",
    "?": "help", "help": "help",
}  # fmt: skip
HELP = (
    "y  execute all of it",
    "n  execute nothing, and end; so does Enter alone",
    "s  go through the operations, and through the hunks of each, and choose",
    "e  change the document in your editor, and look again",
    "d  show the diff, in your pager if it is long",
)


def confirmed(plan: Plan, options: dict[str, Any], console: Console) -> Plan | None:
    """Show what a plan would do, and ask; return what is to be executed, None for nothing."""
    terminal = open_terminal()
    if terminal is None:
        hint = "without one, use clada plan to look first"
        raise CladaError("io_error", "--confirm needs a terminal to ask on", hint)
    console.pause()
    try:
        wanted = Conversation(plan, options, terminal).wanted()
    except OSError:
        wanted = None  # the terminal is gone
    finally:
        os.close(terminal)
    if wanted is None:
        console.complain("clada: not executed")
    return wanted


class Conversation:
    """What is asked and answered until it is clear what of a plan is to be executed.

    It is held where the question is asked: standard output is for what the run itself prints. An interrupt
    ends the program: nothing has been executed yet.
    """

    def __init__(self, plan: Plan, options: dict[str, Any], terminal: int) -> None:
        self._all = self._plan = plan  # what there is to choose from, and what would be executed now
        self._terminal = terminal
        self._options = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}

    def wanted(self) -> Plan | None:
        """Return what is to be executed; None for nothing."""
        report = self._show()
        while report.fatal is None:
            wish = answer(self._terminal, None, self._question(report), ANSWERS)
            if wish == "all":
                return self._plan
            if wish in ("none", None):
                return None
            if wish == "select":
                report = self._select(report)
            elif wish == "edit":
                report = self._edit(report)
            elif wish == "diff":
                self._say_diff(report)
            else:
                self._say(*HELP)
        return None

    def _question(self, report: Report) -> str:
        failing = sum(not task.ok for task in report.tasks)
        what = "this" if self._plan is self._all else "what is chosen"
        return f"\nExecute {what}{f', though {failing} would fail' if failing else ''}?\n{KEYS}"

    def _show(self, *, diff: bool = True) -> Report:
        """Show what would happen, with the diff or without it."""
        pages = Pages(self._options["color"], self._terminal)
        try:
            presenter = Presenter(self._plan, self._options, pages)
            report = execute(
                self._plan,
                on_event=presenter.handle,
                consent=presenter.consent,
                settings=settings_of(self._options),
            )
            presenter.finish(report if diff else report.replace(changes=(), modes=()))
        finally:
            pages.close()
        pages.show()
        return report

    def _select(self, before: Report) -> Report:
        """Go through the operations; then show what would come of those that are chosen."""
        settings = settings_of(self._options).replace(allow_autorun=True)  # that is asked when it is executed
        _report, previews = preview(self._all, settings)
        chosen = choose(previews, self._all, self._options, self._terminal)
        if chosen is None:
            return before
        if not any(hunks != () for hunks in chosen.values()):
            self._say("clada: nothing is chosen")
            return before
        self._plan = select(self._all, chosen)
        report = self._show(diff=False)
        self._say(*(f"clada: {text}" for text in warnings(self._plan, [task.label for task in report.tasks])))
        return report

    def _edit(self, before: Report) -> Report:
        """Let the person change the document, and show what would come of it; what is no plan is put back."""
        if self._all.left_out:
            self._say("clada: parts of this document were done already: it is not changed now")
            return before
        try:
            plan = plan_for(edit(self._all.source, self._terminal), settings_of(self._options))
        except CladaError as trouble:
            self._say(f"clada: {trouble.error.sentence}")
            return before
        if plan.fatal or not plan.has_operations:
            why = plan.fatal.message if plan.fatal else "no operations found"
            self._say(f"clada: {why}; the document is as it was before")
            return before
        self._all = self._plan = plan
        return self._show()

    def _say_diff(self, report: Report) -> None:
        pages = Pages(self._options["color"], self._terminal)
        mask = mask_of_changes(report.changes, report.reveal)
        pages.say(diff_lines(report.changes, report.modes, mask))
        pages.close()
        pages.show()

    def _say(self, *lines: str) -> None:
        console = Terminal(self._options["color"], self._terminal)
        console.say([("note", escape_controls(line)) for line in lines])
        console.close()
