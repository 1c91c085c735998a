"""The main command, and `plan`, `paste` and `resume`: carry a document out and report the result."""

from __future__ import annotations

import os
from select import select
from stat import S_ISREG

from clada import config
from clada.cli.console import STDERR, STDIN, STDOUT, color_is_forced
from clada.cli.presenter import Presenter
from clada.cli.signals import stop_on_signals
from clada.errors import CladaError, UsageError, reason, system_words
from clada.exit_codes import DONE, FAILED, USAGE
from clada.grammar import MAX_INPUT, read_number
from clada.model import Operation
from clada.report import counted
from clada.run import execute, plan_for
from clada.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan, Skipped
    from clada.report import Report

PROMPT_MARK = b"read by a program, clada,"  # in the head of our own prompts
PROMPT_HEAD = 200  # bytes
CHUNK = 1 << 20
APPROVE_ALL = "--approve-all: every command runs without asking, network included"
HTML = b"<!doctype html>"  # start of a page
PAGE_USAGE = "clada plan --html plan.html FILE"
RECORDING = """
clada records each run for clada undo. This repository has uncommitted work:
  commits    one commit with your work, and one with what the run changes
  snapshots  no commits: branch and index stay as they are; undo works, too
"""
RECORDING_QUESTION = "Record runs by [c] commits or [s] snapshots? (asked once) "
RECORDING_ANSWERS = {"c": "commits", "commits": "commits", "s": "snapshots", "snapshots": "snapshots"}


def apply(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    text = read_document(arguments, console)
    if text is None:
        return USAGE
    if PROMPT_MARK in text[:PROMPT_HEAD]:
        from clada.prompts import own_text  # late: it loads the prompts and the report for models

        if what := own_text(text):
            raise CladaError("io_error", f"the document is {what}: nothing was executed", "clada FILE")
    options = with_uncommitted(options, arguments)
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]


def plan(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Do the same as --dry-run; or write that as a page."""
    options = {**options, "dry_run": True}
    return (_write_page if options.get("html") else apply)(options, arguments, console)


def paste(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Execute the document on the clipboard; return the exit code."""
    from clada.cli import clipboard
    from clada.prompts import own_text

    text = clipboard.paste()
    if what := own_text(text) if text else "nothing":
        raise CladaError(
            "io_error", f"on the clipboard there is {what}; copy the answer, then:", "clada paste"
        )
    options = with_uncommitted(options, ())
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]


