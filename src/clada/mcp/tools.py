"""The table of tools, with the texts that models read before they write."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]
from mcp import types

import clada
from clada.mcp import handlers
from clada.mcp.results import HISTORY_SCHEMA, REPORT_SCHEMA, UNDO_SCHEMA, failure, with_delimiters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clada.mcp.call import ToolCall
    from clada.mcp.handlers import Answer, Arguments

    Handler = Callable[[ToolCall, Arguments], Answer]

SYNTAX = """\
<---WRITE file="src/greet.py"--->
def greet(name):
    return "Hello " + name
<---END--->
<---SEARCH file="src/app.py"--->
    return "Hello " + name
<---REPLACE--->
    return f"Hello {name}"
<---END--->
<---RUN--->
mv src/old.py src/new.py
<---END--->"""
DOCUMENT_EXAMPLE = '<---WRITE file="notes.txt"--->\nHello!\n<---END--->'
APPLY = f"""\
Carry out a document in the workspace: create, edit, move and delete files and run commands, any number of \
them in one call, in order. The run is recorded, and undo reverts it. A document looks like this:

{SYNTAX}

- A marker stands alone on its line, at the first column, exactly as here. Text outside of markers is ignored.
- WRITE creates a file, or replaces all of it; append="true" adds to its end. Folders are made as needed.
- SEARCH edits a file: the lines before REPLACE must be in it exactly once, character by character; give \
more lines until they are unique. count="3" or count="all" replaces several. An empty replacement deletes; \
to delete whole lines, end the text to search with an empty line.
- SEARCH … TO … REPLACE … END replaces everything from the first text to the second one, both included.
- RUN runs commands: mv, cp, rm, mkdir, ls, cat, grep, find, git diff and the like. Other programs need the \
user's approval. dir="src" runs them in that folder.
- Operations between <---TASKS---> and <---END---> belong together: after a failure the rest of them \
is skipped.
- Paths are relative to the workspace.

