"""The main job: a document comes in, is carried out, and reported."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without its enums, a third of our start
import os

from clada.cli.console import screen
from clada.cli.flags import COMMANDS
from clada.errors import UsageError, unforeseen
from clada.grammar import MAX_INPUT
from clada.model import BlockSkipped, Note, Output, OutputTruncated, TaskEnded, TaskStarted
from clada.notations import parse
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.report.lines import (
    TRUNCATED,
    failure_lines,
    output_text,
    skipped_block_lines,
    status_line,
)
from clada.run import execute
from clada.settings import Settings, meant
from clada.world.files.entries import reason
from clada.world.world import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType
    from typing import Any, Self

    from clada.cli.console import Console
    from clada.model import Event, Plan, Task
    from clada.report import Report
    from clada.report.lines import Line

STDIN = 0
CHUNK = 1 << 20
APPROVE_ALL = "--approve-all: every command runs without asking, network included"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    text = read(arguments, console)
    if text is None:
        return 2
    plan = parsed(options, text)
    console = screen(options["color"])
    try:
        if options["confirm"] and not options["dry_run"] and not plan.fatal and has_operations(plan):
            from clada.cli.confirm import confirmed

            if not confirmed(plan, options, console):
                return 1
        if options["approve_all"]:
            plan = plan.replace(notes=(*plan.notes, APPROVE_ALL))
        with Signals(console.hurry) as stop:
            presenter = Presenter(plan, options, console, stop.handle)
            report = perform(plan, options, presenter, stop)
            if report.fatal and report.fatal.stage == "WORKSPACE":  # a mistake in the call: nothing was tried
                raise UsageError(f"--workspace: {report.fatal.sentence}")
            presenter.finish(report)
    finally:
        console.close()
    if report.interrupted:
        return 128 + report.interrupted
    return 0 if report.ok and not console.lost else 1


def read(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the document: of the file that is named, or of standard input; None where there is none."""
    if not arguments and os.isatty(STDIN):
        from clada.cli.help import USAGE

        console.say_aside([("note", USAGE)])
        return None
    if not arguments or arguments[0] == "-":
        return _read_all(STDIN, "standard input")
    path = arguments[0]
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        near = meant(path, [*COMMANDS, "--help"], "`clada {}`") or "; see clada --help"
        raise UsageError(f"{path}: {reason(error)}{near}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        return _read_all(fd, path)
    finally:
        os.close(fd)


def _read_all(fd: int, name: str) -> bytes:
    """Read to the end, but no further than it takes to see that it is too much."""
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_INPUT:
        try:
            piece = os.read(fd, CHUNK)
        except BlockingIOError:  # the other end made the pipe non-blocking
            from select import select

            select([fd], [], [])
            continue
        except OSError as error:
            raise UsageError(f"{name}: {reason(error)}") from None
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def parsed(options: dict[str, Any], text: bytes) -> Plan:
    """Read a document into a plan."""
    start, end = options["start_delimiter"], options["end_delimiter"]
    return parse(text, options["format"], start_delimiter=start, end_delimiter=end)


def has_operations(plan: Plan) -> bool:
    """Whether there is anything to do, or to complain of."""
    return any(block.operations for block in plan.blocks)


def perform(plan: Plan, options: dict[str, Any], presenter: Presenter, stop: Stop | None = None) -> Report:
    """Execute a plan with the options of a command line, which are checked already."""
    known = {**options, "git": not options["no_git"]}
    settings = Settings(**{name: known[name] for name in Settings.__match_args__})
    return execute(plan, on_event=presenter.take, ask=presenter.ask, stop=stop, settings=settings)


class Signals(Stop):
    """Ends the run in order at the first signal, and at once at the second.

    A signal that whoever started us ignores, such as SIGHUP under nohup, stays ignored. `hurry` is called
    when the first one comes, whatever is under way: it may have to make an end of that.
    """

    def __init__(self, hurry: Callable[[], None]) -> None:
        super().__init__()
        self._hurry = hurry
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        super().__exit__(*error)

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.set(number)
        self._hurry()


class Presenter:
    """What a person, or a program, sees of a run: its events as lines, at once, at the end, or not at all.

    Whatever goes wrong with that does not stop the run: it is told, and the exit code is that of a failure.
    """

    def __init__(
        self, plan: Plan, options: dict[str, Any], console: Console, stop: int | None = None
    ) -> None:
        self.plan, self.options, self.console, self.stop = plan, options, console, stop
        self.mode, self.detail = options["output_mode"], options["error_detail"]
        self.notation = NOTATIONS.get(plan.notation or options["format"], UNKNOWN)
        wanted = options["summary"]
        self.summary = self.notation.summary if wanted == "auto" else wanted
        self._summarise = None if self.summary == "none" else _summary_maker(self.summary)
        self._has_details = options["dry_run"] or self.detail != "minimal"
        self._kept: list[Line] = []  # until the end, in buffer mode
        self._items = [item for block in plan.blocks for item in block.operations]
        self._ended = 0

    def take(self, event: Event) -> None:
        """Show an event."""
        try:
            match event:
                case Output(label=label, lines=printed):
                    self._say([("exec", output_text(label, printed))])
                case OutputTruncated():
                    self._say([("exec", TRUNCATED)])
                case TaskStarted(target=target):
                    self.console.working(self._ended, len(self._items), target)
                case TaskEnded(task=task):
                    self._show_task(task)
                    self._ended += task.status != "skipped" and not task.invalid  # which was not tried either
                    self.console.working(self._ended, len(self._items), "")
                case BlockSkipped(label=label):
                    self._say(list(skipped_block_lines(label, self.notation)))
                case Note(text=text):
                    self.console.complain(f"clada: {text}")
        except Exception as bug:  # noqa: BLE001 (the run goes on)
            self._lose("a line", bug)

    def _show_task(self, task: Task) -> None:
        failed = task.status == "error"
        try:
            details = self._details(task) if self._has_details else ()
            self._say([status_line(task, self.notation), *details], failed=failed)
        except Exception as bug:  # noqa: BLE001 (each task has a line)
            self._lose("a line", bug)
            self._say([status_line(task.shortened(), self.notation)], failed=failed)

    def finish(self, report: Report) -> None:
        """Show what is left at the end: what was kept, the diff of a dry run, what failed, the summary."""
        kept, self.mode = self._kept, "stream" if self.mode == "buffer" else self.mode
        parts: list[tuple[str, Callable[[], None]]] = []
        if kept:
            parts.append(("what was kept", lambda: self._say_kept(kept)))
        if report.changes or report.modes:
            parts.append(("the diff", lambda: self._say(_diff(report))))
        if report.fatal or report.error:
            parts.append(("what went wrong", lambda: self._say(self._failure(report), failed=True)))
        if summarise := self._summarise:
            parts.append(("the summary", lambda: self.console.write(summarise(report))))
        for what, show in parts:
            try:
                show()
            except Exception as bug:  # noqa: BLE001 (the other parts are shown)
                self._lose(what, bug)

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Put a command to the person at the terminal; without an answer that is a no."""
        from clada.cli.questions import prompt

        self.console.pause()
        try:
            return prompt(command, directory, reason, network, self.stop)
        except Exception as bug:  # noqa: BLE001 (the other tasks may not need it)
            self._lose("the question", bug)
            return "no"
        finally:
            self.console.working(self._ended, len(self._items), command)

    def _lose(self, what: str, bug: Exception) -> None:
        """Tell that something cannot be shown."""
        self.console.lost = True
        error = unforeseen(bug)
        self.console.complain(f"clada: {what} cannot be shown: {error.sentence}")
        if self.detail == "debug" and error.traceback:
            self.console.say_aside([("note", error.traceback)])

    def _say(self, lines: Iterable[Line], *, failed: bool = False) -> None:
        """Show lines as the mode has it; a silent run without a summary tells its failures on stderr."""
        if self.mode == "stream":
            self.console.say(lines)
        elif self.mode == "buffer":
            self._kept.extend(lines)
        elif failed and self.summary == "none":
            self.console.say_aside(lines)

    def _say_kept(self, kept: Sequence[Line]) -> None:
        try:
            self.console.say(kept)
        except MemoryError:  # all at once is too much, and nothing of it was written
            for line in kept:
                try:
                    self.console.say([line])
                except MemoryError as lack:
                    self._lose("a line", lack)

    def _details(self, task: Task) -> Iterator[Line]:
        if self.options["dry_run"]:
            from clada.report.details import unseen_command

            yield from (("detail", line) for line in unseen_command(task))
        if self.detail != "minimal":
            from clada.report.details import details

            start, end = self._items[task.index].span
            source = self.plan.source[start:end].decode(errors="replace")
            yield from (("detail", line) for line in details(task, source, self.detail))

    def _failure(self, report: Report) -> Iterator[Line]:
        """Yield what went wrong with the run as a whole, and below it what the detail asks for."""
        yield from failure_lines(report, self.notation)
        if self.detail == "minimal":
            return
        from clada.report.details import surroundings, traced

        if self.plan.fatal and self.plan.fatal.line:
            yield from (("detail", line) for line in surroundings(self.plan.source, self.plan.fatal.line))
        error = report.fatal or report.error
        if error and self.detail == "debug":
            yield from (("detail", line) for line in traced(error))


def _summary_maker(kind: str) -> Callable[[Report], str]:
    """Return what makes a summary; loaded before anything is done, for a run may remove it."""
    from importlib import import_module

    maker: Callable[[Report], str] = import_module(f"clada.report.{kind}").summary
    return maker


def _diff(report: Report) -> Iterable[Line]:
    from clada.report.diff import diff_lines

    return diff_lines(report.changes, report.modes)
