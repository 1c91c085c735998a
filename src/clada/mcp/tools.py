"""The tools: a row for each, with what it takes, what it gives, and what it does to the workspace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from mcp import types

import clada

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from clada.mcp.run import ToolCall

    Answer = dict[str, Any] | types.InputRequiredResult  # as the client gets it
    Responses = Mapping[str, object] | None
    Handler = Callable[[ToolCall, dict[str, Any], Responses], Awaitable[Answer]]

DOCUMENT = {
    "type": "string",
    "description": "The text with the operations, in any notation that clada reads; prose around is ignored.",
}
RUN = {"type": "integer", "minimum": 1, "description": "The number of the run; the last one if left out."}
DRY_RUN = {"type": "boolean", "default": False, "description": "Only show what would happen."}
ATOMIC = {
    "type": "boolean",
    "default": False,
    "description": "All of it or nothing: a failure takes back the rest.",
}
AGAIN = {
    "type": "boolean",
    "default": False,
    "description": "Carry out all of it, though parts of it were done in an earlier run.",
}
AS_IT_WAS = {"type": "boolean", "description": "All of it or nothing; as in that run if left out."}
LIMIT = {"type": "integer", "minimum": 1, "default": 20, "description": "How many runs at most."}
# How a refusal names what to do, on the command line and here.
FOR_TOOLS = (
    (r"clada (resume|undo) (\d+)", r"\1 with run=\2"),
    (r"clada resume", "resume"),
    (r"--again", "apply with again=true"),
)
READS = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
CHANGES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
RUNS = CHANGES.model_copy(update={"open_world_hint": True})  # commands, some of which may use the network
LONGEST_TEXT = 100_000  # characters of a report; the structured content has all of it
PYTHON_TYPES = {"string": str, "boolean": bool, "integer": int}


@dataclass(frozen=True)
class Row:
    """A tool."""

    handler: Handler
    title: str
    description: str
    hints: types.ToolAnnotations
    takes: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...] = ()
    gives: Callable[[], dict[str, Any]] | None = None  # the schema of its structured content

    def listed(self, name: str) -> types.Tool:
        """Return how a client sees it."""
        return types.Tool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema={
                "type": "object",
                "properties": dict(self.takes),
                "required": list(self.needs),
                "additionalProperties": False,
            },
            output_schema=self.gives() if self.gives else None,
            annotations=self.hints,
        )

    def mistake(self, given: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the arguments of a call, if anything is."""
        for name in self.needs:
            if name not in given:
                return f"the argument {name} is missing"
        for name, value in given.items():
            if name not in self.takes:
                return f"there is no argument {clada.visible(name)!r}; there are {', '.join(self.takes)}"
            kind = self.takes[name]["type"]
            if not isinstance(value, PYTHON_TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
                return f"the argument {name} must be of type {kind}"
            if "minimum" in self.takes[name] and value < self.takes[name]["minimum"]:
                return f"the argument {name} must be {self.takes[name]['minimum']} or more"
            if "enum" in self.takes[name] and value not in self.takes[name]["enum"]:
                return f"the argument {name} must be one of {', '.join(self.takes[name]['enum'])}"
        return None


async def call_tool(call: ToolCall, name: str, given: dict[str, Any], responses: Responses) -> Answer:
    """Carry out a call of a tool; what goes wrong is told as its result, for a model to read."""
    row = TOOLS[name]
    mistake = row.mistake(given)
    if mistake:
        return failed(f"{name}: {mistake}; nothing was done")
    return await row.handler(call, given, responses)


def _guarded(work: Callable[[clada.Stop], Answer]) -> Callable[[clada.Stop], Answer]:
    """Return the same, with what goes wrong as its result."""

    def guarded(stop: clada.Stop) -> Answer:
        try:
            return work(stop)
        except clada.CladaError as trouble:
            return failed(trouble.error.sentence)
        except Exception as bug:  # noqa: BLE001 (the last place where one ends: the server goes on)
            return failed(f"clada has a bug: {type(bug).__name__}: {clada.visible(str(bug))}")

    return guarded


def failed(text: str) -> dict[str, Any]:
    """Return a failure that is no report."""
    return _answer(text, ok=False)


def _answer(text: str, content: dict[str, Any] | None = None, *, ok: bool = True) -> dict[str, Any]:
    """Return a result as it is sent: a model of the SDK would be made into this."""
    structured = {} if content is None else {"structuredContent": content}
    return {"content": [{"type": "text", "text": text}], **structured, "isError": not ok}


# Runs.


async def _apply(call: ToolCall, given: dict[str, Any], responses: Responses) -> Answer:
    settings = _chosen(call, given)
    plan: clada.Plan | None = None

    def planned() -> clada.Plan:
        nonlocal plan
        if plan is None:
            plan = _planned(call, given, settings)
        return plan

    def has_commands() -> bool:
        return any(isinstance(item, clada.Run) for block in planned().blocks for item in block.operations)

    def execute(**how: Any) -> clada.Report:
        return clada.execute(planned(), **how)

    return await _carry_out(call, settings, execute, has_commands, responses)


def _chosen(call: ToolCall, given: dict[str, Any]) -> clada.Settings:
    """Return the settings of the server, with what is chosen for this call."""
    chosen = {name: True for name in ("dry_run", "atomic", "again") if given.get(name)}
    return call.workspace.settings.replace(**chosen) if chosen else call.workspace.settings


def _planned(call: ToolCall, given: dict[str, Any], settings: clada.Settings) -> clada.Plan:
    plan = clada.plan_for(given["document"], settings)
    call.total = sum(len(block.operations) for block in plan.blocks)
    return plan


async def _plan(call: ToolCall, given: dict[str, Any], responses: Responses) -> Answer:
    return await _apply(call, {**given, "dry_run": True}, responses)


async def _resume(call: ToolCall, given: dict[str, Any], responses: Responses) -> Answer:
    settings = call.workspace.settings
    asked = {name: given[name] for name in ("atomic",) if name in given}

    def resume(**how: Any) -> clada.Report:
        return clada.resume(settings.workspace, given.get("run"), record=settings.record, **asked, **how)

    return await _carry_out(call, settings, resume, lambda: True, responses)


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
        return _result(call, execute(settings=settings, on_event=call.take, stop=stop, **asked))

    return await call.run(_guarded(work))


def _result(call: ToolCall, report: clada.Report) -> Answer:
    report = _for_tools(report)
    if not report.dry_run:
        call.workspace.last = report
    return _answer(told(report), report.to_dict(), ok=report.ok)


def _for_tools(report: clada.Report) -> clada.Report:
    """Return the same, naming tools in place of commands where a document is refused that was begun."""
    fatal = report.fatal
    if fatal is None or fatal.stage != "AGAIN":
        return report
    message = fatal.message
    for pattern, tool in FOR_TOOLS:
        message = re.sub(pattern, tool, message)
    return report.replace(fatal=fatal.replace(message=message))


def told(report: clada.Report) -> str:
    """Return a report as text for a model: what it needs to go on, and where the run is recorded.

    Where all went well, that is a line for each operation. A plan has its diff; what is very long is cut.
    """
    recorded = f"Recorded as run {report.recorded}.\n" if report.recorded else ""
    text = report.text()
    if report.ok and (report.dry_run or len(text) <= LONGEST_TEXT):
        notes = "".join(f"Note: {clada.visible(note)}\n" for note in report.notes)
        return f"{_cut_diff(text)}{notes}{recorded}"
    diff = report.replace(blocks=(), fatal=None, error=None, not_applied=()).text()
    return f"{report.text(for_llm=True)[:LONGEST_TEXT]}{_cut_diff(diff)}{recorded}"


def _cut_diff(text: str) -> str:
    """Return a text that ends in a diff, without the rest of it where that is very long."""
    more = len(text) - LONGEST_TEXT
    if more <= 0:
        return text
    return f"{text[:LONGEST_TEXT]}\n[the rest of the diff is left out: {more:,} characters]\n"


# The record.


async def _undo(call: ToolCall, given: dict[str, Any], _responses: Responses) -> Answer:
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
        content = {
            name: getattr(undone, name) for name in ("number", "commit", "restored", "removed", "notes")
        }
        content.update(undoes=undone.run.number, dry_run=dry_run)
        return _answer(clada.undo_text(undone, dry_run=dry_run), content)

    return await call.run(_guarded(work))


async def _history(call: ToolCall, given: dict[str, Any], _responses: Responses) -> Answer:
    def work(_stop: clada.Stop) -> Answer:
        runs = [
            {
                "number": run.number,
                "when": run.when,
                "what": run.what,
                "ended": run.ended,
                "commits": [commit for commit in run.commits if commit],
                "undoes": run.undoes or None,
            }
            for run in clada.history(call.workspace.settings.workspace)[: given.get("limit", 20)]
        ]
        lines = [f"{run['number']}  {run['when']}  {run['ended']}  {run['what']}" for run in runs]
        text = "\n".join(map(clada.visible, lines)) or "No run is recorded yet."
        return _answer(f"{text}\n", {"runs": runs})

    return await call.look(_guarded(work))


async def _instructions(call: ToolCall, given: dict[str, Any], _responses: Responses) -> Answer:
    settings = call.workspace.settings
    delimiters = settings.start_delimiter, settings.end_delimiter

    def work(_stop: clada.Stop) -> Answer:
        text = clada.instructions(given.get("notation"), settings.workspace, *delimiters)
        return _answer(text)

    return await call.look(_guarded(work))


# What they give.


@cache
def report_schema() -> dict[str, Any]:
    """Return the schema of reports, without the names by which validators of clients would look it up."""
    return {
        key: value
        for key, value in clada.schema("report").items()
        if not key.startswith("$") or key == "$defs"
    }


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}
_TEXTS, _PERHAPS = {"type": "array", "items": _TEXT}, {"type": ["string", "null"]}


