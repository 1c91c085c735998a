"""mkdir: new directories, with -p those on the way too."""

from __future__ import annotations

from clada.commands.modes import judged_mode
from clada.operations.builtins.faults import NOT_A_DIRECTORY, Fault
from clada.operations.builtins.permissions import ALL, umask
from clada.operations.builtins.places import refuse_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import Job
    from clada.operations.builtins.places import Place
    from clada.world.files.entries import Entry

    Way = list[Place]  # to a directory, which is the last of them


def mkdir(job: Job) -> None:
    """Make each directory."""
    if not job.operands:
        raise Fault("missing operand")
    mode = _mode(job)
    job.each(job.places(), lambda place: _way(job, place), lambda _place, way: _make_all(job, way, mode))


def _mode(job: Job) -> int | None:
    text = job.value("m")
    if text is None:
        return None
    return judged_mode(text).applied(ALL, directory=True, umask=umask())


def _way(job: Job, place: Place) -> Way:
    """Return the directories to make, if they are missing; none may be a link."""
    way = [*_above(job, place), place] if job.has("p") else [place]
    for step in way:
        refuse_link(step, _entry(job, step))
    return way


def _above(job: Job, place: Place) -> Way:
    """Return all directories on the way, as the operand names them."""
    text = place.text.replace("\\", "/").rstrip("/")
    ends = [at for at in range(1, len(text)) if text[at] == "/" and text[at - 1] != "/"]
    return [job.place(text[:end]) for end in ends]


def _make_all(job: Job, way: Way, mode: int | None) -> None:
    *above, last = way
    for place in above:
        entry = _entry(job, place)
        if entry is None:
            _make(job, place, None)
        elif entry.kind != "directory":
            raise Fault(f"{_what(place)}: {NOT_A_DIRECTORY}")
    entry = _entry(job, last)
    if entry is None:
        _make(job, last, mode)
    elif not job.has("p") or entry.kind != "directory":
        raise Fault(f"{_what(last)}: File exists")


def _make(job: Job, place: Place, mode: int | None) -> None:
    what = _what(place)
    job.make_sure_of_parent(place, what)
    job.attempt(what, place, job.files.make, place.parts, ALL if mode is None else mode)
    job.changed(place, "created")
    if mode is not None:  # whatever the umask
        job.attempt(f"cannot set permissions of {place}", place, job.files.set_mode, place.parts, mode)
    if job.has("v"):
        job.say(f"mkdir: created directory {place}")


def _entry(job: Job, place: Place) -> Entry | None:
    return job.entry(place, _what(place))


def _what(place: Place) -> str:
    return f"cannot create directory {place}"
