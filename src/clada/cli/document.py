"""The main job: a document comes in, is carried out, and reported."""

from __future__ import annotations

import os
import sys

from clada.cli.flags import COMMANDS, UsageError
from clada.cli.presenter import Presenter
from clada.grammar import MAX_INPUT
from clada.notations import parse
from clada.problems import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.model import Plan, Report
    from clada.settings import Options

CHUNK = 1 << 20
SETTINGS = (
    "workspace git_author allow_escape timeout total_timeout max_output lock_file lock_timeout dry_run"
    " final_newline approve approve_all shell sandbox sandbox_write sandbox_read sandbox_env_hide"
).split()


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Execute a document, or show what that would do; return the exit code."""
    document = _input(arguments, console)
    if document is None:
        return 2
    plan = _plan(options, document)
    if plan.notation is None and not plan.fatal:
        console.complain("clada: no operations found")
        return 0
    if options["confirm"] and not options["dry_run"]:
        from clada.cli.confirm import confirmed

        if not confirmed(plan, options, console):
            return 1
    return _execute(plan, options, console)


def show_plan(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the plan of a document as JSON."""
    import json

    document = _input(arguments, console)
    if document is None:
        return 2
    plan = _plan(options, document)
    console.write(json.dumps(plan.to_dict(), indent=2) + "\n")
    return 0 if plan.ok else 1


def _execute(plan: Plan, options: dict[str, Any], console: Console) -> int:
    from clada.cli.signals import Stop

    if options["approve_all"]:
        console.complain("clada: --approve-all: every command runs without asking, network included")
    presenter = Presenter(plan, options, console)
    with Stop() as stop:
        report = perform(plan, options, presenter, stop)
        presenter.finish(report)
    if report.interrupted:
        return 128 + report.interrupted
    return 0 if report.ok else 1


def perform(plan: Plan, options: dict[str, Any], presenter: Presenter, stop: Any = None) -> Report:
    """Execute a plan with the options of a command line."""
    from clada.pipeline import execute

    return execute(plan, on_event=presenter.take, ask=presenter.ask, stop=stop, **settings(options))


def settings(options: dict[str, Any]) -> Options:
    """Return the options that a run has, of those of the command line."""
    chosen: Any = {name: options[name] for name in SETTINGS}
    chosen["git"] = not options["no_git"]
    return chosen  # type: ignore[no-any-return]


def _plan(options: dict[str, Any], document: bytes) -> Plan:
    return parse(
        document,
        options["format"],
        start_delimiter=options["start_delimiter"],
        end_delimiter=options["end_delimiter"],
    )


def _input(arguments: Sequence[str], console: Console) -> bytes | None:
    """Return the document: of the file that is named, or of standard input; None where there is none."""
    if len(arguments) > 1:
        raise UsageError(f"one document at a time: {arguments[1]!r} is too many")
    if arguments and arguments[0] != "-":
        return _read_file(arguments[0])
    if not arguments and sys.stdin is not None and sys.stdin.isatty():
        from clada.cli.help import USAGE

        console.complain(USAGE)
        return None
    return _read_all(0) if sys.stdin is not None else b""


def _read_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or '').lower()}{_meant(path)}") from None
    try:
        return _read_all(fd)
    except IsADirectoryError:
        raise UsageError(f"{path}: is a directory, not a document") from None
    finally:
        os.close(fd)


def _meant(path: str) -> str:
    """Return a hint where the name of the file is nearly a command."""
    from difflib import get_close_matches

    close = get_close_matches(path, COMMANDS, n=1)
    return f"; did you mean `clada {close[0]}`?" if close else ""


def _read_all(fd: int) -> bytes:
    """Read to the end, but no further than it takes to see that it is too much."""
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_INPUT:
        try:
            piece = os.read(fd, CHUNK)
        except IsADirectoryError:
            raise
        except OSError as error:
            raise Trouble("io_error", f"standard input cannot be read: {error.strerror}") from None
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]
