"""touch: creates empty files, and sets the times of existing ones.

Dates become nanoseconds since 1970; without a zone they are local.
"""

from __future__ import annotations

import re
import time

from clada.operations.builtins.job import NO_SUCH, CommandError, MissingError, refuse_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from clada.operations.builtins.job import BuiltInJob, Operand
    from clada.world.files.stat import Entry

SECOND = 10**9
SECONDS = r"(-?)([0-9]{1,17})(?:\.([0-9]+))?"  # so many digits are right for every system
DIGITS = frozenset("0123456789")
# By the number of digits of -t: without a year, with two digits of it, with four.
STAMPS = {8: "%Y%m%d%H%M", 10: "%y%m%d%H%M", 12: "%Y%m%d%H%M"}


def touch(job: BuiltInJob) -> None:
    """Touch each file."""
    when = _when(job)
    if not job.operands:
        raise CommandError("missing file operand")
    job.each(
        job.locate_all(),
        lambda operand: _check(job, operand),
        lambda operand, entry: _touch(job, operand, entry, when),
    )


def _when(job: BuiltInJob) -> int | None:
    """Return the time to set, in nanoseconds; None for now."""
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
    # If touch would not create a file, it only sets times.
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
    now = time.time_ns() if when is None else when
    modified = entry.modified if job.has("a") and not job.has("m") else now
    job.attempt(f"setting times of {operand}", operand, job.files.set_times, operand.parts, now, modified)


def _create(job: BuiltInJob, operand: Operand, when: int | None) -> None:
    what = f"cannot touch {operand}"
    job.require_parent(operand, what)
    job.attempt(what, operand, job.files.store, operand.parts, b"")
    job.note_change(operand, "created")
    if when is not None:
        job.attempt(what, operand, job.files.set_times, operand.parts, when, when)


# Dates.


def read_date(text: str) -> int | None:
    """Return the time of touch -d: an ISO date, with or without a time and a zone, `@SECONDS`, or `now`."""
    text = text.strip()
    if text == "now":
        return time.time_ns()
    if text.startswith("@"):
        return _seconds(text[1:])
    if text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in ("", " ", "T", "t"):
        return None
    moment = text.removesuffix(" UTC") + ("Z" if text.endswith(" UTC") else "")
    from datetime import datetime  # takes as long to import as all other modules of a command

    try:
        return _nanoseconds(datetime.fromisoformat(moment.replace(" +", "+").replace(" -", "-")))
    except (ValueError, OverflowError, OSError):
        return None


def read_stamp(text: str) -> int | None:
    """Return the time of touch -t: [[CC]YY]MMDDhhmm[.ss]."""
    digits, dot, seconds = text.partition(".")
    form = STAMPS.get(len(digits))
    if not form or not DIGITS.issuperset(digits + seconds) or len(seconds) != (2 if dot else 0):
        return None
    from datetime import datetime  # see above

    year = "" if len(digits) > min(STAMPS) else f"{time.localtime().tm_year}"
    try:
        # A local time is meant. Two digits of a year are those from 1969 to 2068.
        return _nanoseconds(datetime.strptime(f"{year}{digits}{seconds or '00'}", f"{form}%S"))  # noqa: DTZ007
    except (ValueError, OverflowError, OSError):
        return None


def _seconds(text: str) -> int | None:
    found = re.fullmatch(SECONDS, text)
    if not found:
        return None
    sign, whole, fraction = found.groups(default="")
    return int(f"{sign}1") * (int(whole) * SECOND + int(fraction[:9].ljust(9, "0")))


def _nanoseconds(moment: datetime) -> int:
    """Return a time in nanoseconds since 1970, exactly, which a float could not hold."""
    return int(moment.replace(microsecond=0).timestamp()) * SECOND + moment.microsecond * 1000
