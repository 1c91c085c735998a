"""touch: new empty files, and the times of files that are there."""

from __future__ import annotations

from clada.operations.builtins.faults import NO_SUCH, Fault, Missing
from clada.operations.builtins.places import refuse_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import Job
    from clada.operations.builtins.places import Place
    from clada.world.files.entries import Entry


def touch(job: Job) -> None:
    """Touch each file."""
    when = _when(job)
    if not job.operands:
        raise Fault("missing file operand")
    job.each(
        job.places(), lambda place: _check(job, place), lambda place, entry: _touch(job, place, entry, when)
    )


def _when(job: Job) -> int | None:
    """Return the time that is asked for, in nanoseconds; None for now."""
    from clada.operations.builtins.dates import read_date, read_stamp

    date, stamp = job.value("d"), job.value("t")
    if date is not None and stamp is not None:
        raise Fault("cannot specify times from more than one source")
    when = read_date(date) if date is not None else read_stamp(stamp) if stamp is not None else None
    text = stamp if date is None else date
    if text is not None and when is None:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        raise Fault(f"invalid date format '{escaped}'")
    return when


def _check(job: Job, place: Place) -> Entry | None:
    try:
        entry = job.existing(place, _what(job, place))
    except Missing as missing:
        if missing.why != NO_SUCH if job.has("c") else place.slash:
            raise
        return None
    refuse_special(place, entry)
    return entry


def _touch(job: Job, place: Place, entry: Entry | None, when: int | None) -> None:
    if entry is None:
        if not job.has("c"):
            _create(job, place, when)
        return
    from time import time_ns

    now = time_ns() if when is None else when
    modified = entry.modified if job.has("a") and not job.has("m") else now
    job.attempt(f"setting times of {place}", place, job.files.set_times, place.parts, now, modified)


def _create(job: Job, place: Place, when: int | None) -> None:
    what = f"cannot touch {place}"
    job.make_sure_of_parent(place, what)
    job.attempt(what, place, job.files.store, place.parts, b"")
    job.changed(place, "created")
    if when is not None:
        job.attempt(what, place, job.files.set_times, place.parts, when, when)


def _what(job: Job, place: Place) -> str:
    """Return what fails: where touch would not make a file, all it does is set times."""
    return f"setting times of {place}" if place.slash or job.has("c") else f"cannot touch {place}"
