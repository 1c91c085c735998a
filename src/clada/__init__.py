"""Carries out what the answer of an LLM asks for: `parse` a text into a plan, `execute` it.

Names are loaded when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from clada.version import VERSION

TYPE_CHECKING = False
__version__ = VERSION

if TYPE_CHECKING:
    from clada.config import load_options
    from clada.errors import Error, Problem, Trouble, UsageError
    from clada.history import history, undo
    from clada.model import (
        Block,
        BlockReport,
        BlockSkipped,
        Change,
        Done,
        Event,
        Failed,
        Invalid,
        Note,
        Operation,
        Output,
        OutputTruncated,
        Plan,
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
    from clada.report import Report
    from clada.report.schema import schema
    from clada.run import execute
    from clada.settings import Settings
    from clada.world.world import Stop

# Where each public name is.
_HOMES = {
    "config": "load_options",
    "errors": "Error Problem Trouble UsageError",
    "history": "history undo",
    "model": "Block BlockReport BlockSkipped Change Done Event Failed Invalid Note Operation Output "
    "OutputTruncated Plan Skipped Task TaskEnded TaskStarted",
    "notations": "parse",
    "notations.reader": "Reader",
    "operations.edit": "Edit Hunk",
    "operations.move": "Move",
    "operations.remove": "Remove",
    "operations.run": "Run",
    "operations.write": "Write",
    "report": "Report",
    "report.schema": "schema",
    "run": "execute",
    "settings": "Settings",
    "world.world": "Stop",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = [
    "Block",
    "BlockReport",
    "BlockSkipped",
    "Change",
    "Done",
    "Edit",
    "Error",
    "Event",
    "Failed",
    "Hunk",
    "Invalid",
    "Move",
    "Note",
    "Operation",
    "Output",
    "OutputTruncated",
    "Plan",
    "Problem",
    "Reader",
    "Remove",
    "Report",
    "Run",
    "Settings",
    "Skipped",
    "Stop",
    "Task",
    "TaskEnded",
    "TaskStarted",
    "Trouble",
    "UsageError",
    "Write",
    "__version__",
    "execute",
    "history",
    "load_options",
    "parse",
    "schema",
    "undo",
]


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module 'clada' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"clada.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
