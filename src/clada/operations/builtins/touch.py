"""touch: creates empty files, and sets the times of existing ones."""

from __future__ import annotations

from clada.operations.builtins.job import NO_SUCH, CommandError, MissingError, refuse_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import BuiltInJob, Operand
    from clada.world.files.entries import Entry


def touch(job: BuiltInJob) -> None:
    """Touch each file."""
    when = _when(job)
    if not job.operands:
        raise CommandError("missing file operand")
    job.each(
        job.located(),
        lambda operand: _check(job, operand),
        lambda operand, entry: _touch(job, operand, entry, when),
    )


def _when(job: BuiltInJob) -> int | None:
    """Return the time to set, in nanoseconds; None for now."""
    from clada.operations.builtins.dates import read_date, read_stamp

    date, stamp = job.value("d"), job.value("t")
    if date is not None and stamp is not None:
        raise CommandError("cannot specify times from more than one source")
    when = read_date(date) if date is not None else read_stamp(stamp) if stamp is not None else None
    text = stamp if date is None else date
    if text is not None and when is None:
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        raise CommandError(f"invalid date format '{escaped}'")
    return when


def _check(job: BuiltInJob, operand: Operand) -> Entry | None:
    # Where touch would not create a file, all that it does is setting times.
    only_times = operand.slash or job.has("c")
    try:
        entry = job.existing(operand, f"{'setting times of' if only_times else 'cannot touch'} {operand}")
    except MissingError as missing:
        if missing.why != NO_SUCH if job.has("c") else operand.slash:
            raise
        return None
    refuse_special(operand, entry)
    job.refuse_shared(operand, entry)
    return entry


def _touch(job: BuiltInJob, operand: Operand, entry: Entry | None, when: int | None) -> None:
    if entry is None:
        if not job.has("c"):
            _create(job, operand, when)
        return
    from time import time_ns

    now = time_ns() if when is None else when
    modified = entry.modified if job.has("a") and not job.has("m") else now
    job.attempt(f"setting times of {operand}", operand, job.files.set_times, operand.parts, now, modified)


def _create(job: BuiltInJob, operand: Operand, when: int | None) -> None:
    what = f"cannot touch {operand}"
    job.make_sure_of_parent(operand, what)
    job.attempt(what, operand, job.files.store, operand.parts, b"")
    job.changed(operand, "created")
    if when is not None:
        job.attempt(what, operand, job.files.set_times, operand.parts, when, when)
