"""What a person, or a program, sees of a run: events as lines, then the diff and the summary."""

from __future__ import annotations

from clada.model import BlockSkipped, Ended, Note, Output, Started, Truncated
from clada.report.lines import block_line, fatal_line, status_line
from clada.text.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Event, Plan, Report, Task
    from clada.problems import Error

TRUNCATED = "[output truncated]"
SUMMARIES = {"cml": "xml", "json": "json", "toml": "json"}


class Presenter:
    """Turns the events of one run into text: at once, or at the end, or not at all."""

    def __init__(self, plan: Plan, options: dict[str, Any], console: Console) -> None:
        self.plan, self.options, self.console = plan, options, console
        self.mode, self.detail = options["output_mode"], options["error_detail"]
        self.notation = plan.notation or (None if options["format"] == "auto" else options["format"])
        self._kept: list[str] = []  # until the end, in buffer mode
        self._operations = [operation for block in plan.blocks for operation in block.operations]

    def take(self, event: Event) -> None:
        """Show an event."""
        match event:
            case Output(label=label, line=line):
                self._say(f"[task-{label}:exec] {line}")
            case Truncated():
                self._say(TRUNCATED)
            case Ended(task=task):
                self._status(task)
            case BlockSkipped(label=label) if self.notation != "cml":
                self._say(block_line(label))
            case Note(text=text):
                self.console.complain(f"clada: {shown(text)}")
            case BlockSkipped() | Started():
                pass

    def finish(self, report: Report) -> None:
        """Show what is left at the end: what was kept, the diff of a dry run, the summary."""
        if self._kept:
            self.console.write("".join(self._kept))
        failure = report.fatal or report.error
        if failure:
            self._failure(failure, fatal=report.fatal is not None)
        if report.changes and self.mode != "silent":
            from clada.report.diff import unified

            self.console.write("".join(f"{line}\n" for line in unified(report.changes)))
        self.console.write(self._summary(report))

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Put a command to the person at the terminal."""
        from clada.world.approvals import ask

        return ask(command, directory, reason, network)

    def _say(self, line: str) -> None:
        if self.mode == "stream":
            self.console.write(f"{line}\n")
        elif self.mode == "buffer":
            self._kept.append(f"{line}\n")

    def _status(self, task: Task) -> None:
        from clada.report.details import details

        lines = [status_line(task, self.notation)]
        if self.detail != "minimal":
            lines += details(task, self._source(task), self.detail)
        if self.mode != "silent":
            self._say("\n".join(lines))
        elif task.status == "error" and self._kind() == "none":
            self.console.complain("\n".join(lines))

    def _source(self, task: Task) -> str:
        start, end = self._operations[task.index].span
        return self.plan.source[start:end].decode(errors="replace")

    def _failure(self, error: Error, *, fatal: bool) -> None:
        line = fatal_line(error, self.notation)
        if self.mode == "silent" and self._kind() == "none":
            self.console.complain(line)
        elif self.mode != "silent" and fatal:
            self.console.write(f"{line}\n")
        elif self.mode != "silent":
            self.console.complain(f"clada: {error.type}: {shown(error.message)}; {shown(error.hint or '')}")

    def _kind(self) -> str:
        kind = self.options["summary"]
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
