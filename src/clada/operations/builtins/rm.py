"""rm: removes files and, with -r, directories with their content; links are never followed."""

from __future__ import annotations

from clada.operations.builtins.job import NOT_A_DIRECTORY, CommandError, MissingError
from clada.world.files.tree import add_removed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import BuiltInJob, Operand
    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry

    # What to remove of an operand, by the path below it: at last the operand itself, with ().
    Items = list[tuple[Parts, Entry]]


def rm(job: BuiltInJob) -> None:
    """Remove each operand."""
    if not job.operands and not job.has("f"):
        raise CommandError("missing operand")
    job.each(
        job.locate_all(),
        lambda operand: _check(job, operand),
        lambda operand, items: _remove(job, operand, items),
    )


def _check(job: BuiltInJob, operand: Operand) -> Items:
    """Return the entries to remove, if they may be removed."""
    what = f"cannot remove {operand}"
    try:
        entry = job.existing(operand, what)
    except MissingError:
        if job.has("f"):
            return []
        raise
    if entry.kind == "link" and operand.slash:  # the target of the link is meant, which is not removed
        raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
    job.refuse_moving_workspace(operand)
    if entry.kind != "directory":
        return [((), entry)]
    if job.has("r", "R"):
        if operand.name in (".", ".."):
            raise CommandError(f"refusing to remove '.' or '..' directory: skipping {operand}")
        return [*job.tree(operand, what), ((), entry)]
    if not job.has("d"):
        raise CommandError(f"{what}: Is a directory")
    return [((), entry)]


def _remove(job: BuiltInJob, operand: Operand, items: Items) -> None:
    """Remove all items; a directory that is not empty then stays, without a message of its own."""
    kept: set[Parts] = set()  # directories in which something is left
    removed: list[Parts] = []
    try:
        for rest, entry in items:
            if rest in kept:
                kept.add(rest[:-1])
                continue
            try:
                _remove_one(job, operand.below(*rest), entry)
            except CommandError as error:
                job.complain(error)
                kept.add(rest[:-1])
            else:
                add_removed(removed, rest)
    finally:
        for rest in removed:
            job.note_change(operand.below(*rest), "removed")


def _remove_one(job: BuiltInJob, operand: Operand, entry: Entry) -> None:
    is_directory = entry.kind == "directory"
    action = job.files.remove_directory if is_directory else job.files.unlink
    job.attempt(f"cannot remove {operand}", operand, action, operand.parts)
    if job.has("v"):
        job.say(f"removed {'directory ' if is_directory else ''}{operand}")