def _undo_schema() -> dict[str, Any]:
    return _object(
        number=_NUMBER, commit=_PERHAPS, restored=_TEXTS, removed=_TEXTS, notes=_TEXTS, undoes=_NUMBER,
        dry_run={"type": "boolean"},
    )  # fmt: skip


def _history_schema() -> dict[str, Any]:
    undoes = {"type": ["integer", "null"]}
    run = _object(number=_NUMBER, when=_TEXT, what=_TEXT, ended=_TEXT, commits=_TEXTS, undoes=undoes)
    return _object(runs={"type": "array", "items": run})


TOOLS: dict[str, Row] = {
    "apply": Row(
        _apply,
        "Apply a document",
        "Carry out the operations in a document: write, edit, move and remove files, run allowed commands, "
        "all in the workspace. Recorded, so that undo takes it back. Call instructions for how to write one.",
        RUNS,
        {"document": DOCUMENT, "atomic": ATOMIC, "again": AGAIN, "dry_run": DRY_RUN},
        ("document",),
        report_schema,
    ),
    "plan": Row(
        _plan,
        "Plan a document",
        "Show what apply would do with a document, with a diff. Nothing is changed, and no program runs.",
        READS,
        {"document": DOCUMENT},
        ("document",),
        report_schema,
    ),
    "undo": Row(
        _undo,
        "Undo a run",
        "Put back what a run changed, where it is still as the run left it. Undoing an undo is redo.",
        CHANGES,
        {"run": RUN, "dry_run": DRY_RUN},
        gives=_undo_schema,
    ),
    "resume": Row(
        _resume,
        "Resume a run",
        "Carry out what failed or was skipped in a run, from the document that it kept; nothing else.",
        RUNS,
        {"run": RUN, "atomic": AS_IT_WAS},
        gives=report_schema,
    ),
    "history": Row(
        _history,
        "List the recorded runs",
        "List the runs in this workspace, newest first: number, time, how it ended, what it did.",
        READS,
        {"limit": LIMIT},
        gives=_history_schema,
    ),
    "instructions": Row(
        _instructions,
        "How to write a document",
        "Return how to write a document in one of the notations, with the commands that may run here.",
        READS,
        {
            "notation": {
                "type": "string",
                "enum": list(clada.PROMPTS),
                "default": clada.PROMPTS[0],
                "description": "The notation.",
            }
        },
    ),
}
