"""The main job: a document comes in, is carried out, and reported."""

from __future__ import annotations

import os
import signal
from stat import S_ISREG

from clada.cli import STDERR, STDOUT
from clada.cli.flags import COMMANDS
from clada.config import meant
from clada.errors import CladaError, UsageError, shortened, unforeseen
from clada.exit_codes import DONE, FAILED
from clada.grammar import MAX_INPUT
from clada.model import BlockSkipped, Note, Operation, Output, OutputTruncated, TaskEnded, TaskStarted
from clada.notations.registry import NOTATIONS, SENTENCES, UNKNOWN
from clada.report import (
    TRUNCATED,
    commits_line,
    failure_lines,
    output_text,
    skipped_block_lines,
    status_line,
)
from clada.run import execute, plan_for
from clada.settings import Settings
from clada.world.files.entries import reason
from clada.world.world import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import FrameType
    from typing import Any, Self

    from clada.cli import Console
    from clada.model import Event, Plan, Skipped, Task
    from clada.report import Line, Report

STDIN = 0
OUR_WORDS, HEAD = b"read by a program, clada,", 200  # in the head of our prompts, which is this long
CHUNK = 1 << 20
PLAN_LINES, PLAN_BEFORE = 9, 3  # of the plan that stand above a question, and of them before the present one
APPROVE_ALL = "--approve-all: every command runs without asking, network included"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    text = read(arguments, console)
    if text is None:
        return 2
    if OUR_WORDS in text[:HEAD]:
        _refuse_own(text)
    options = with_uncommitted(options, arguments)
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]


