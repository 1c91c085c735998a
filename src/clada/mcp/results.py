"""What a model gets back: the report for a model as text, and a short summary as structured content."""

from __future__ import annotations

import re
from typing import Any

import clada

LONGEST_TEXT = 100_000  # characters of a result
# Shown to a model whose document has no operation that could be read.
EXAMPLE = """\
<---SEARCH file="path/to/file"--->
lines exactly as they are in the file
<---REPLACE--->
the new lines
<---END--->"""
# How advice names commands and flags, and what it is with these tools.
COMMANDS_AS_TOOLS = (
    (r"clada (resume|undo) (\d+)", r"\1 with run=\2"),
    (r"clada history$", "history lists the runs"),
    (r"clada (resume|undo|history)\b", r"\1"),
    (r"clada --again ANSWER", "apply with again=true"),
    (r"--again", "apply with again=true"),
)
STATUS_WORDS = {"success": "done", "error": "failed"}  # other statuses keep their names
_COUNT, _TEXT = {"type": "integer"}, {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _schema(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list_of(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _schema(required, **properties)}


REPORT_SCHEMA = _schema(
    "ok",
    ok={"type": "boolean"},
    run=_COUNT,
    error=_TEXT,
    failures=_list_of("task error", task=_TEXT, target=_TEXT, error=_TEXT),
    **dict.fromkeys("done planned failed skipped rolled_back not_applied".split(), _COUNT),
)
UNDO_SCHEMA = _schema("undoes", undoes=_COUNT, run=_COUNT, restored=_TEXTS, removed=_TEXTS)
HISTORY_SCHEMA = _schema(
    "runs", runs=_list_of("run ended what", run=_COUNT, ended=_TEXT, what=_TEXT, undoes=_COUNT)
)


def make_result(text: str, content: dict[str, Any] | None = None, *, ok: bool = True) -> dict[str, Any]:
    """Return a result as it is sent; empty values are left out of its structured content."""
    result = {"content": [{"type": "text", "text": text}], "isError": not ok}
    if content is not None:
        result["structuredContent"] = {
            name: value for name, value in content.items() if value or value is False
        }
    return result


def failure(text: str) -> dict[str, Any]:
    """Return a failure that is not a report."""
    return make_result(name_tools(text), ok=False)


def name_tools(text: str) -> str:
    """Return advice of ours with tools in place of commands and flags."""
    for pattern, tool in COMMANDS_AS_TOOLS:
        text = re.sub(pattern, tool, text)
    return text


def report_result(report: clada.Report, delimiters: tuple[str, str]) -> dict[str, Any]:
    """Return the result of a run or a plan."""
    return make_result(_text(_with_tools(report), delimiters), _content(report), ok=report.ok)


def _with_tools(report: clada.Report) -> clada.Report:
    """Return a report with advice for tools; messages that quote the document stay as they are."""

    def error(given: clada.Error | None) -> clada.Error | None:
        if given is None:
            return None
        remedy = tuple(map(name_tools, given.remedy))
        message = name_tools(given.message) if given.stage == "AGAIN" else given.message
        return given.replace(message=message, hint=given.hint and name_tools(given.hint), remedy=remedy)

    def task(given: clada.Task) -> clada.Task:
        outcome = given.outcome
        if isinstance(outcome, clada.Failed):
            return given.replace(outcome=outcome.replace(error=error(outcome.error)))
        return given

    blocks = tuple(block.replace(tasks=tuple(map(task, block.tasks))) for block in report.blocks)
    notes = tuple(map(name_tools, report.notes))
    return report.replace(blocks=blocks, fatal=error(report.fatal), error=error(report.error), notes=notes)


def _text(report: clada.Report, delimiters: tuple[str, str]) -> str:
    if report.example:
        report = report.replace(example=with_delimiters(EXAMPLE, delimiters))
    parts = [cut(report.text(for_llm=True))]
    if report.changes or report.modes:
        diff = clada.Report(None, changes=report.changes, modes=report.modes, reveal=report.reveal)
        parts.append(cut(diff.text()))
    if report.recorded and report.undoable:
        parts.append(f"Recorded as run {report.recorded}; undo reverts it.\n")
    return "\n".join(parts)


def cut(text: str) -> str:
    """Return a text, without its end if it is very long."""
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}\n[{more:,} more characters are left out]\n"


def _content(report: clada.Report) -> dict[str, Any]:
    """Return the outcome as structured content, without what only the text says."""
    statuses = [STATUS_WORDS.get(task.status, task.status) for task in report.tasks]
    trouble = report.fatal or report.error
    return {
        "ok": report.ok,
        "run": report.recorded,
        **{status: statuses.count(status) for status in statuses},
        "not_applied": len(report.not_applied),
        "error": trouble.type if trouble else None,
        "failures": [
            {"task": task.label, "target": task.target[:200], "error": task.error.type}
            for task in report.tasks
            if task.error
        ],
    }


def with_delimiters(text: str, delimiters: tuple[str, str]) -> str:
    """Return an example with the delimiters of this workspace."""
    start, end = delimiters
    return text.replace("--->", "\0").replace("<---", start).replace("\0", end)
