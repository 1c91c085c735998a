"""Reports and events as JSON: the summary, and the lines of `--events=jsonl`; schema/ describes both."""

from __future__ import annotations

import json

from clada.model import BlockSkipped, Note, Output, OutputTruncated, TaskEnded, TaskStarted
from clada.report.details import shortened
from clada.values import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.errors import Error, Nearest
    from clada.model import Event, Plan, Task
    from clada.report import Report


SCHEMA = "clada.report/1"


def summary(report: Report) -> str:
    """Return the report as JSON, in ASCII and with a line break at the end."""
    return json.dumps(to_dict(report), indent=2) + "\n"


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as dicts, lists, strings and numbers."""
    statuses = [task.status for task in report.tasks]
    return {
        "schema": SCHEMA,
        "notation": report.notation,
        "ok": report.ok,
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "fatal": _error(report.fatal),
        "error": _error(report.error),
        "tasks": len(statuses),
        "succeeded": statuses.count("success"),
        "planned": statuses.count("planned"),
        "failed": statuses.count("error") + bool(report.fatal),
        "skipped": statuses.count("skipped"),
        "rolled_back": statuses.count("rolled_back"),
        "blocks": [
            {
                "index": block.index,
                "label": block.label,
                "status": block.status,
                "implicit": block.implicit,
                "tasks": [task_to_dict(task) for task in block.tasks],
            }
            for block in report.blocks
        ],
        "commits": {"pre": report.commits.get("pre"), "post": report.commits.get("post")},
        "not_applied": [fields_of(each) for each in report.not_applied],
        "notes": list(report.notes),
    }


def task_to_dict(task: Task) -> dict[str, Any]:
    """Return one task of a report."""
    outcome = fields_of(task.outcome)
    outcome = fields_of(outcome["done"]) if "done" in outcome else outcome
    return {
        "index": task.index,
        "label": task.label,
        "operation": task.operation,
        "dialect": task.dialect or None,
        "line": task.line,
        "target": task.target,
        "path": task.path,
        "status": task.status,
        "result": outcome.get("how"),
        "reason": outcome.get("reason"),
        "changes": [fields_of(change) for change in outcome.get("changes", ())],
        "bytes": outcome.get("bytes"),
        "replacements": outcome.get("count"),
        "lines": list(outcome.get("lines", ())),
        "remarks": list(outcome.get("remarks", ())),
        "error": _error(task.error),
        "exit_code": outcome.get("exit_code"),
        "duration": round(task.duration, 6),
        "confinement": task.confinement,
        "truncated": task.truncated,
        "output": [line for line in task.output if line is not None],
    }


def _error(error: Error | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "type": error.type,
        "message": error.message,
        "hint": "\n".join(error.advice) or None,
        "found": error.found,
        "expected": error.expected,
        "lines": list(error.lines),
        "nearest": _nearest(error.nearest) if error.nearest else None,
        "details": shortened(error.details) if error.details else None,
    }


def _nearest(nearest: Nearest) -> dict[str, object]:
    return {**fields_of(nearest), "others": [list(lines) for lines in nearest.others]}


EVENT_SCHEMA = "clada.event/1"


def run_started(plan: Plan, *, dry_run: bool) -> dict[str, Any]:
    """Return the first line of a run."""
    tasks = sum(len(block.operations) for block in plan.blocks)
    return {
        "event": "run_started",
        "schema": EVENT_SCHEMA,
        "notation": plan.notation,
        "dry_run": dry_run,
        "tasks": tasks,
    }


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as a line of its own."""
    match event:
        case TaskStarted():
            return {"event": "task_started", **fields_of(event)}
        case Output(label=label, lines=lines):
            return {"event": "output", "label": label, "lines": list(lines)}
        case OutputTruncated(label=label):
            return {"event": "output_truncated", "label": label}
        case TaskEnded(task=task):
            # Its output was emitted already.
            return {"event": "task_ended", "task": {**task_to_dict(task), "output": []}}
        case BlockSkipped(label=label):
            return {"event": "block_skipped", "label": label}
        case Note(text=text):
            return {"event": "note", "text": text}


def run_ended(report: Report) -> dict[str, Any]:
    """Return the last line of a run: its report, without the blocks, whose tasks were emitted."""
    fields = {key: value for key, value in to_dict(report).items() if key not in ("schema", "blocks")}
    return {"event": "run_ended", **fields, "run": report.recorded}
