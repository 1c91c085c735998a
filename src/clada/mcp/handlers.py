"""The handlers of the tools: read, search, apply, undo and the others. They run in threads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import clada
from clada.mcp.results import cut, failure, make_result, name_tools, report_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import types

    from clada.mcp.call import ToolCall

    Answer = dict[str, Any] | types.InputRequiredResult  # as the client gets it
    Arguments = dict[str, Any]

NOT_APPROVED = "verify: `{}` is not approved; the user can approve it; nothing was done"
RANGE = re.compile(r"(.+?)(?::([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?)?", re.DOTALL)  # path:10-60
SEARCH_SECONDS = 20  # limit of one search
TOO_LONG = f"the regular expression took more than {SEARCH_SECONDS} seconds; search for a text, or for less"
# A regular expression can take for ever, and a thread cannot be ended: each search is a process of its own.
SEARCH_PROCESS = """\
import json, sys, clada
given = json.load(sys.stdin)
try:
    found = clada.search(**given)
    answer = {"lines": [[each.path, each.line, each.text] for each in found.matches], "more": found.is_cut}
except (ValueError, clada.CladaError) as error:
    answer = {"error": str(error)}
json.dump(answer, sys.stdout)
"""


# Handlers that change nothing.


def read(call: ToolCall, given: Arguments) -> Answer:
    """Return the content of files, or of some of their lines."""
    settings = call.workspace.settings
    parts, missing = [], []
    for asked in given["paths"]:
        path, first, last = RANGE.fullmatch(asked).groups()  # type: ignore[union-attr]  # it matches all
        found = clada.read(
            [path],
            workspace=settings.workspace,
            reveal=settings.reveal,
            remember=settings.record != "none",
        )
        parts += [_format_lines(file, int(first or 1), int(last or first or 0)) for file in found.files]
        missing += [f"{clada.visible(name)} is not shown: {why}\n" for name, why in found.left_out]
    text = cut("".join([*parts, *missing]) or "There is no such file.\n")
    return make_result(text, ok=bool(parts))


def _format_lines(file: clada.PackedFile, first: int, last: int) -> str:
    """Return lines of a file under its path; `last` 0 is the end of the file."""
    lines = file.content.decode().splitlines(keepends=True)
    chosen = lines[first - 1 : last or None]
    of = f" (lines {first}-{first + len(chosen) - 1} of {len(lines)})" if len(chosen) < len(lines) else ""
    text = "".join(chosen)
    ending = (
        "" if text.endswith("\n") else "\n[no line break at the end of the file]\n" if text else "[empty]\n"
    )
    return f"==> {clada.visible(file.path)}{of} <==\n{text}{ending}"


def search(call: ToolCall, given: Arguments) -> Answer:
    """Find lines in files."""
    settings = call.workspace.settings
    asked = json.dumps({**given, "workspace": settings.workspace, "reveal": list(settings.reveal)})
    command = [sys.executable, "-P", "-c", SEARCH_PROCESS]
    try:
        done = subprocess.run(  # noqa: S603 (our own program)
            command, input=asked, capture_output=True, text=True, timeout=SEARCH_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        return failure(TOO_LONG)
    found = json.loads(done.stdout)
    if "error" in found:
        return failure(found["error"])
    lines = [f"{clada.visible(path)}:{number}: {text}\n" for path, number, text in found["lines"]]
    more = "[there are more: search for something longer, or in fewer paths]\n" if found["more"] else ""
    return make_result("".join(lines) + more or "No line matches.\n")


def history(call: ToolCall, given: Arguments) -> Answer:
    """List the recorded runs."""
    runs = clada.history(call.workspace.settings.workspace)[: given.get("limit", 20)]
    lines = [clada.visible(f"{run.number}  {run.when}  {run.ended}  {run.what}") for run in runs]
    content: list[dict[str, Any]] = []
    for run in runs:
        undoes = {"undoes": run.undoes} if run.undoes else {}
        content.append({"run": run.number, "ended": run.ended, "what": run.what, **undoes})
    return make_result("\n".join(lines or ["No run is recorded yet."]) + "\n", {"runs": content})


# Handlers that change the workspace, or show what would change.


def apply(call: ToolCall, given: Arguments) -> Answer:
    """Carry out a document."""
    chosen = {name: given[name] for name in ("atomic", "again", "verify") if given.get(name)}
    settings = call.workspace.settings
    for command in given.get("verify", ()):
        if not _is_allowed(command, settings):
            return failure(NOT_APPROVED.format(clada.visible(command)))
    return _carry_out_document(call, given["document"], settings.replace(**chosen))


def _is_allowed(command: str, settings: clada.Settings) -> bool:
    """Whether a command may run without asking: a client's word does not approve it, unlike a user's."""
    document = json.dumps({"tasks": [{"action": "run", "command": command}]})
    report = clada.execute(document, settings=settings.replace(dry_run=True, format="json", verify=()))
    outcomes = [task.outcome for task in report.tasks]
    waiting = any(isinstance(each, clada.Skipped) and each.needs_approval for each in outcomes)
    return report.ok and not waiting and "\n" not in command


def plan(call: ToolCall, given: Arguments) -> Answer:
    """Show what a document would do."""
    return _carry_out_document(call, given["document"], call.workspace.settings.replace(dry_run=True))


def write_file(call: ToolCall, given: Arguments) -> Answer:
    """Write one file."""
    return _carry_out_tasks(call, [{"action": "write", **given}])


def edit_file(call: ToolCall, given: Arguments) -> Answer:
    """Replace texts in one file, all or none."""
    return _carry_out_tasks(
        call, [{"action": "edit", "path": given["path"], **edit} for edit in given["edits"]]
    )


def _carry_out_tasks(call: ToolCall, tasks: list[Arguments]) -> Answer:
    settings = call.workspace.settings.replace(format="json", atomic=True)
    return _carry_out_document(call, json.dumps({"tasks": tasks}), settings)


def _carry_out_document(call: ToolCall, document: str, settings: clada.Settings) -> Answer:
    plan = clada.plan_for(document, settings)
    operations = [item for block in plan.blocks for item in block.operations]
    call.total = len(operations)
    has_commands = any(isinstance(item, clada.Run) for item in operations)
    return _carry_out(call, settings, partial(clada.execute, plan), has_commands=has_commands)


def resume(call: ToolCall, given: Arguments) -> Answer:
    """Carry out what is left of a run."""
    settings = call.workspace.settings
    atomic: dict[str, Any] = {"atomic": given["atomic"]} if "atomic" in given else {}
    execute = partial(clada.resume, settings.workspace, given.get("run"), record=settings.record, **atomic)
    return _carry_out(call, settings, execute, has_commands=True)


def _carry_out(
    call: ToolCall, settings: clada.Settings, execute: Callable[..., clada.Report], *, has_commands: bool
) -> Answer:
    """Execute, after the questions that have to be asked beforehand; and report."""
    questions = call.questions
    if questions.beforehand and not settings.dry_run and has_commands:
        planned = execute(settings=settings.replace(dry_run=True), stop=call.stop)
        unanswered = questions.collect(planned)
        if unanswered:
            return unanswered
    asked = {"ask": questions.ask, "consent": questions.consent} if questions.possible else {}
    report = execute(settings=settings, on_event=call.on_event, stop=call.stop, **asked)
    if not report.dry_run:
        call.workspace.last = report
    return report_result(report, call.workspace.delimiters)


def undo(call: ToolCall, given: Arguments) -> Answer:
    """Revert a run."""
    settings = call.workspace.settings
    dry_run = given.get("dry_run", False)
    undone = clada.undo(
        settings.workspace,
        given.get("run"),
        waiting=lambda: call.on_event(clada.Note("waiting for another run in this repository")),
        dry_run=dry_run,
        git_author=settings.git_author,
        lock_timeout=settings.lock_timeout,
        record="snapshots" if settings.record == "snapshots" else "auto",
    )
    notes = "".join(f"Note: {clada.visible(note)}\n" for note in undone.notes)
    content = {
        "undoes": undone.run.number,
        "run": undone.number,
        "restored": list(undone.restored),
        "removed": list(undone.removed),
    }
    text = clada.undo_text(undone, dry_run=dry_run)  # of a dry run, with a diff
    return make_result((text if dry_run else name_tools(text)) + notes, content)
