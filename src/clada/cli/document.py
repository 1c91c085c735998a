"""The main job: a document comes in, is carried out, and reported."""

from __future__ import annotations

import os

from clada.cli.console import screen
from clada.cli.flags import COMMANDS, UsageError, meant
from clada.cli.presenter import Presenter
from clada.grammar import MAX_INPUT
from clada.notations import parse
from clada.settings import Settings
from clada.world.files.entries import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.cli.signals import Stop
    from clada.model import Plan, Report
    from clada.settings import Options

STDIN = 0
CHUNK = 1 << 20


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    text = read(arguments, console)
    if text is None:
        return 2
    plan = parsed(options, text)
    console = screen(options["color"])
    try:
        code = _carry_out(plan, options, console)
    finally:
        console.close()
    return code or int(console.lost)


def parsed(options: dict[str, Any], text: bytes) -> Plan:
    """Read a document into a plan."""
    return parse(
        text,
        options["format"],
        start_delimiter=options["start_delimiter"],
        end_delimiter=options["end_delimiter"],
    )


def perform(plan: Plan, options: dict[str, Any], presenter: Presenter, stop: Stop | None = None) -> Report:
    """Execute a plan with the options of a command line."""
    from clada.pipeline import execute

    return execute(plan, on_event=presenter.take, ask=presenter.ask, stop=stop, **settings(options))


def settings(options: dict[str, Any]) -> Options:
    """Return the options that a run has, of those of the command line."""
    known = {**options, "git": not options["no_git"]}
    chosen: Any = {name: known[name] for name in Settings.__match_args__}
    return chosen  # type: ignore[no-any-return]


def _carry_out(plan: Plan, options: dict[str, Any], console: Console) -> int:
    if options["confirm"] and not options["dry_run"] and not plan.fatal and not _empty(plan):
        from clada.cli.confirm import confirmed

        if not confirmed(plan, options, console):
            return 1
    return _execute(plan.replace(notes=(*_notes(plan, options), *plan.notes)), options, console)


def _empty(plan: Plan) -> bool:
    return not any(block.operations for block in plan.blocks)


def _notes(plan: Plan, options: dict[str, Any]) -> Iterator[str]:
    """Yield what the person should know before the plan is carried out."""
    from clada.notations.lookalikes import overlooked

    if plan.fatal:
        return
    if _empty(plan):
        yield "no operations found"
    note = overlooked(plan, options["start_delimiter"])
    if note:
        yield note
    if options["approve_all"]:
        yield "--approve-all: every command runs without asking, network included"


def _execute(plan: Plan, options: dict[str, Any], console: Console) -> int:
    from clada.cli.signals import Stop

    with Stop(console.hurry) as stop:
        presenter = Presenter(plan, options, console, stop.handle)
        report = perform(plan, options, presenter, stop)
        presenter.finish(report)
    if report.interrupted:
        return 128 + report.interrupted
    return 0 if report.ok else 1


def read(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the document: of the file that is named, or of standard input; None where there is none."""
    if arguments and arguments[0] != "-":
        return _read_file(arguments[0])
    if not arguments and os.isatty(STDIN):
        from clada.cli.help import USAGE

        console.say_aside([("note", USAGE)])
        return None
    return _read_all(STDIN, "standard input")


def _read_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}{_nearest(path)}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        return _read_all(fd, path)
    finally:
        os.close(fd)


def _nearest(path: str) -> str:
    """Return a hint where the name of the file is nearly a command."""
    return meant(path, [*COMMANDS, "--help"], "`clada {}`") or "; see clada --help"


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
