"""chmod: the permission bits of files and directories."""

from __future__ import annotations

import stat

from clada.commands.modes import judged_mode
from clada.operations.builtins.faults import Fault, quoted
from clada.operations.builtins.permissions import umask
from clada.operations.builtins.places import refuse_special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.commands.modes import Mode
    from clada.operations.builtins.job import Job
    from clada.operations.builtins.places import Place
    from clada.world.files.entries import Entry

SPECIAL, SET_ID = 0o7000, 0o6000


def chmod(job: Job) -> None:
    """Set the mode of each file."""
    if len(job.operands) < 2:  # noqa: PLR2004 (a mode and a file)
        raise Fault("missing operand" + "".join(f" after {quoted(mode)}" for mode in job.operands))
    text, *paths = job.operands
    mode = judged_mode(text)
    mask = umask()
    # `-w` looks like an option, of which one may expect more than the umask lets it do: then chmod says so.
    surprising = text.startswith("-")

    def act(place: Place, entry: Entry) -> None:
        new = _applied(mode, entry, mask)
        _set(job, place, entry, new)
        expected = _applied(mode, entry, 0)
        if surprising and new & ~expected:
            raise Fault(f"{place.text}: new permissions are {_letters(new)}, not {_letters(expected)}")

    job.each(job.places(paths), lambda place: _check(job, place), act)


def _check(job: Job, place: Place) -> Entry:
    entry = job.existing(place, f"cannot access {place}")
    refuse_special(place, entry)
    return entry


def _set(job: Job, place: Place, entry: Entry, mode: int) -> None:
    job.attempt(f"changing permissions of {place}", place, job.files.set_mode, place.parts, mode)
    if mode != entry.mode:
        job.changed(place, "edited")


def _applied(mode: Mode, entry: Entry, mask: int) -> int:
    """Return the new mode; setuid and its kin stay where chmod leaves them."""
    directory = entry.kind == "directory"
    kept = SPECIAL if mode.number is None else SET_ID if directory else 0
    return mode.applied(entry.mode, directory=directory, umask=mask) | entry.mode & kept


def _letters(mode: int) -> str:
    return stat.filemode(mode)[1:]
