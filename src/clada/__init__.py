"""Carries out what the answer of an LLM asks for: `parse` a text into a plan, `execute` it.

Names are loaded when they are first used, so that the command line starts at once.
"""

from clada.version import VERSION

TYPE_CHECKING = False
__version__ = VERSION

if TYPE_CHECKING:
    from clada import aio as aio
    from clada import batch as batch
    from clada.browse import Contents, Found, Match, read, search
    from clada.config import load_options
    from clada.errors import CladaError, Error, Nearest, Problem, UsageError
    from clada.model import (
        Block,
        BlockReport,
        BlockSkipped,
        Change,
        Done,
        Event,
        Failed,
        Invalid,
        NotApplied,
        Note,
        Operation,
        Outcome,
        Output,
        OutputTruncated,
        Plan,
        RolledBack,
        Skipped,
        Task,
        TaskEnded,
        TaskStarted,
    )
    from clada.notations import parse
    from clada.notations.reader import Reader
    from clada.operations.edit import Edit, Hunk
    from clada.operations.move import Move
    from clada.operations.read import Read
    from clada.operations.remove import Remove
    from clada.operations.run import Run
    from clada.operations.write import Write
    from clada.packing import Pack, PackedFile, pack
    from clada.past import RunDetails, history, run_details, undo, undo_text
    from clada.prompts import PROMPTS, instructions
    from clada.public_types import (
        Answer,
        Ask,
        BlockStatus,
        Changes,
        ErrorType,
        Format,
        MatchMode,
        MergeMode,
        Modes,
        NotationName,
        Options,
        RecordMode,
        RunOptions,
        SandboxMode,
        SchemaName,
        ShellMode,
        Status,
        SyntaxMode,
    )
    from clada.report import Report, ReportError
    from clada.report.schema import schema
    from clada.resuming import resume
    from clada.run import execute, plan_for
    from clada.settings import Settings
    from clada.text.forms import visible
    from clada.world.record.history import RecordedRun
    from clada.world.record.undo import Undone
    from clada.world.world import Stop

# Where each public name is.
_HOMES = {
    "browse": "Contents Found Match read search",
    "config": "load_options",
    "errors": "CladaError Error Nearest Problem UsageError",
    "model": "Block BlockReport BlockSkipped Change Done Event Failed Invalid NotApplied Note "
    "Operation Outcome Output OutputTruncated Plan RolledBack Skipped Task TaskEnded TaskStarted",
    "notations": "parse",
    "notations.reader": "Reader",
    "operations.edit": "Edit Hunk",
    "operations.move": "Move",
    "operations.read": "Read",
    "operations.remove": "Remove",
    "operations.run": "Run",
    "operations.write": "Write",
    "packing": "Pack PackedFile pack",
    "past": "RunDetails history run_details undo undo_text",
    "prompts": "PROMPTS instructions",
    "public_types": "Answer Ask BlockStatus Changes ErrorType Format MatchMode MergeMode Modes NotationName "
    "Options RecordMode RunOptions SandboxMode SchemaName ShellMode Status SyntaxMode",
    "report": "Report ReportError",
    "report.schema": "schema",
    "resuming": "resume",
    "run": "execute plan_for",
    "settings": "Settings",
    "text.forms": "visible",
    "world.record.history": "RecordedRun",
    "world.record.undo": "Undone",
    "world.world": "Stop",
}
_MODULES = ("aio", "batch")
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [
    "PROMPTS", "Answer", "Ask", "Block", "BlockReport", "BlockSkipped", "BlockStatus", "Change", "Changes",
    "CladaError", "Contents", "Done", "Edit", "Error", "ErrorType", "Event", "Failed", "Format", "Found",
    "Hunk", "Invalid", "Match", "MatchMode", "MergeMode", "Modes", "Move", "Nearest", "NotApplied",
    "NotationName", "Note", "Operation", "Options", "Outcome", "Output", "OutputTruncated", "Pack",
    "PackedFile", "Plan", "Problem", "Read", "Reader", "RecordMode", "RecordedRun", "Remove", "Report",
    "ReportError", "RolledBack", "Run", "RunDetails", "RunOptions", "SandboxMode", "SchemaName", "Settings",
    "ShellMode", "Skipped", "Status", "Stop", "SyntaxMode", "Task", "TaskEnded", "TaskStarted", "Undone",
    "UsageError", "Write", "__version__", "execute", "history", "instructions", "load_options", "pack",
    "parse", "plan_for", "read", "resume", "run_details", "schema", "search", "undo", "undo_text",
    "visible",
]  # fmt: skip


if not TYPE_CHECKING:  # else checkers would let any name pass

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"clada.{name}")
        if name not in _NAMES:
            raise AttributeError(f"module 'clada' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"clada.{_NAMES[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return __all__
