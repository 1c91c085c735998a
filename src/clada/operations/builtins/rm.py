"""rm: files go, and with -r directories with all that is in them; links are never followed."""

from __future__ import annotations

from clada.operations.builtins.faults import Fault, Missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import Job
    from clada.operations.builtins.places import Place
    from clada.world.files.entries import Entry
    from clada.world.files.paths import Parts

    # What to remove below a place, by the rest of its path, and at last the place itself: ().
    Doomed = list[tuple[Parts, Entry]]


def rm(job: Job) -> None:
    """Remove each operand."""
    if not job.operands and not job.has("f"):
        raise Fault("missing operand")
    job.each(
        job.places(), lambda place: _doomed(job, place), lambda place, doomed: _remove(job, place, doomed)
    )


def _doomed(job: Job, place: Place) -> Doomed:
    """Return all that has to go, if it may."""
    what = f"cannot remove {place}"
    try:
        entry = job.existing(place, what)
    except Missing:
        if job.has("f"):
            return []
        raise
    job.refuse_taking(place)
    if entry.kind != "directory":
        return [((), entry)]
    if job.has("r", "R"):
        if place.name in (".", ".."):
            raise Fault(f"refusing to remove '.' or '..' directory: skipping {place}")
        return [*job.tree(place, what), ((), entry)]
    if not job.has("d"):
        raise Fault(f"{what}: Is a directory")
    return [((), entry)]


def _remove(job: Job, place: Place, doomed: Doomed) -> None:
    """Remove all of it; a directory that something stays in stays too, and nothing more is said of it."""
    staying: set[Parts] = set()
    for rest, entry in doomed:
        if rest in staying:
            staying.add(rest[:-1])
            continue
        try:
            _remove_one(job, place.below(*rest), entry)
        except Fault as fault:
            job.complain(fault)
            staying.add(rest[:-1])
    if doomed and () not in staying:
        job.changed(place, "removed")


def _remove_one(job: Job, place: Place, entry: Entry) -> None:
    is_directory = entry.kind == "directory"
    action = job.files.remove_directory if is_directory else job.files.unlink
    job.attempt(f"cannot remove {place}", place, action, place.parts)
    if job.has("v"):
        job.say(f"removed {'directory ' if is_directory else ''}{place}")
