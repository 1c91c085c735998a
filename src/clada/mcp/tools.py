"""The tools: a row for each, with what it takes, what it gives, and what it does to the workspace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]
from mcp import types

import clada
from clada.mcp import changes, descriptions, queries
from clada.mcp.results import HISTORY_SCHEMA, REPORT_SCHEMA, UNDO_SCHEMA, failed, with_delimiters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from clada.mcp.changes import Answer, Responses
    from clada.mcp.run import ToolCall

    Handler = Callable[[ToolCall, dict[str, Any], Responses], Awaitable[Answer]]


LONGEST_MISTAKE = 300  # characters
READS = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
CHANGES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
RUNS = CHANGES.model_copy(update={"open_world_hint": True})  # commands, some of which may use the network


def _text(description: str, example: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": f"{description} Example: {example}", **more}


def _number(description: str, example: int, **more: Any) -> dict[str, Any]:
    described = f"{description} Example: {example}"
    return {"type": "integer", "minimum": 1, "description": described, **more}


def _switch(description: str) -> dict[str, Any]:
    return {"type": "boolean", "default": False, "description": f"{description} Example: true"}


def _texts(description: str, example: list[str]) -> dict[str, Any]:
    described = f"{description} Example: {json.dumps(example)}"
    return {"type": "array", "items": {"type": "string"}, "description": described}


DOCUMENT = _text("The document, with one or more operations.", descriptions.DOCUMENT)
RUN = _number("The number of the run, as history lists it; the last one if left out.", 12)
ATOMIC = _switch("All or nothing: if an operation fails, those before it are rolled back.")
AGAIN = _switch("Carry out all of it, though parts of this document were carried out in an earlier run.")
VERIFY = _texts(
    "Approved commands; if one is worse after the run than before, everything is rolled back.", ["make test"]
)
AS_IT_WAS = {key: value for key, value in ATOMIC.items() if key != "default"}
LIMIT = _number("How many runs at most.", 5, default=20)
PATH = _text("The path of the file, relative to the workspace.", "src/app.py")
PATHS = _texts("Files, directories or globs to search in; everything if left out.", ["src", "*.md"])
EDITS = {
    "type": "array",
    "minItems": 1,
    "description": 'The texts to replace, in order. Example: [{"search": "x = 1", "replace": "x = 2"}]',
    "items": {
        "type": "object",
        "properties": {
            "search": _text("The text as it is in the file, character by character.", "x = 1"),
            "replace": _text("The new text; empty to delete.", "x = 2"),
            "count": {
                "type": ["integer", "string"],
                "description": 'How often the text is in the file: 1 if left out, or "all". Example: 3',
            },
        },
        "required": ["search", "replace"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Row:
    """A tool."""

    handler: Handler
    title: str
    description: str
    hints: types.ToolAnnotations
    takes: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...] = ()
    gives: dict[str, Any] | None = None  # the schema of its structured content
    default: bool = True  # listed without --tools=all

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.takes),
            "required": list(self.needs),
            "additionalProperties": False,
        }

    def listed(self, name: str, delimiters: tuple[str, str]) -> types.Tool:
        """Return how a client sees it."""
        described = {
            key: {**value, "description": with_delimiters(value["description"], delimiters)}
            for key, value in self.takes.items()
        }
        return types.Tool(
            name=name,
            title=self.title,
            description=with_delimiters(self.description, delimiters),
            input_schema={**self.schema, "properties": described},
            output_schema=self.gives,
            annotations=self.hints,
        )


async def call_tool(call: ToolCall, name: str, given: dict[str, Any], responses: Responses) -> Answer:
    """Carry out a call of a tool; what goes wrong is its result, for a model to read."""
    row = TOOLS[name]
    mistake = best_match(Draft202012Validator(row.schema).iter_errors(given))
    if mistake:
        where = "".join(f"{part}: " for part in mistake.absolute_path)
        takes = f"{name} takes {', '.join(row.takes)}"
        return failed(
            f"{clada.visible(where + mistake.message)[:LONGEST_MISTAKE]}; {takes}; nothing was done"
        )
    try:
        return await row.handler(call, given, responses)
    except (clada.CladaError, ValueError) as trouble:
        sentence = trouble.error.sentence if isinstance(trouble, clada.CladaError) else str(trouble)
        return failed(sentence)
    except Exception as bug:  # noqa: BLE001 (the last place where one ends: the server goes on)
        return failed(f"clada has a bug: {type(bug).__name__}: {clada.visible(str(bug))}")


TOOLS: dict[str, Row] = {
    "apply": Row(
        changes.apply, "Apply a document", descriptions.APPLY, RUNS,
        {"document": DOCUMENT, "atomic": ATOMIC, "verify": VERIFY, "again": AGAIN}, ("document",),
        REPORT_SCHEMA,
    ),
    "plan": Row(
        changes.plan, "Plan a document", descriptions.PLAN, READS, {"document": DOCUMENT}, ("document",),
        REPORT_SCHEMA,
    ),
    "read": Row(
        queries.read, "Read files", descriptions.READ, READS,
        {
            "paths": {
                **_texts(
                    "Files, directories or globs; path:10-60 is lines 10 to 60.",
                    ["src/app.py:10-60", "docs/*.md"],
                ),
                "minItems": 1,
            }
        },
        ("paths",),
    ),
    "search": Row(
        queries.search, "Search in files", descriptions.SEARCH, READS,
        {
            "pattern": _text("The text, or regular expression (Python's), to find in a line.", "def greet"),
            "paths": PATHS,
            "regex": _switch("The pattern is a regular expression."),
            "ignore_case": _switch("Upper and lower case are the same."),
        },
        ("pattern",),
    ),
    "undo": Row(
        changes.undo, "Undo a run", descriptions.UNDO, CHANGES,
        {"run": RUN, "dry_run": _switch("Only show what would be reverted, with a diff.")}, (), UNDO_SCHEMA,
    ),
    "resume": Row(
        changes.resume, "Resume a run", descriptions.RESUME, RUNS, {"run": RUN, "atomic": AS_IT_WAS}, (),
        REPORT_SCHEMA,
    ),
    "history": Row(
        queries.history, "List the recorded runs", descriptions.HISTORY, READS, {"limit": LIMIT}, (),
        HISTORY_SCHEMA,
    ),
    "write_file": Row(
        changes.write_file, "Write a file", descriptions.WRITE_FILE, CHANGES,
        {
            "path": PATH,
            "content": _text("The whole content.", 'print("hello")\n'),
            "append": _switch("Add the content to the end of the file instead."),
        },
        ("path", "content"), REPORT_SCHEMA, default=False,
    ),
    "edit_file": Row(
        changes.edit_file, "Edit a file", descriptions.EDIT_FILE, CHANGES, {"path": PATH, "edits": EDITS},
        ("path", "edits"), REPORT_SCHEMA, default=False,
    ),
}  # fmt: skip
