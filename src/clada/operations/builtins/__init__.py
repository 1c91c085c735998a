"""The built-in commands: clada carries them out itself, so that its own rules and dry runs apply to them.

Each is a function in a module of its own name, or with similar ones; MODULES has a row for each.
"""

from __future__ import annotations

from clada.errors import CladaError
from clada.operations.builtins.job import BuiltInJob, CommandError
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.commands.judgements import BuiltIn
    from clada.errors import Error
    from clada.model import Change
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

# The module that has the function with the command's name; it is loaded when it is first needed.
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


class BuiltInResult(Value):
    """How a built-in command ended; `here` is the directory for the next one."""

    exit_code: int
    here: Parts
    changes: tuple[Change, ...] = ()
    refused: Error | None = None  # the rule that stopped it, perhaps half way


def run(command: BuiltIn, files: Files, here: Parts, emit: Callable[[str], None]) -> BuiltInResult:
    """Carry out a command in a directory; each line that it prints goes to `emit`."""
    job = BuiltInJob(command, files, here, emit)
    refused = None
    try:
        module = __import__(f"{__name__}.{MODULES[command.name]}", fromlist=("run",))
        getattr(module, command.name)(job)
    except CommandError as error:
        job.complain(error)
    except CladaError as trouble:
        refused = trouble.error
    return BuiltInResult(job.exit_code, job.here, tuple(job.changes), refused)
