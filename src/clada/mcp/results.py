"""What a model gets back: the report for a model as text, and a short summary as structured content."""

from __future__ import annotations

import re
from typing import Any

import clada
from clada.mcp.descriptions import EXAMPLE

LONGEST_TEXT = 100_000  # characters of a result
# How advice names what to do on the command line, and how with these tools.
FOR_TOOLS = (
    (r"clada (resume|undo) (\d+)", r"\1 with run=\2"),
    (r"clada history$", "history lists the runs"),
    (r"clada (resume|undo|history)\b", r"\1"),
    (r"clada --again ANSWER", "apply with again=true"),
    (r"--again", "apply with again=true"),
)
WORDS = {
    "success": "done",
    "planned": "planned",
    "error": "failed",
}  # the other statuses are called as they are
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


def answer(text: str, content: dict[str, Any] | None = None, *, ok: bool = True) -> dict[str, Any]:
    """Return a result as it is sent; what is empty is left out of its content."""
    structured = (
        {}
        if content is None
        else {"structuredContent": {k: v for k, v in content.items() if v or v is False}}
    )
    return {"content": [{"type": "text", "text": text}], **structured, "isError": not ok}


def failed(text: str) -> dict[str, Any]:
    """Return a failure that is not a report."""
    return answer(in_tools(text), ok=False)


def in_tools(text: str) -> str:
    """Return advice of ours that names tools in place of commands and flags."""
    for pattern, tool in FOR_TOOLS:
        text = re.sub(pattern, tool, text)
    return text


def report_answer(report: clada.Report, delimiters: tuple[str, str]) -> dict[str, Any]:
    """Return the result of a run or a plan."""
    return answer(_text(_with_tools(report), delimiters), _content(report), ok=report.ok)


def _with_tools(report: clada.Report) -> clada.Report:
    """Return a report whose advice names tools; messages that quote the document stay as they are."""

    def error(given: clada.Error | None) -> clada.Error | None:
        if given is None:
            return None
        remedy = tuple(map(in_tools, given.remedy))
        message = in_tools(given.message) if given.stage == "AGAIN" else given.message
        return given.replace(message=message, hint=given.hint and in_tools(given.hint), remedy=remedy)

    def task(given: clada.Task) -> clada.Task:
        outcome = given.outcome
        if isinstance(outcome, clada.Failed):
            return given.replace(outcome=outcome.replace(error=error(outcome.error)))
        return given

    blocks = tuple(block.replace(tasks=tuple(map(task, block.tasks))) for block in report.blocks)
    notes = tuple(map(in_tools, report.notes))
    return report.replace(blocks=blocks, fatal=error(report.fatal), error=error(report.error), notes=notes)


def _text(report: clada.Report, delimiters: tuple[str, str]) -> str:
    if report.example:
        report = report.replace(example=with_delimiters(EXAMPLE, delimiters))
    parts = [cut(report.text(for_llm=True))]
    if report.changes or report.modes:
        parts.append(
            cut(clada.Report(None, changes=report.changes, modes=report.modes, reveal=report.reveal).text())
        )
    if report.recorded and report.undoable:
        parts.append(f"Recorded as run {report.recorded}; undo reverts it.\n")
    return "\n".join(parts)


def cut(text: str) -> str:
    """Return a text without its end where it is very long."""
    more = len(text) - LONGEST_TEXT
    return text if more <= 0 else f"{text[:LONGEST_TEXT]}\n[{more:,} more characters are left out]\n"


def _content(report: clada.Report) -> dict[str, Any]:
    """Return how it went; what the text says in words is not repeated."""
    statuses = [WORDS.get(task.status, task.status) for task in report.tasks]
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
    """Return an example with the delimiters that are read here."""
    start, end = delimiters
    return text.replace("--->", "\0").replace("<---", start).replace("\0", end)
