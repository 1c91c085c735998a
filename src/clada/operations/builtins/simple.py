"""cd, pwd, echo, true, false: the commands that change no file."""

from __future__ import annotations

from clada.operations.builtins.job import NOT_A_DIRECTORY, BuiltInJob, CommandError, Operand, refuse_link
from clada.world.files.paths import OUTSIDE, display_path


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
