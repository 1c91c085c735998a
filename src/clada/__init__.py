"""Carries out what the answer of an LLM asks for: `parse` a text into a plan, `execute` the plan.

Names are loaded when they are first used, so that the command line starts at once.
"""

from __future__ import annotations

from clada.version import VERSION

TYPE_CHECKING = False
__version__ = VERSION

if TYPE_CHECKING:
    from clada.errors import Error, Problem
    from clada.model import Block, Operation, Plan, Report, Task
    from clada.notations import parse
    from clada.notations.csl import Reader
    from clada.pipeline import execute

__all__ = [
    "Block",
    "Error",
    "Operation",
    "Plan",
    "Problem",
    "Reader",
    "Report",
    "Task",
    "__version__",
    "execute",
    "parse",
]

_HOMES = {
    "Block": "model",
    "Error": "errors",
    "Operation": "model",
    "Plan": "model",
    "Problem": "errors",
    "Reader": "notations.csl",
    "Report": "model",
    "Task": "model",
    "execute": "pipeline",
    "parse": "notations",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'clada' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"clada.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
