"""The main command: reads a document, carries it out and reports the result."""

from __future__ import annotations

import os
from select import select
from stat import S_ISREG

from clada.cli.console import STDERR, STDIN, STDOUT, color_is_forced
from clada.cli.presenter import Presenter
from clada.cli.signals import stop_on_signals
from clada.errors import CladaError, UsageError, reason
from clada.exit_codes import DONE, FAILED
from clada.grammar import MAX_INPUT
from clada.model import Operation
from clada.run import execute, plan_for
from clada.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan, Skipped
    from clada.report import Report

PROMPT_MARK = b"read by a program, clada,"  # in the head of our own prompts
PROMPT_HEAD = 200  # bytes
CHUNK = 1 << 20
APPROVE_ALL = "--approve-all: every command runs without asking, network included"


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    text = read(arguments, console)
    if text is None:
        return 2
    if PROMPT_MARK in text[:PROMPT_HEAD]:
        _refuse_own(text)
    options = with_uncommitted(options, arguments)
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]


def with_uncommitted(options: dict[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """Add the answer file and the files that input and output are redirected to, which stay uncommitted.

    Git commits them all the same if it tracks them.
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
            continue  # it is closed, or the system has no /proc
    return {**options, "uncommitted": (*options["uncommitted"], *files)}


def _refuse_own(text: bytes) -> None:
    """Refuse a document that is clada's own prompt or report: its examples are not meant to be applied."""
    if what := own_text(text):
        raise CladaError("io_error", f"the document is {what}: nothing was executed", "clada FILE")


def own_text(text: bytes) -> str | None:
    """Return what a text of clada's own is; None if it may be an answer."""
    from clada.prompts import is_prompt  # late: they load the prompts and the report for models
    from clada.report.llm import is_report

    words = text.decode(errors="replace")
    if is_report(words):
        return "a report of clada, not an answer"
    return "a prompt of clada, not an answer" if is_prompt(words) else None


def carry_out(
    plan: Plan, options: dict[str, Any], console: Console, left_out: Mapping[int, Skipped] | None = None
) -> tuple[int, Report | None]:
    """Execute a plan without the tasks in `left_out`, and show the result.

    Return the exit code and the report; the report is None if the user declined.
    """
    if (
        options["color"] == "always"
        or os.isatty(STDOUT)
        or (options["color"] == "auto" and color_is_forced())
    ):
        from clada.cli.terminal import Terminal  # late: it loads rich

        console = Terminal(options["color"])
    try:
        if not options["dry_run"] and not plan.fatal and plan.has_operations:
            options = _ask_first(plan, options, console)
        if (
            options["confirm"]
            and not options["yes"]
            and not options["dry_run"]
            and not plan.fatal
            and plan.has_operations
        ):
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
        with stop_on_signals(lambda: _hurry(consoles)) as stop:
            presenter = present(plan, options, console, stop)
            settings = settings_of(options)
            report = execute(
                plan,
                on_event=presenter.handle,
                ask=presenter.ask,
                consent=presenter.consent if not settings.dry_run or terminal_is_available() else None,
                stop=stop,
                settings=settings,
                left_out=left_out,
            )
            if report.fatal and report.fatal.stage == "WORKSPACE":  # a mistake in the call, so a usage error
                raise UsageError(f"--workspace: {report.fatal.message}", report.fatal.hint or "")
            presenter.finish(report)
    finally:
        console.close()
    if options["copy"]:
        from clada.cli.clipboard import copy

        copy(report.text(for_llm=True))
        console.note("the report is on the clipboard")
    return report.exit_code or (FAILED if console.lost else DONE), report


def _ask_first(plan: Plan, options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Ask about untrusted approvals and how to record, if undecided; return the options with the answer."""
    if os.path.lexists(os.path.join(options["workspace"], ".clada")):
        _settle_approvals(plan, options, console)
    if options["record"] != "auto" or not os.isatty(STDOUT):
        return options
    from clada.cli.first_use import with_record

    return with_record(options, console)


def _settle_approvals(plan: Plan, options: dict[str, Any], console: Console) -> None:
    """Ask whether to trust the workspace's approvals, if the plan has commands that may need them."""
    items = (item for block in plan.blocks for item in block.operations)
    if not options["approve_all"] and any(isinstance(item, Operation) and item.is_command for item in items):
        from clada.cli.trust import settle

        settle(options["workspace"], console, ask=True, tell=False)  # a refused command says so itself


def _hurry(consoles: Iterable[Console]) -> None:
    for console in consoles:
        console.hurry()


def read(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the content of the named file or of standard input; None if that is a terminal.

    Reading stops once the document is known to be too large.
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
            why = reason(error) if isinstance(error, OSError) else error
            raise UsageError(f"{name}: {why}", "clada --help") from None
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_INPUT:
        try:
            piece = os.read(fd, CHUNK)
        except BlockingIOError:  # the other end made the pipe non-blocking
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


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the settings of a run from the options of a command line, which are already checked."""
    return Settings(**{name: options[name] for name in Settings.__match_args__})


def terminal_is_available() -> bool:
    """Return whether a run could ask. A dry run asks nothing, but says what needs an answer."""
    from clada.cli.questions import open_terminal  # late, as all that asks

    terminal = open_terminal()
    if terminal is not None:
        os.close(terminal)
    return terminal is not None
