"""What a person, or a program, sees of a run: events as lines, then the diff and the summary."""

from __future__ import annotations

from clada.model import BlockSkipped, Ended, Note, Output, Started, Truncated
from clada.report.lines import block_line, fatal_line, first_line, status_line, trouble_line
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Event, Plan, Report, Task

    Line = tuple[str, str]  # its kind, and its text

TRUNCATED = "[output truncated]"
SUMMARIES = {"cml": "xml", "json": "json", "toml": "json"}


class Presenter:
    """Turns the events of one run into text: at once, or at the end, or not at all."""

    def __init__(
        self, plan: Plan, options: dict[str, Any], console: Console, stop: int | None = None
    ) -> None:
        self.plan, self.options, self.console, self.stop = plan, options, console, stop
        self.mode, self.detail = options["output_mode"], options["error_detail"]
        self.notation = plan.notation or (None if options["format"] == "auto" else options["format"])
        self._kept: list[Line] = []  # until the end, in buffer mode
        self._operations = [operation for block in plan.blocks for operation in block.operations]
        self._ended = 0
        self._work("")

    def take(self, event: Event) -> None:
        """Show an event."""
        match event:
            case Output(label=label, line=line):
                self._say(("exec", f"[task-{label}:exec] {line}"))
            case Truncated():
                self._say(("exec", TRUNCATED))
            case Started(target=target):
                self._work(escape_controls(first_line(target)))
            case Ended(task=task):
                self._ended += 1
                self._status(task)
                self._work("")
            case BlockSkipped(label=label) if self.notation != "cml":
                self._say(("skip", block_line(label)))
            case Note(text=text):
                self.console.complain(f"clada: {text}")
            case BlockSkipped():
                pass

    def finish(self, report: Report) -> None:
        """Show what is left at the end: what was kept, the diff of a dry run, the summary."""
        self.console.say(self._kept)
        self._failures(report)
        if (report.changes or report.modes) and self.mode != "silent":
            from clada.report.diff import unified

            self.console.say(unified(report.changes, report.modes))
        self.console.write(self._summary(report))

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Put a command to the person at the terminal."""
        from clada.cli.questions import prompt

        self.console.pause()
        try:
            return prompt(command, directory, reason, network, self.stop)
        finally:
            self._work(escape_controls(first_line(command)))

    def _work(self, what: str) -> None:
        self.console.working(self._ended, len(self._operations), what)

    def _say(self, *lines: Line) -> None:
        if self.mode == "stream":
            self.console.say(lines)
        elif self.mode == "buffer":
            self._kept.extend(lines)

    def _status(self, task: Task) -> None:
        kind = "skip" if task.invalid or task.status == "skipped" else task.status
        lines = [(kind, status_line(task, self.notation)), *self._details(task)]
        if self.mode != "silent":
            self._say(*lines)
        elif task.status == "error" and self._kind() == "none":
            self.console.say_aside(lines)

    def _details(self, task: Task) -> Iterator[Line]:
        if self.options["dry_run"] and task.operation == "run":
            from clada.report.details import unseen_command

            yield from (("detail", line) for line in unseen_command(task))
        if self.detail != "minimal":
            from clada.report.details import details

            start, end = self._operations[task.index].span
            source = self.plan.source[start:end].decode(errors="replace")
            yield from (("detail", line) for line in details(task, source, self.detail))

    def _failures(self, report: Report) -> None:
        """Show what went wrong with the run as a whole."""
        lines: list[Line] = []
        if report.fatal:
            lines.append(("fatal", fatal_line(report.fatal, self.notation)))
            lines.extend(self._surroundings())
        if report.error:
            lines.append(("error", trouble_line(report.error, self.notation)))
        if self.mode != "silent":
            self.console.say(lines)
        elif self._kind() == "none":
            self.console.say_aside(lines)

    def _surroundings(self) -> Iterator[Line]:
        fatal = self.plan.fatal
        if fatal and fatal.line and self.detail != "minimal":
            from clada.report.details import surroundings

            yield from (("detail", line) for line in surroundings(self.plan.source, fatal.line))

    def _kind(self) -> str:
        kind: str = self.options["summary"]
        return SUMMARIES.get(self.notation or "", "none") if kind == "auto" else kind

    def _summary(self, report: Report) -> str:
        kind = self._kind()
        if kind == "xml":
            from clada.report import xml

            return xml.summary(report)
        if kind == "json":
            from clada.report import json

            return json.summary(report)
        return ""
