"""Events as dicts and lists: the lines of `--events=jsonl`; schema/event.json describes them."""

from __future__ import annotations

from clada.model import BlockSkipped, Note, Output, OutputTruncated, TaskEnded, TaskStarted
from clada.report.json import task_to_dict, to_dict
from clada.values import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.model import Event, Plan
    from clada.report import Report

SCHEMA = "clada.event/1"


def started(plan: Plan, *, dry_run: bool) -> dict[str, Any]:
    """Return the first line of a run."""
    tasks = sum(len(block.operations) for block in plan.blocks)
    return {
        "event": "run_started",
        "schema": SCHEMA,
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


def ended(report: Report) -> dict[str, Any]:
    """Return the last line of a run: its report, without the blocks, whose tasks were emitted."""
    fields = {key: value for key, value in to_dict(report).items() if key not in ("schema", "blocks")}
    return {"event": "run_ended", **fields, "run": report.recorded}
