"""The built-in commands: done by clada itself, so that its rules and dry runs hold for them by construction.

One module a command, or a kin of them; one row in the table.
"""

from __future__ import annotations

from clada.errors import Trouble
from clada.operations.builtins.job import CommandError, Job
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.commands.judgements import BuiltIn
    from clada.errors import Error
    from clada.model import Change
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

# Where each command is: a function of its own name in this module.
MODULES = {
    "mv": "mv",
    "rm": "rm",
    "cp": "cp",
    "mkdir": "mkdir",
    "touch": "touch",
    "chmod": "chmod",
    "cd": "simple",
    "pwd": "simple",
    "echo": "simple",
    "true": "simple",
    "false": "simple",
}


class Ran(Value):
    """How a built-in command went; `here` is the directory for the next one."""

    exit_code: int
    here: Parts
    changes: tuple[Change, ...] = ()
    refused: Error | None = None  # by a rule that it came upon, perhaps half way


def run(command: BuiltIn, files: Files, here: Parts, emit: Callable[[str], None]) -> Ran:
    """Carry out a command in a directory."""
    job = Job(command, files, here, emit)
    refused = None
    try:
        _find(command.name)(job)
    except CommandError as error:
        job.complain(error)
    except Trouble as trouble:
        refused = trouble.error
    return Ran(job.exit_code, job.here, tuple(job.changes), refused)


def _find(name: str) -> Callable[[Job], None]:
    """Return what carries out the command of this name; it is loaded when it is first needed."""
    from importlib import import_module

    command: Callable[[Job], None] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return command