Search/replace blocks (<<<<<<< SEARCH), patches (*** Begin Patch), unified diffs, whole files in fences \
under their path, JSON and XML tool calls are understood, too."""
LONGEST_MISTAKE = 300  # characters of a message about wrong arguments
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


DOCUMENT = _text("The document, with one or more operations.", DOCUMENT_EXAMPLE)
RUN = _number("The number of the run, as history lists it; the last one if left out.", 12)
ATOMIC = _switch("All or nothing: if an operation fails, those before it are rolled back.")
AGAIN = _switch("Carry out all of it, though parts of this document were carried out in an earlier run.")
VERIFY = _texts(
    "Approved commands; if one is worse after the run than before, everything is rolled back.", ["make test"]
)
RESUME_ATOMIC = {key: value for key, value in ATOMIC.items() if key != "default"}  # else as in the run
PATH = _text("The path of the file, relative to the workspace.", "src/app.py")
PATHS_TO_READ = _texts(
    "Files, directories or globs; path:10-60 is lines 10 to 60.", ["src/app.py:10-60", "docs/*.md"]
)
PATHS_TO_SEARCH = _texts("Files, directories or globs to search in; everything if left out.", ["src", "*.md"])
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
class Tool:
    """A row of the table of tools."""

    handler: Handler
    title: str
    description: str
    hints: types.ToolAnnotations
    parameters: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    output: dict[str, Any] | None = None  # the schema of its structured content
    default: bool = True  # listed without --tools=all
    alone: bool = True  # waits for other calls

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.parameters),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def describe(self, name: str, delimiters: tuple[str, str]) -> types.Tool:
        """Return the tool as a client lists it."""
        described = {
            key: {**value, "description": with_delimiters(value["description"], delimiters)}
            for key, value in self.parameters.items()
        }
        return types.Tool(
            name=name,
            title=self.title,
            description=with_delimiters(self.description, delimiters),
            input_schema={**self.schema, "properties": described},
            output_schema=self.output,
            annotations=self.hints,
        )


async def call_tool(call: ToolCall, name: str, given: Arguments) -> Answer:
    """Carry out a call of a tool; an error is its result, for a model to read."""
    tool = TOOLS[name]
    mistake = best_match(Draft202012Validator(tool.schema).iter_errors(given))
    if mistake:
        where = "".join(f"{part}: " for part in mistake.absolute_path)
        shown = clada.visible(where + mistake.message)[:LONGEST_MISTAKE]
        return failure(f"{shown}; {name} takes {', '.join(tool.parameters)}; nothing was done")
    try:
        return await (call.run_alone if tool.alone else call.run)(partial(tool.handler, call, given))
    except clada.CladaError as error:
        return failure(error.error.sentence)
    except ValueError as error:
        return failure(str(error))
    except Exception as bug:  # noqa: BLE001 (the server goes on)
        return failure(f"clada has a bug: {type(bug).__name__}: {clada.visible(str(bug))}")


TOOLS = {
    "apply": Tool(
        handlers.apply, "Apply a document", APPLY, RUNS,
        {"document": DOCUMENT, "atomic": ATOMIC, "verify": VERIFY, "again": AGAIN}, ("document",),
        REPORT_SCHEMA,
    ),
    "plan": Tool(
        handlers.plan, "Plan a document",
        "Show what apply would do with this document, with a diff. Nothing is changed, and no program runs.",
        READS, {"document": DOCUMENT}, ("document",), REPORT_SCHEMA,
    ),
    "read": Tool(
        handlers.read, "Read files",
        "Return the content of files. Read a file before you edit it: SEARCH needs its lines exactly.",
        READS, {"paths": {**PATHS_TO_READ, "minItems": 1}}, ("paths",), alone=False,
    ),
    "search": Tool(
        handlers.search, "Search in files",
        "Find a text or a regular expression in the files of the workspace, except those that git ignores. "
        "Returns path:line: text for each line that matches.",
        READS,
        {
            "pattern": _text("The text, or regular expression (Python's), to find in a line.", "def greet"),
            "paths": PATHS_TO_SEARCH,
            "regex": _switch("The pattern is a regular expression."),
            "ignore_case": _switch("Upper and lower case are the same."),
        },
        ("pattern",), alone=False,
    ),
    "undo": Tool(
        handlers.undo, "Undo a run",
        "Revert the last run that changed something, or the one with this number. Files that were changed "
        "since are left alone, and named. Undoing an undo is redo.",
        CHANGES, {"run": RUN, "dry_run": _switch("Only show what would be reverted, with a diff.")},
        output=UNDO_SCHEMA,
    ),
    "resume": Tool(
        handlers.resume, "Resume a run",
        "Carry out what failed or was skipped in the last run, from the document that it had, and nothing "
        "else: for example after the user has approved a command.",
        RUNS, {"run": RUN, "atomic": RESUME_ATOMIC}, output=REPORT_SCHEMA,
    ),
    "history": Tool(
        handlers.history, "List the recorded runs",
        "List the runs in this workspace, newest first: number, time, how each ended, what it did.",
        READS, {"limit": _number("How many runs at most.", 5, default=20)}, output=HISTORY_SCHEMA,
        alone=False,
    ),
    "write_file": Tool(
        handlers.write_file, "Write a file",
        "Create a file, or replace all of it. Folders are made as needed. Recorded: undo reverts it.",
        CHANGES,
        {
            "path": PATH,
            "content": _text("The whole content.", 'print("hello")\n'),
            "append": _switch("Add the content to the end of the file instead."),
        },
        ("path", "content"), REPORT_SCHEMA, default=False,
    ),
    "edit_file": Tool(
        handlers.edit_file, "Edit a file",
        "Edit one file by replacing texts. All edits are made, or none. Recorded: undo reverts it.",
        CHANGES, {"path": PATH, "edits": EDITS}, ("path", "edits"), REPORT_SCHEMA, default=False,
    ),
}  # fmt: skip
