"""--confirm: shows the plan and its diff, and asks what of it is executed."""

from __future__ import annotations

from clada.cli.choose import choose
from clada.cli.commands.apply import settings_of
from clada.cli.pager import Pages, edit, page
from clada.cli.presenter import Presenter
from clada.cli.questions import HELP, TERMINAL_IS_GONE, answer_by_key, opened_terminal
from clada.cli.terminal import Terminal
from clada.errors import CladaError
from clada.report.diff import report_diff
from clada.run import execute, plan_for
from clada.selection import mask_of, preview, select, warnings
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan
    from clada.report import Report

LINE_BREAK = "\n"
KEYS = "[y] all  [n] none  [s] select  [e] edit  [d] diff  [?] "
ANSWERS = {
    "y": "all", "yes": "all", "all": "all", "n": "none", "no": "none", "none": "none", "": "none",
    "s": "select", "select": "select", "e": "edit", "edit": "edit", "d": "diff", "diff": "diff",
    HELP: HELP,
}  # fmt: skip
EDITED = "the document was edited by the user before it was run"
EXPLANATION = (
    "y  execute all of it",
    "n  execute nothing, and end",
    "s  go through the operations and their hunks, and choose",
    "e  edit the document in your editor, and show the plan again",
    "d  show the diff, in your pager if it is long",
)


def confirm_plan(plan: Plan, options: dict[str, Any], console: Console) -> Plan | None:
    """Show what a plan would do, and ask; return the plan to execute, None for nothing."""
    with opened_terminal() as terminal:
        if terminal is None:
            raise CladaError("io_error", "--confirm needs a terminal to ask on", "clada plan FILE")
        console.pause()
        try:
            wanted = Conversation(plan, options, terminal).wanted()
        except TERMINAL_IS_GONE:
            wanted = None
    if wanted is None:
        console.note("not executed")
    return wanted


class Conversation:
    """The questions and answers until it is decided what of a plan is executed.

    All of it is on the terminal: standard output is for what the run itself prints. An interrupt ends the
    program: nothing was executed yet.
    """

    def __init__(self, plan: Plan, options: dict[str, Any], terminal: int) -> None:
        self._all = self._plan = plan  # what can be chosen from, and what would be executed now
        self._terminal = terminal
        self._options = {**options, "dry_run": True, "summary": "none", "output_mode": "stream"}

    def wanted(self) -> Plan | None:
        """Return the plan to execute; None for nothing."""
        report = self._show()
        while report.fatal is None:
            wish = answer_by_key(self._terminal, self._question(report), ANSWERS)
            if wish == "all":
                return self._plan
            if wish in ("none", None):
                return None
            if wish == "select":
                report = self._select(report)
            elif wish == "edit":
                report = self._edit(report)
            elif wish == "diff":
                pages = self._diff(report)
                if pages.fits() or not page(pages.text, self._terminal):
                    pages.show()
            else:
                self._say(*EXPLANATION)
        return None

    def _question(self, report: Report) -> str:
        failing = sum(not task.ok for task in report.tasks)
        what = "this" if self._plan is self._all else "what is chosen"
        return f"\nExecute {what}{f', though {failing} would fail' if failing else ''}?\n{KEYS}"

    def _show(self, *, diff: bool = True) -> Report:
        """Show what would happen; with `diff`, also the diff, if the screen has room for both.

        No pager opens by itself: it would take the keys that answer the question.
        """
        pages = Pages(self._options["color"], self._terminal)
        try:
            presenter = Presenter(self._plan, self._options, pages)
            report = execute(
                self._plan,
                on_event=presenter.handle,
                consent=presenter.consent,
                settings=settings_of(self._options),
            )
            shown = self._diff(report)
            fits = pages.fits(shown)
            presenter.finish(report if diff and fits else report.replace(changes=(), modes=()))
        finally:
            pages.close()
        pages.show()
        if diff and not fits:
            self._say(f"the diff has {shown.text.count(LINE_BREAK):,} lines: [d] shows it")
        return report

    def _select(self, before: Report) -> Report:
        """Go through the operations; then show the plan of those that are chosen."""
        settings = settings_of(self._options).replace(allow_autorun=True)  # the run itself asks about that
        report, previews = preview(self._all, settings)
        chosen = choose(previews, self._all, mask_of(report), self._options["color"], self._terminal)
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
        """Let the user edit the document, and show its plan; what cannot be executed is not taken over."""
        if self._all.left_out:
            self._say("clada: parts of this document are done already, so it cannot be edited")
            return before
        try:
            plan = plan_for(edit(self._all.source, self._terminal), settings_of(self._options))
        except CladaError as trouble:
            self._say(f"clada: {trouble.error.sentence}")
            return before
        if plan.fatal or not plan.has_operations:
            why = plan.fatal.message if plan.fatal else "no operations found"
            self._say(f"clada: {why}; the document stays as it was")
            return before
        if plan.source != self._all.source:
            plan = plan.replace(notes=(*plan.notes, EDITED))
        self._all = self._plan = plan
        return self._show()

    def _diff(self, report: Report) -> Pages:
        pages = Pages(self._options["color"], self._terminal)
        pages.say(report_diff(report))
        pages.close()
        return pages

    def _say(self, *lines: str) -> None:
        console = Terminal(self._options["color"], self._terminal)
        console.say([("note", escape_controls(line)) for line in lines])
        console.close()