def resume(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Apply what failed or was skipped in the last run, or in that one, and nothing that succeeded."""
    from clada.resuming import notes_on, plan_of, refuse_reverted, rest_of

    rest = rest_of(options["workspace"], run_number(arguments, "resume"))
    if not options["again"]:
        refuse_reverted(rest)
    options = with_uncommitted({**options, **rest.settings, **options["given"]}, ())
    if options["merge"] is True:  # by its flag here
        options = {**options, "merge": "history"}
    plan = plan_of(rest, settings_of(options))
    for note in notes_on(rest, plan):
        console.note(note)
    return carry_out(plan, options, console, rest.left_out)[0]


def run_number(arguments: Sequence[str], command: str) -> int | None:
    """Return the number of a run that is the argument of a command; None without one."""
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"{command} takes the number of a run, not {arguments[0]!r}", "clada history")
    return number


def read_document(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the content of the named file or of standard input; None if that is a terminal.

    Reading stops once the document is known to be too large.
    """
    if not arguments and os.isatty(STDIN):
        from clada.cli.help import USAGE as SHORT_USAGE

        console.say_aside([("note", SHORT_USAGE)])
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


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the settings of a run from the options of a command line, which are already checked."""
    return Settings(**{name: options[name] for name in Settings.__match_args__})


def carry_out(
    plan: Plan, options: dict[str, Any], console: Console, left_out: Mapping[int, Skipped] | None = None
) -> tuple[int, Report | None]:
    """Execute a plan without the tasks in `left_out`, and show the result.

    Return the exit code and the report; the report is None if the user declined.
    """
    is_forced = options["color"] == "auto" and color_is_forced()
    if options["color"] == "always" or os.isatty(STDOUT) or is_forced:
        from clada.cli.terminal import Terminal  # late: threads

        console = Terminal(options["color"])
    try:
        if plan.has_operations and not plan.fatal and not options["dry_run"]:
            options = _ask_first(plan, options, console)
            if options["confirm"] and not options["yes"]:
                from clada.cli.confirm import confirm_plan

                reasons = {index: each.reason for index, each in (left_out or {}).items()}
                wanted = confirm_plan(plan.replace(left_out=reasons), options, console)
                if wanted is None:
                    return FAILED, None
                plan = wanted
        if options["approve_all"]:
            plan = plan.replace(notes=(*plan.notes, APPROVE_ALL))
        report = _execute(plan, options, console, left_out)
    finally:
        console.close()
    if options["copy"]:
        from clada.cli.clipboard import copy

        copy(report.text(for_llm=True))
        console.note("the report is on the clipboard")
    return report.exit_code or (FAILED if console.lost else DONE), report


def _execute(
    plan: Plan, options: dict[str, Any], console: Console, left_out: Mapping[int, Skipped] | None
) -> Report:
    """Execute a plan and show its events; a signal ends it in order."""
    settings = settings_of(options)
    consoles = [console]
    present: Callable[..., Presenter] = Presenter
    if options["events"]:
        from clada.cli.events import EventLines

        consoles.append(lines := EventLines(options["events"]))
        present = lines.presenter

    def hurry() -> None:
        for each in consoles:
            each.hurry()

    with stop_on_signals(hurry) as stop:
        presenter = present(plan, options, console, stop)
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
    return report


def terminal_is_available() -> bool:
    """Return whether a run could ask. A dry run asks nothing, but says what needs an answer."""
    from clada.cli.questions import opened_terminal  # late, as all that asks

    with opened_terminal() as terminal:
        return terminal is not None


# Questions before a run.


def _ask_first(plan: Plan, options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Ask about untrusted approvals and how to record, if undecided; return the options with the answer."""
    if os.path.lexists(os.path.join(options["workspace"], ".clada")) and not options["approve_all"]:
        items = (item for block in plan.blocks for item in block.operations)
        if any(isinstance(item, Operation) and item.is_command for item in items):
            from clada.cli.commands.trust import settle

            # Without `tell`, because a refused command says so itself.
            settle(options["workspace"], console, may_ask=True, tell=False)
    return ask_how_to_record(options, console)


def ask_how_to_record(options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Return the options with a way to record runs.

    It is asked for once: on a terminal, at the first run in a repository with uncommitted work.
    """
    is_set = options["record"] != "auto" or "record" in options["given"] or options.get("record_configured")
    if is_set or options["dry_run"] or not os.isatty(STDOUT):
        return options
    record = config.own_settings().get("record")  # which may have been answered since clada was started
    if record is None and _has_uncommitted_work(options):
        record = _ask_how_to_record(console)
    return options if record is None else {**options, "record": record, "record_configured": True}


def _has_uncommitted_work(options: dict[str, Any]) -> bool:
    """Whether there are changes that a commit before the run would take; the answer does not count."""
    from clada.world.git import repository
    from clada.world.git.git import hardened_git
    from clada.world.git.status import work_tree_status

    try:
        found = repository.find(options["workspace"], named=options["repository"])
        seen = work_tree_status(hardened_git(found, refresh=False), found.prefix)
    except CladaError:
        return False  # the run itself will say what is wrong
    answers = {os.path.realpath(path) for path in options["uncommitted"]}
    paths = (*seen.changed, *seen.staged, *seen.untracked)
    return any(os.path.realpath(os.path.join(found.root, path)) not in answers for path in paths)


def _ask_how_to_record(console: Console) -> str | None:
    """Explain both ways, ask for one and remember it; None without a terminal."""
    from clada.cli.questions import ask

    record = ask(RECORDING, RECORDING_QUESTION, RECORDING_ANSWERS)
    if record is None:
        return None
    if not record:
        message = "it is not decided how to record: nothing was executed"
        raise CladaError("invalid_operation", message, "clada config set record snapshots")
    try:
        path = config.set_in_user_file("record", [record])
        console.note(f'remembered in {path}: record = "{record}"')
    except (OSError, CladaError) as error:
        why = reason(error) if isinstance(error, OSError) else error.error.message
        console.note(f"{config.user_file()} cannot be written: {why}; you will be asked again")
    preference: str = config.as_preference("record", record)
    return preference


# The page of `clada plan --html`.


def _write_page(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    text = read_document(arguments, console)
    if text is None:
        return USAGE
    from clada.review.page import Review, export
    from clada.selection import preview

    file = options["html"]
    _refuse_other_file(file)
    settings = settings_of(options)
    plan = plan_for(text, settings)
    consent = (lambda _question: True) if terminal_is_available() else None
    report, previews = preview(plan, settings, consent=consent)
    page = export(Review(plan, report, previews, settings))
    try:
        with open(file, "w", encoding="utf-8", errors="replace") as written:
            written.write(page)
    except OSError as error:
        raise UsageError(f"--html: {system_words(error)}", PAGE_USAGE) from None
    for note in (*report.notes, *(each.text for each in report.not_applied)):
        console.note(note)
    if report.fatal:
        console.note_error(report.fatal)
    failing = sum(not task.ok for task in report.tasks)
    fails = f", {failing} would fail" if failing else ""
    console.write(f"{file}: {counted(len(report.tasks), 'operation')}{fails}\n")
    return report.exit_code


def _refuse_other_file(path: str) -> None:
    """Refuse to write the page over a file that is not a page: it may be the answer itself."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(HTML))
    except OSError:
        return  # reported when the page is written
    if start and start.lower() != HTML:
        raise UsageError(f"--html: {path} exists and is not a page", PAGE_USAGE)
