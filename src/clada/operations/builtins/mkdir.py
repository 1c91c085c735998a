"""mkdir: new directories, with -p those on the way too."""

from __future__ import annotations

from clada.commands.modes import judged_mode
from clada.operations.builtins.job import NOT_A_DIRECTORY, CommandError, Operand, refuse_link
from clada.operations.builtins.umask import ALL, umask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import Job
    from clada.world.files.entries import Entry

    Way = list[Operand]  # to a directory, which is the last of them


def mkdir(job: Job) -> None:
    """Make each directory."""
    if not job.operands:
        raise CommandError("missing operand")
    mode = _mode(job)
    job.each(
        job.located(), lambda operand: _way(job, operand), lambda _operand, way: _make_all(job, way, mode)
    )


def _mode(job: Job) -> int | None:
    text = job.value("m")
    if text is None:
        return None
    return judged_mode(text).applied(ALL, directory=True, umask=umask())


def _way(job: Job, operand: Operand) -> Way:
    """Return the directories to make, if they are missing; none may be a link."""
    way = [*_above(job, operand), operand] if job.has("p") else [operand]
    for step in way:
        entry = _entry(job, step)
        if entry is None:
            break  # below it, nothing can be there either
        refuse_link(step, entry)
    return way


def _above(job: Job, operand: Operand) -> Way:
    """Return all directories on the way, as the operand names them."""
    text = operand.text.replace("\\", "/").rstrip("/")
    names = text.split("/")
    if ".." in names or not names[0]:  # what a part of it means, only the whole rule of paths can tell
        ends = [at for at in range(1, len(text)) if text[at] == "/" and text[at - 1] != "/"]
        return [job.locate(text[:end]) for end in ends]
    way, end = [], -1
    depth = len(operand.parts) - sum(name not in ("", ".") for name in names)
    for name in names[:-1]:
        end += len(name) + 1
        if name not in ("", "."):
            depth += 1
            way.append(Operand(text[:end], operand.parts[:depth]))
    return way


def _make_all(job: Job, way: Way, mode: int | None) -> None:
    *above, last = way
    for operand in above:
        entry = _entry(job, operand)
        if entry is None:
            _make(job, operand, None)
        elif entry.kind != "directory":
            raise CommandError(f"{_what(operand)}: {NOT_A_DIRECTORY}")
    entry = _entry(job, last)
    if entry is None:
        _make(job, last, mode)
    elif not job.has("p") or entry.kind != "directory":
        raise CommandError(f"{_what(last)}: File exists")


def _make(job: Job, operand: Operand, mode: int | None) -> None:
    what = _what(operand)
    job.make_sure_of_parent(operand, what)
    job.attempt(what, operand, job.files.make, operand.parts, ALL if mode is None else mode)
    job.changed(operand, "created")
    if mode is not None:  # whatever the umask
        job.attempt(f"cannot set permissions of {operand}", operand, job.files.set_mode, operand.parts, mode)
    if job.has("v"):
        job.say(f"mkdir: created directory {operand}")


def _entry(job: Job, operand: Operand) -> Entry | None:
    return job.entry(operand, _what(operand))


def _what(operand: Operand) -> str:
    return f"cannot create directory {operand}"
