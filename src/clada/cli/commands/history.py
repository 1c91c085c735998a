"""`clada history` lists runs, shows one in full, deletes old ones; `clada report` prints one for the LLM."""

from __future__ import annotations

from datetime import UTC, datetime

from clada import past
from clada.cli.clipboard import copy
from clada.cli.commands.apply import run_number
from clada.cli.console import table_lines
from clada.errors import CladaError, UsageError
from clada.grammar import read_number
from clada.past import SHORT, prune, refused_report, run_details
from clada.report import counted
from clada.report.diff import diff_lines
from clada.text.escape import escape_controls
from clada.world.record.store import find_store
from clada.world.record.undo import NO_RUN, describe_other_workspaces
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.past import RunDetails
    from clada.world.record.history import RecordedRun

HEADER = ("RUN", "WHEN", "END", "WHAT", "FILES")
LONG_HEADER = ("RUN", "WHEN", "END", "COMMITS", "WHAT", "FILES")
# Units of time, the seconds from which on each is used, and how many seconds it has.
UNITS = (("d", 48 * 3600, 24 * 3600), ("h", 7200, 3600), ("min", 120, 60), ("s", 0, 1))


def history(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the runs; `show RUN` prints all of one, `prune` deletes those past the limits in the settings."""
    match list(arguments):
        case []:
            _list(options, console)
        case ["show", *rest]:
            _show(options, rest, console)
        case _:
            _prune(options, console)
    return 0


def _list(options: dict[str, Any], console: Console) -> None:
    runs = past.history(options["workspace"])
    limit = options.get("limit", 20)
    shown = runs[: limit or None]
    if options["json"]:
        console.write_json([_as_dict(each) for each in shown])
        return
    if not runs:
        others = describe_other_workspaces(find_store(options["workspace"]))
        console.note(f"{NO_RUN} yet", *(others.split("\n") if others else ()))
        return
    _write_table(shown, console, long=bool(options.get("long")))
    if len(shown) < len(runs):
        console.note(f"{len(runs) - len(shown)} older runs", "clada history --limit=0")


def _write_table(runs: Sequence[RecordedRun], console: Console, *, long: bool) -> None:
    now = datetime.now(UTC)
    rows = []
    for each in runs:
        when = each.when if long else _ago(each.when, now)
        what, _, files = each.what.partition(": ")
        rows.append((str(each.number), when, each.ended, *([_commits(each)] if long else []), what, files))
    lines = table_lines(LONG_HEADER if long else HEADER, rows, right=0)
    console.write("".join(f"{line}\n" for line in lines))


def _commits(each: RecordedRun) -> str:
    """Return the commits before and after a run; a dash where none was needed."""
    return "..".join(commit[:SHORT] if commit else "-" for commit in each.commits)


def _ago(when: str, now: datetime) -> str:
    """Return how long ago something was, as people say it; the time itself if it cannot be read."""
    try:
        seconds = max(0, int((now - datetime.fromisoformat(when)).total_seconds()))
    except (ValueError, TypeError):
        return when
    unit, _least, size = next(row for row in UNITS if seconds >= row[1])
    return f"{seconds // size} {unit} ago"


def _as_dict(each: RecordedRun) -> dict[str, Any]:
    pre, post = each.commits
    return {
        "run": each.number,
        "when": each.when,
        "ended": each.ended,
        "what": each.what,
        "record": each.record,
        "undoes": each.undoes or None,
        "changed": each.changed,
        "commands": each.commands,
        "commits": {"pre": pre, "post": post},
    }


def _show(options: dict[str, Any], rest: Sequence[str], console: Console) -> None:
    number = (
        read_number(rest[0]) if rest else next((run.number for run in past.history(options["workspace"])), 0)
    )
    if not number:
        raise UsageError("history show takes the number of a run", "clada history")
    found = run_details(number, options["workspace"])
    changes = _changes(found, options)
    if options["json"]:
        texts = {"document": found.document.decode(errors="replace"), "report": found.report}
        console.write_json({**_as_dict(found.run), **texts, "diff": changes})
        return
    _write_table([found.run], console, long=True)
    lines: list[str] = []
    if found.document:
        lines += ["", "document:", *_indent(found.document.decode(errors="replace"))]
    if found.report:
        lines += ["", "report:", *_indent(found.report)]
    lines += ["", "changes:", *changes] if changes else ["", "changes: none"]
    if found.suspects:
        suspects = [text for _kind, text in diff_lines(found.suspects, ())]
        lines += ["", "changed since a command began that was killed, by it or by others:", *suspects]
    console.write("".join(f"{line}\n" for line in lines))


def _changes(found: RunDetails, options: dict[str, Any]) -> list[str]:
    mask = mask_of_changes(found.changes, options.get("reveal", ()))
    return [text for _kind, text in diff_lines(found.changes, found.modes, mask)]


def _indent(text: str) -> list[str]:
    return [f"  {escape_controls(line)}".rstrip() for line in text.splitlines()]


def _prune(options: dict[str, Any], console: Console) -> None:
    limits = {name: options[name] for name in ("history_size", "history_age")}
    count = prune(options["workspace"], **limits)
    if options["json"]:
        console.write_json({"deleted": count}, None)
    else:
        console.write(f"{counted(count, 'run')} deleted\n")


def report(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print or copy the report of the last document, or of the given run, for the LLM."""
    text = (None if arguments else refused_report(options["workspace"])) or _saved_report(options, arguments)
    if options["json"]:
        console.write_json({"report": text}, None)
    elif options["copy"]:
        copy(text)
        console.note("the report is on the clipboard")
    else:
        console.write(text)
    return 0


def _saved_report(options: dict[str, Any], arguments: Sequence[str]) -> str:
    number = run_number(arguments, "report")
    if number is None:
        number = next((each.number for each in past.history(options["workspace"]) if not each.undoes), None)
    if number is None:
        raise CladaError("git_operation_failed", NO_RUN, "clada FILE")
    text = run_details(number, options["workspace"]).for_llm
    if not text:
        message = f"run {number} has no report: it was killed"
        raise CladaError("git_operation_failed", message, f"clada history show {number}")
    return text
