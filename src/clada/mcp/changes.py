"""The tools that change the workspace, or show what would change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import clada
from clada.mcp.results import answer, failed, in_tools, report_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp import types

    from clada.mcp.run import ToolCall

    Answer = dict[str, Any] | types.InputRequiredResult  # as the client gets it
    Responses = Mapping[str, object] | None
    Arguments = dict[str, Any]


NOT_APPROVED = "verify: `{}` is not approved; the user can approve it; nothing was done"


async def apply(call: ToolCall, given: Arguments, responses: Responses) -> Answer:
    """Carry out a document."""
    chosen = {name: given[name] for name in ("atomic", "again", "verify") if given.get(name)}
    settings = call.workspace.settings
    for command in given.get("verify", ()):
        if not _is_allowed(command, settings):
            return failed(NOT_APPROVED.format(clada.visible(command)))
    return await _carry_out_document(call, given["document"], settings.replace(**chosen), responses)


def _is_allowed(command: str, settings: clada.Settings) -> bool:
    """Whether a command may run without asking: a client's word does not approve it, unlike a user's."""
    document = json.dumps({"tasks": [{"action": "run", "command": command}]})
    report = clada.execute(document, settings=settings.replace(dry_run=True, format="json", verify=()))
    outcomes = [task.outcome for task in report.tasks]
    waiting = any(isinstance(each, clada.Skipped) and each.needs_approval for each in outcomes)
    return report.ok and not waiting and "\n" not in command


async def plan(call: ToolCall, given: Arguments, responses: Responses) -> Answer:
    """Show what a document would do."""
    settings = call.workspace.settings.replace(dry_run=True)
    return await _carry_out_document(call, given["document"], settings, responses)


async def write_file(call: ToolCall, given: Arguments, responses: Responses) -> Answer:
    """Write one file."""
    return await _carry_out_tasks(call, [{"action": "write", **given}], responses)


async def edit_file(call: ToolCall, given: Arguments, responses: Responses) -> Answer:
    """Replace texts in one file, all or none."""
    tasks = [{"action": "edit", "path": given["path"], **edit} for edit in given["edits"]]
    return await _carry_out_tasks(call, tasks, responses)


async def _carry_out_tasks(call: ToolCall, tasks: list[Arguments], responses: Responses) -> Answer:
    document = json.dumps({"tasks": tasks})
    settings = call.workspace.settings.replace(format="json", atomic=True)
    return await _carry_out_document(call, document, settings, responses)


async def _carry_out_document(
    call: ToolCall, document: str, settings: clada.Settings, responses: Responses
) -> Answer:
    parsed: list[clada.Plan] = []  # once, in the thread

    def plan() -> clada.Plan:
        if not parsed:
            parsed.append(clada.plan_for(document, settings))
            call.total = sum(len(block.operations) for block in parsed[0].blocks)
        return parsed[0]

    def has_commands() -> bool:
        return any(isinstance(item, clada.Run) for block in plan().blocks for item in block.operations)

    def execute(**how: Any) -> clada.Report:
        return clada.execute(plan(), **how)

    return await _carry_out(call, settings, execute, has_commands, responses)


async def resume(call: ToolCall, given: Arguments, responses: Responses) -> Answer:
    """Carry out what is left of a run."""
    settings = call.workspace.settings
    asked: Any = {name: given[name] for name in ("atomic",) if name in given}

    def execute(**how: Any) -> clada.Report:
        return clada.resume(settings.workspace, given.get("run"), record=settings.record, **asked, **how)

    return await _carry_out(call, settings, execute, lambda: True, responses)


async def _carry_out(
    call: ToolCall,
    settings: clada.Settings,
    execute: Callable[..., clada.Report],
    has_commands: Callable[[], bool],
    responses: Responses,
) -> Answer:
    """Execute, after the questions that have to be asked beforehand; and report."""
    questions = call.questions

    def work(stop: clada.Stop) -> Answer:
        if questions.beforehand and not settings.dry_run and has_commands():
            planned = execute(settings=settings.replace(dry_run=True), stop=stop)
            unanswered = questions.open(planned, responses)
            if unanswered:
                return unanswered
        asked = {"ask": questions.ask, "consent": questions.consent} if questions.possible else {}
        report = execute(settings=settings, on_event=call.take, stop=stop, **asked)
        if not report.dry_run:
            call.workspace.last = report
        return report_answer(report, call.workspace.delimiters)

    return await call.run(work)


async def undo(call: ToolCall, given: Arguments, _responses: Responses) -> Answer:
    """Revert a run."""
    settings = call.workspace.settings
    dry_run = given.get("dry_run", False)

    def work(_stop: clada.Stop) -> Answer:
        undone = clada.undo(
            settings.workspace,
            given.get("run"),
            waiting=lambda: call.take(clada.Note("waiting for another run in this repository")),
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
        return answer((text if dry_run else in_tools(text)) + notes, content)

    return await call.run(work)
