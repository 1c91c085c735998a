"""Shows the events of a run as lines, and the summary at its end."""

from __future__ import annotations

from importlib import import_module

from clada.errors import shortened, unforeseen
from clada.model import BlockSkipped, Done, Note, Output, OutputTruncated, TaskEnded, TaskStarted
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.report import (
    TRUNCATED,
    commits_line,
    failure_lines,
    output_text,
    remedy_lines,
    skipped_block_lines,
    status_line,
)
from clada.report.details import details, format_command, format_traceback, lines_around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Event, Plan, Task
    from clada.public_types import Answer
    from clada.report import Line, Report
    from clada.world.world import Stop

MANY = 100  # operations, above which a terminal shows only failures and counts
PLAN_LINES = 9  # lines of the plan above a question
PLAN_BEFORE = 3  # of these, lines before the current task


class Presenter:
    """Shows the events of a run as lines: as they happen, at the end, or not at all.

    An error while showing does not stop the run: it is reported, and the exit code is that of a failure.
    """

    def __init__(
        self, plan: Plan, options: dict[str, Any], console: Console, stop: Stop | None = None
    ) -> None:
        self.plan, self.options, self.console, self.stop = plan, options, console, stop
        self.detail = options["error_detail"]
        self.notation = NOTATIONS.get(plan.notation or options["format"], UNKNOWN)
        self.mode, self.summary = options["output_mode"], options["summary"]
        if options["json"]:
            self.mode, self.summary = "silent", "json"
        elif self.summary == "auto":  # on a terminal the closing line is enough
            self.summary = "none" if console.rows else self.notation.summary
        if console.rows:
            self.notation = UNKNOWN  # the same words for all notations
        self._summarise: Callable[[Report], str] | None = None
        if self.summary != "none":  # loaded before the run, which may remove the file of the module
            self._summarise = import_module(f"clada.report.{self.summary}").summary
        self._has_details = options["dry_run"] or self.detail != "minimal"
        self._buffered: list[Line] = []  # shown at the end in buffer mode
        self._items = [item for block in plan.blocks for item in block.operations]
        self._ended = 0
        # On a terminal, a run of many operations shows its progress, its failures and the counts.
        self._is_long = bool(console.rows) and self.mode == "stream" and len(self._items) > MANY
        self._passed = 0  # items that were started or skipped
        self._started: set[str] = set()  # labels of running tasks

    def handle(self, event: Event) -> None:
        """Show an event."""
        try:
            match event:
                case TaskStarted(label=label, target=target):
                    self._started.add(label)
                    self._passed += 1
                    self.console.working(self._ended, len(self._items), target)
                case TaskEnded(task=task):
                    status = task.status
                    self._passed += task.label not in self._started
                    self._started.discard(task.label)
                    is_shown = self.mode != "silent" and not (self._is_long and task.ok)
                    if is_shown or status == "error":
                        self._show_task(task)
                    self._ended += (
                        status != "skipped" and not task.invalid
                    )  # an invalid task was not tried either
                    self.console.working(self._ended, len(self._items), "")
                case Output(label=label, lines=printed):
                    self._say([("exec", output_text(label, printed))])
                case OutputTruncated():
                    self._say([("exec", TRUNCATED)])
                case BlockSkipped(label=label):
                    self._say(list(skipped_block_lines(label, self.notation)))
                case Note(text=text):
                    self.console.note(text)
        except Exception as bug:  # noqa: BLE001 (the run goes on)
            self._report_lost("a line", bug)

    def _show_task(self, task: Task) -> None:
        failed = task.status == "error"
        try:
            details = self._details(task) if self._has_details else ()
            line = status_line(task, self.notation)
            self._say([line, *remedy_lines(task), *details], failed=failed)
        except Exception as bug:  # noqa: BLE001 (each task has a line)
            self._report_lost("a line", bug)
            self._say([status_line(task.shortened(), self.notation)], failed=failed)

    def finish(self, report: Report) -> None:
        """Show the end of the output: buffered lines, the diff of a dry run, failures, the summary."""
        self.console.pause()  # no progress line below the end
        buffered, self.mode = self._buffered, "stream" if self.mode == "buffer" else self.mode
        parts: list[tuple[str, Callable[[], None]]] = []
        if buffered:
            parts.append(("the buffered lines", lambda: self._say_buffered(buffered)))
        if report.changes or report.modes:
            parts.append(("the diff", lambda: self._say_diff(report)))
        if report.fatal or report.error or report.not_applied:
            parts.append(("what went wrong", lambda: self._say(self._failure(report), failed=True)))
        if summarise := self._summarise:
            parts.append(("the summary", lambda: self.console.write(summarise(report))))
        elif self.console.rows and (report.tasks or report.fatal):
            parts.append(("the closing line", lambda: self.console.say(self._closing(report))))
        if self.console.rows and (advice := self._what_to_do(report)):
            parts.append(("what to do", lambda: self.console.say([("note", advice)])))
        if line := commits_line(report):
            parts.append(("the commits", lambda: self._note_commits(line)))
        for what, show in parts:
            try:
                show()
            except Exception as bug:  # noqa: BLE001 (the other parts are shown)
                self._report_lost(what, bug)

    def _say_diff(self, report: Report) -> None:
        from clada.report.diff import report_diff  # late: only a plan has a diff

        self._say(report_diff(report))

    def _what_to_do(self, report: Report) -> str:
        """Return the command that goes on after a failure; nothing where it would find nothing."""
        if report.ok or self.options["record"] == "none" or self.options["dry_run"]:
            return ""
        if report.interrupted:
            return "to continue: clada resume" if report.recorded else ""
        has_report = self.options["copy"] or self.options.get("keeps_reports")
        if has_report:
            return ""
        from clada.cli.clipboard import is_available  # late: it loads subprocess

        return f"for the LLM: clada report{' --copy' if is_available() else ''}"

    def _note_commits(self, line: str) -> None:
        """Name the commits on standard error, because programs read standard output."""
        self.console.note(line)

    def _closing(self, report: Report) -> Iterator[Line]:
        """Yield the failures that have scrolled away, and the counts."""
        if not report.tasks:
            yield "closing", "nothing was executed"
            return
        from clada.report.llm import counts

        yield from self.console.scrolled_away()
        kinds = f" ({_kinds(report)})" if self._is_long else ""
        undo = " · clada undo reverts it" if report.undoable else ""
        yield "closing", f"{counts(report)}{kinds}{undo}"

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> Answer | None:
        """Ask the user whether a command may run; no answer means no."""
        self.console.pause()
        try:
            from clada.cli.questions import prompt  # late: most runs ask nothing

            plan, on_shown = self._surrounding_plan(), self.console.count_rows
            return prompt(command, directory, reason, network, self._handle(), plan=plan, on_shown=on_shown)
        except Exception as bug:  # noqa: BLE001 (the other tasks may not need it)
            self._report_lost("the question", bug)
            return "no"
        finally:
            self.console.working(self._ended, len(self._items), command)

    def _handle(self) -> int | None:
        """Return the handle that ends the wait for an answer."""
        return self.stop.handle if self.stop else None

    def _surrounding_plan(self) -> list[str]:
        """Return the plan around the current task, one line per operation."""
        at, count = self._passed - 1, len(self._items)
        if count == 1:
            return []
        start = max(0, min(at - PLAN_BEFORE, count - PLAN_LINES))
        shown = list(enumerate(self._items[start : start + PLAN_LINES], start))
        lines = [f"the plan, {at + 1} of {count}:"]
        for number, item in shown:
            lines.append(f"{'>' if number == at else ' '} {item.name} {shortened(item.target)}")
        more = count - start - len(shown)
        return [*lines, f"  … {more:,} more"] if more else lines

    def consent(self, question: str) -> bool:
        """Ask the user a yes/no question; no answer means no."""
        self.console.pause()
        try:
            from clada.cli.questions import confirm

            return confirm(question, self._handle(), self.console.count_rows)
        except Exception as bug:  # noqa: BLE001 (as above)
            self._report_lost("the question", bug)
            return False

    def _report_lost(self, what: str, bug: Exception) -> None:
        """Report that something could not be shown."""
        self.console.lost = True
        error = unforeseen(bug)
        self.console.note(f"{what} cannot be shown: {error.sentence}")
        if self.detail == "debug" and error.traceback:
            self.console.say_aside([("note", error.traceback)])

    def _say(self, lines: Iterable[Line], *, failed: bool = False) -> None:
        """Show lines as the output mode says; without a summary, a silent run prints failures on stderr."""
        if self.mode == "stream":
            self.console.say(lines)
        elif self.mode == "buffer":
            self._buffered.extend(lines)
        elif failed and self.summary == "none":
            self.console.say_aside(lines)

    def _say_buffered(self, lines: Sequence[Line]) -> None:
        try:
            self.console.say(lines)
        except MemoryError:  # all at once is too much, and nothing of it was written
            for line in lines:
                try:
                    self.console.say([line])
                except MemoryError as lack:
                    self._report_lost("a line", lack)

    def _details(self, task: Task) -> Iterator[Line]:
        if self.options["dry_run"]:
            yield from format_command(task)
        if self.detail != "minimal":
            start, end = self._items[task.index].span
            yield from details(task, self.plan.source[start:end].decode(errors="replace"), self.detail)

    def _failure(self, report: Report) -> Iterator[Line]:
        """Yield what went wrong with the run as a whole, with the details that were asked for."""
        yield from failure_lines(report, self.notation)
        if self.detail == "minimal":
            return
        if self.plan.fatal and self.plan.fatal.line:
            yield from lines_around(self.plan.source, self.plan.fatal.line)
        error = report.fatal or report.error
        if error and self.detail == "debug":
            yield from format_traceback(error)


def _kinds(report: Report) -> str:
    """Return how many operations did what: `2,998 created, 2 edited`."""
    hows = [task.outcome.how for task in report.tasks if isinstance(task.outcome, Done)]
    return ", ".join(f"{hows.count(how):,} {how}" for how in dict.fromkeys(hows))
