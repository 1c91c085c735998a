"""The built-in commands, which clada carries out itself, so that its rules and dry runs apply to them."""

from __future__ import annotations

from clada.errors import CladaError
from clada.operations.builtins.cp_mv import cp, mv
from clada.operations.builtins.job import NOT_A_DIRECTORY, BuiltInJob, CommandError, Operand, refuse_link
from clada.operations.builtins.mkdir_chmod import chmod, mkdir
from clada.operations.builtins.rm import rm
from clada.operations.builtins.touch import touch
from clada.values import Value
from clada.world.files.paths import OUTSIDE, display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.commands.judgements import BuiltIn
    from clada.errors import Error
    from clada.model import Change
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files


class BuiltInResult(Value):
    """The result of a built-in command; `here` is the directory for the next one."""

    exit_code: int
    here: Parts
    changes: tuple[Change, ...] = ()
    refused: Error | None = None  # the rule that stopped it, perhaps half-way


def run(command: BuiltIn, files: Files, here: Parts, emit: Callable[[str], None]) -> BuiltInResult:
    """Carry out a command in a directory; each line that it prints goes to `emit`."""
    job = BuiltInJob(command, files, here, emit)
    refused = None
    try:
        COMMANDS[command.name](job)
    except CommandError as error:
        job.complain(error)
    except CladaError as error:
        refused = error.error
    return BuiltInResult(job.exit_code, job.here, tuple(job.changes), refused)


# The commands that change no file.


def cd(job: BuiltInJob) -> None:
    """Change the directory for the rest of the run."""
    (text,) = job.operands
    parts = job.attempt(text, Operand(text, ()), job.files.locate_directory, text, job.here)
    operand = Operand(text, parts)
    entry = job.existing(operand, text)
    refuse_link(operand, entry)
    if entry.kind != "directory":
        raise CommandError(f"{text}: {NOT_A_DIRECTORY}")
    job.here = parts


def pwd(job: BuiltInJob) -> None:
    """Print the directory's whole path."""
    if job.operands:
        job.say("pwd: ignoring non-option arguments")
    inside = job.here[:1] != (OUTSIDE,)
    job.say("/".join((job.files.root.rstrip("/"), *job.here)) if inside else display_path(job.here))


def echo(job: BuiltInJob) -> None:
    """Print the words, each line of them by itself."""
    lines = " ".join(job.operands).split("\n")
    if job.has("n") and not lines[-1]:
        lines.pop()
    for line in lines:
        job.say(line)


def true(_job: BuiltInJob) -> None:
    """Succeed."""


def false(job: BuiltInJob) -> None:
    """Fail."""
    job.exit_code = 1


COMMANDS: dict[str, Callable[[BuiltInJob], None]] = {
    command.__name__: command for command in (cd, chmod, cp, echo, false, mkdir, mv, pwd, rm, touch, true)
}