def with_uncommitted(options: dict[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """Return the options with the files of this call itself: the answer, and where input and output go.

    They are not committed unless git tracks them.
    """
    files = [path for path in paths if path != "-"]
    events = (options.get("events") or "").partition(":")[2]
    if events and not events.isdecimal():
        files.append(events)
    for handle in (STDIN, STDOUT, STDERR):
        try:
            if S_ISREG(os.fstat(handle).st_mode):
                files.append(os.readlink(f"/proc/self/fd/{handle}"))
        except OSError:
            continue  # it is closed, or the system does not tell names
    return {**options, "uncommitted": (*options["uncommitted"], *files)}


def _refuse_own(text: bytes) -> None:
    """Refuse a document that is our own prompt: its examples are not meant for the workspace."""
    from clada.cli.own import own_text

    if what := own_text(text):
        raise CladaError("io_error", f"the document is {what}: nothing was executed", "give it the answer")


def carry_out(
    plan: Plan, options: dict[str, Any], console: Console, left_out: Mapping[int, Skipped] | None = None
) -> tuple[int, Report | None]:
    """Execute a plan, but for the tasks that are left out, and show what happens.

    Return the exit code, and the report; None where a person did not want anything to be executed.
    """
    if options["color"] == "always" or os.isatty(STDOUT):
        from clada.cli.terminal import Terminal

        console = Terminal(options["color"])
    try:
        if not options["dry_run"] and not plan.fatal and plan.has_operations:
            options = _settle(plan, options, console)
        if options["confirm"] and not options["dry_run"] and not plan.fatal and plan.has_operations:
            from clada.cli.confirm import confirmed

            reasons = {index: each.reason for index, each in (left_out or {}).items()}
            wanted = confirmed(plan.replace(left_out=reasons), options, console)
            if wanted is None:
                return 1, None
            plan = wanted
        if options["approve_all"]:
            plan = plan.replace(notes=(*plan.notes, APPROVE_ALL))
        consoles = [console]
        present: Callable[..., Presenter] = Presenter
        if options["events"]:
            from clada.cli.events import EventLines

            consoles.append(lines := EventLines(options["events"]))
            present = lines.presenter
        with Signals(lambda: _hurry(consoles)) as stop:
            presenter = present(plan, options, console, stop)
            settings = settings_of(options)
            report = execute(
                plan,
                on_event=presenter.take,
                ask=presenter.ask,
                consent=presenter.consent if not settings.dry_run or somebody_is_there() else None,
                stop=stop,
                settings=settings,
                left_out=left_out,
            )
            if report.fatal and report.fatal.stage == "WORKSPACE":  # a mistake in the call: nothing was tried
                raise UsageError(f"--workspace: {report.fatal.sentence}")
            presenter.finish(report)
    finally:
        console.close()
    if options["copy"]:
        from clada.cli.clipboard import copy

        copy(report.text(for_llm=True))
        console.complain("clada: the report is on the clipboard")
    return report.exit_code or (FAILED if console.lost else DONE), report


def _settle(plan: Plan, options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Ask whether approvals count and how to record, if that is open; return the options with the answer."""
    if os.path.lexists(os.path.join(options["workspace"], ".clada")):
        _settle_approvals(plan, options, console)
    if options["record"] != "auto" or not os.isatty(STDOUT):
        return options
    from clada.cli.first_use import with_record

    return with_record(options, console)


def _settle_approvals(plan: Plan, options: dict[str, Any], console: Console) -> None:
    """Ask whether the approvals count that the workspace brings along, if they are new and could matter."""
    items = (item for block in plan.blocks for item in block.operations)
    if not options["approve_all"] and any(isinstance(item, Operation) and item.is_command for item in items):
        from clada.cli.trust import settle

        settle(options["workspace"], console, ask=True, tell=False)  # a command that is refused tells it


def _hurry(consoles: Iterable[Console]) -> None:
    for console in consoles:
        console.hurry()


def read(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the document: of the file that is named, or of standard input; None where there is none.

    It is read to the end, but no further than it takes to see that it is too much.
    """
    if not arguments and os.isatty(STDIN):
        from clada.cli.help import USAGE

        console.say_aside([("note", USAGE)])
        return None
    fd, name = STDIN, "standard input"
    if arguments and arguments[0] != "-":
        name = arguments[0]
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise UsageError(_unopened(name, error)) from None
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
    if fd != STDIN:
        os.close(fd)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _unopened(path: str, error: OSError | ValueError) -> str:
    """Return why a document could not be opened; it may have been meant as a command."""
    if isinstance(error, ValueError):
        return f"{path}: {error}"
    near = meant(path, [*COMMANDS, "--help"], "`clada {}`") or "; see clada --help"
    return f"{path}: {reason(error)}{near}"


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the settings of a run from the options of a command line, which are checked already."""
    return Settings(**{name: options[name] for name in Settings.__match_args__})


def somebody_is_there() -> bool:
    """Whether a run could ask: a dry run asks nothing, but says what would be refused without an answer."""
    from clada.cli.questions import open_terminal

    terminal = open_terminal()
    if terminal is not None:
        os.close(terminal)
    return terminal is not None


class Signals(Stop):
    """Ends the run in order at the first signal, and at once at the second.

    A signal that whoever started us ignores, such as SIGHUP under nohup, stays ignored. `handle` is readable
    from the moment a signal comes: where there are threads, the system may give it to another one than the
    main one, which then goes on to wait, and only by waking could call `_catch`.
    """

    def __enter__(self) -> Self:
        self._before: dict[int, Any] = {}
        self._pipes.append(os.pipe())
        sink = self._pipes[0][1]
        os.set_blocking(sink, False)
        self._woken_before = signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken_before)
        super().__exit__(*error)

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.set(number)


class Presenter:
    """What a person, or a program, sees of a run: its events as lines, at once, at the end, or not at all.

    Whatever goes wrong with that does not stop the run: it is told, and the exit code is that of a failure.
    """

    def __init__(
        self, plan: Plan, options: dict[str, Any], console: Console, stop: Stop | None = None
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
        self._passed = 0  # items that have begun, or were skipped
        self._begun: set[str] = set()  # labels of tasks that have begun, and not ended

    def take(self, event: Event) -> None:
        """Show an event."""
        try:
            match event:
                case TaskStarted(label=label, target=target):
                    self._begun.add(label)
                    self._passed += 1
                    self.console.working(self._ended, len(self._items), target)
                case TaskEnded(task=task):
                    status = task.status
                    self._passed += task.label not in self._begun
                    self._begun.discard(task.label)
                    if self.mode != "silent" or status == "error":  # else nobody sees its line
                        self._show_task(task)
                    self._ended += status != "skipped" and not task.invalid  # which was not tried either
                    self.console.working(self._ended, len(self._items), "")
                case Output(label=label, lines=printed):
                    self._say([("exec", output_text(label, printed))])
                case OutputTruncated():
                    self._say([("exec", TRUNCATED)])
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
            line = status_line(task, self.notation)
            self._say([line, *details], failed=failed)
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
        if report.fatal or report.error or report.not_applied:
            parts.append(("what went wrong", lambda: self._say(self._failure(report), failed=True)))
        if summarise := self._summarise:
            parts.append(("the summary", lambda: self.console.write(summarise(report))))
        elif self.console.rows and report.tasks and self.notation.family != SENTENCES:
            parts.append(("the closing line", lambda: self.console.say(self._closing(report))))
        if line := commits_line(report):
            parts.append(("the commits", lambda: self._tell_commits(line)))
        for what, show in parts:
            try:
                show()
            except Exception as bug:  # noqa: BLE001 (the other parts are shown)
                self._lose(what, bug)

    def _tell_commits(self, line: str) -> None:
        """Say which commits were made: on standard error, as programs read standard output."""
        self.console.complain(f"clada: {line}")

    def _closing(self, report: Report) -> Iterator[Line]:
        """Yield what a person looks for at the end: failures again that have scrolled away, and the count."""
        from clada.report.llm import counts

        yield from self.console.scrolled_away()
        undo = " · clada undo takes it back" if report.undoable else ""
        yield "closing", f"{counts(report)}{undo}"

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Put a command to the person at the terminal; without an answer that is a no."""
        from clada.cli.questions import prompt

        self.console.pause()
        try:
            plan, on_shown = self._surrounding_plan(), self.console.count_rows
            return prompt(command, directory, reason, network, self._handle(), plan=plan, on_shown=on_shown)
        except Exception as bug:  # noqa: BLE001 (the other tasks may not need it)
            self._lose("the question", bug)
            return "no"
        finally:
            self.console.working(self._ended, len(self._items), command)

    def _handle(self) -> int | None:
        """Return what to wait for besides an answer."""
        return self.stop.handle if self.stop else None

    def _surrounding_plan(self) -> list[str]:
        """Return the plan around the present task, a line for each: what came before, and what is to come."""
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
        """Put a question to the person at the terminal; without an answer that is a no."""
        from clada.cli.questions import confirm

        self.console.pause()
        try:
            return confirm(question, self._handle(), self.console.count_rows)
        except Exception as bug:  # noqa: BLE001 (as above)
            self._lose("the question", bug)
            return False

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
    maker: Callable[[Report], str] = __import__(f"clada.report.{kind}", fromlist=("summary",)).summary
    return maker


def _diff(report: Report) -> Iterable[Line]:
    from clada.report.diff import diff_lines

    return diff_lines(report.changes, report.modes, report.mask)
