"""Carries out what the answer of an LLM asks for: `parse` a text into a plan, `execute` it.

Names are loaded when they are first used, so that the command line starts at once.
"""

from clada.version import VERSION

TYPE_CHECKING = False
__version__ = VERSION

if TYPE_CHECKING:
    from clada import batch as batch
    from clada.config import load_options
    from clada.errors import CladaError, Error, Problem, UsageError
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
    from clada.operations.remove import Remove
    from clada.operations.run import Run
    from clada.operations.write import Write
    from clada.packing import Pack, PackedFile, pack
    from clada.past import history, run_details, undo, undo_text
    from clada.prompts import PROMPTS, instructions
    from clada.report import Report
    from clada.report.schema import schema
    from clada.resuming import resume
    from clada.run import execute, plan_for
    from clada.settings import Settings
    from clada.text.forms import visible
    from clada.world.world import Stop

# Where each public name is.
_HOMES = {
    "config": "load_options",
    "errors": "Error Problem CladaError UsageError",
    "packing": "Pack PackedFile pack",
    "past": "history run_details undo undo_text",
    "model": "Block BlockReport BlockSkipped Change Done Event Failed Invalid NotApplied Note Operation "
    "Output OutputTruncated Plan RolledBack Skipped Task TaskEnded TaskStarted",
    "prompts": "PROMPTS instructions",
    "notations": "parse",
    "notations.reader": "Reader",
    "operations.edit": "Edit Hunk",
    "operations.move": "Move",
    "operations.remove": "Remove",
    "operations.run": "Run",
    "operations.write": "Write",
    "report": "Report",
    "report.schema": "schema",
    "resuming": "resume",
    "run": "execute plan_for",
    "settings": "Settings",
    "text.forms": "visible",
    "world.world": "Stop",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [
    "PROMPTS",
    "Block",
    "BlockReport",
    "BlockSkipped",
    "Change",
    "CladaError",
    "Done",
    "Edit",
    "Error",
    "Event",
    "Failed",
    "Hunk",
    "Invalid",
    "Move",
    "NotApplied",
    "Note",
    "Operation",
    "Output",
    "OutputTruncated",
    "Pack",
    "PackedFile",
    "Plan",
    "Problem",
    "Reader",
    "Remove",
    "Report",
    "RolledBack",
    "Run",
    "Settings",
    "Skipped",
    "Stop",
    "Task",
    "TaskEnded",
    "TaskStarted",
    "UsageError",
    "Write",
    "__version__",
    "execute",
    "history",
    "instructions",
    "load_options",
    "pack",
    "parse",
    "plan_for",
    "resume",
    "run_details",
    "schema",
    "undo",
    "undo_text",
    "visible",
]


def __getattr__(name: str) -> object:
    if name not in _NAMES and name != "batch":
        raise AttributeError(f"module 'clada' has no attribute {name!r}")
    from importlib import import_module

    if name == "batch":
        return import_module("clada.batch")
    value = globals()[name] = getattr(import_module(f"clada.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
