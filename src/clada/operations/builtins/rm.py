"""rm: files go, and with -r directories with all that is in them; links are never followed."""

from __future__ import annotations

from clada.operations.builtins.job import CommandError, MissingError
from clada.world.files.tree import note_removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import Job, Operand
    from clada.world.files.entries import Entry
    from clada.world.files.paths import Parts

    # What to remove below an operand, by the rest of its path, and at last the operand itself: ().
    Doomed = list[tuple[Parts, Entry]]


def rm(job: Job) -> None:
    """Remove each operand."""
    if not job.operands and not job.has("f"):
        raise CommandError("missing operand")
    job.each(
        job.located(),
        lambda operand: _doomed(job, operand),
        lambda operand, doomed: _remove(job, operand, doomed),
    )


def _doomed(job: Job, operand: Operand) -> Doomed:
    """Return all that has to go, if it may."""
    what = f"cannot remove {operand}"
    try:
        entry = job.existing(operand, what)
    except MissingError:
        if job.has("f"):
            return []
        raise
    job.refuse_taking(operand)
    if entry.kind != "directory":
        return [((), entry)]
    if job.has("r", "R"):
        if operand.name in (".", ".."):
            raise CommandError(f"refusing to remove '.' or '..' directory: skipping {operand}")
        return [*job.tree(operand, what), ((), entry)]
    if not job.has("d"):
        raise CommandError(f"{what}: Is a directory")
    return [((), entry)]


def _remove(job: Job, operand: Operand, doomed: Doomed) -> None:
    """Remove all of it; a directory that something stays in stays too, and nothing more is said of it."""
    staying: set[Parts] = set()
    removed: list[Parts] = []
    try:
        for rest, entry in doomed:
            if rest in staying:
                staying.add(rest[:-1])
                continue
            try:
                _remove_one(job, operand.below(*rest), entry)
            except CommandError as error:
                job.complain(error)
                staying.add(rest[:-1])
            else:
                note_removed(removed, rest)
    finally:
        for rest in removed:
            job.changed(operand.below(*rest), "removed")


def _remove_one(job: Job, operand: Operand, entry: Entry) -> None:
    is_directory = entry.kind == "directory"
    action = job.files.remove_directory if is_directory else job.files.unlink
    job.attempt(f"cannot remove {operand}", operand, action, operand.parts)
    if job.has("v"):
        job.say(f"removed {'directory ' if is_directory else ''}{operand}")
