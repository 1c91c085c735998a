"""mkdir and chmod: make directories, and set the permission bits of files and directories."""

from __future__ import annotations

import os
import stat

from clada.commands.modes import parse_checked_mode
from clada.errors import CladaError
from clada.operations.builtins.job import (
    NO_SUCH,
    NOT_A_DIRECTORY,
    CommandError,
    Operand,
    quoted,
    refuse_link,
    refuse_special,
)
from clada.operations.run.operands import with_operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.commands.modes import Mode
    from clada.operations.builtins.job import BuiltInJob
    from clada.world.files.stat import Entry

ALL = 0o777
SPECIAL, SET_ID = 0o7000, 0o6000


def mkdir(job: BuiltInJob) -> None:
    """Make each directory."""
    if not job.operands:
        raise CommandError("missing operand")
    text = job.value("m")
    mode = None if text is None else parse_checked_mode(text).apply(ALL, directory=True, umask=umask())
    make = _make_with_parents if job.has("p") else _make_one
    job.each(job.locate_all(), lambda operand: _check(job, operand), lambda _, steps: make(job, steps, mode))


def _check(job: BuiltInJob, operand: Operand) -> list[Operand]:
    """Return the directories to create; refuse a link."""
    steps = _steps(job, operand)
    for step in steps:
        refuse_link(step, _entry(job, step))
    return steps


def _steps(job: BuiltInJob, operand: Operand) -> list[Operand]:
    """Return the directories to create: the operand and, with -p, each one that it leaves again by `..`."""
    names = operand.text.replace("\\", "/").split("/")
    ends = [at for at in range(1, len(names)) if names[at] == ".." != names[at - 1]] if job.has("p") else []
    return [*(job.locate("/".join(names[:end]) or "/") for end in ends), operand]


def _make_one(job: BuiltInJob, steps: list[Operand], mode: int | None) -> None:
    (operand,) = steps
    what = _what(operand)
    if _entry(job, operand):
        raise CommandError(f"{what}: File exists")
    job.require_parent(operand, what)
    job.attempt(what, operand, job.files.make, operand.parts, ALL if mode is None else mode)
    _finish(job, operand, mode)


def _make_with_parents(job: BuiltInJob, steps: list[Operand], mode: int | None) -> None:
    operand = steps[-1]
    for step in steps:
        try:
            made = job.files.make_all(step.parts) if step.text else []
        except CladaError as raised:
            raise _explain(job, step, raised) from None
        if made == [step.parts]:  # the usual case, without a list of its parents
            _finish(job, step, mode if step is operand else None)
            continue
        below = {each.parts: each for each in _path_down(step)} if made else {}
        for parts in made:
            _finish(job, below[parts], mode if parts == operand.parts and step is operand else None)
    if not operand.text:
        raise CommandError(f"{_what(operand)}: {NO_SUCH}")


def _finish(job: BuiltInJob, operand: Operand, mode: int | None) -> None:
    job.note_change(operand, "created")
    if mode is not None:  # regardless of the umask
        job.attempt(f"cannot set permissions of {operand}", operand, job.files.set_mode, operand.parts, mode)
    if job.has("v"):
        job.say(f"mkdir: created directory {operand}")


def _path_down(operand: Operand) -> list[Operand]:
    """Return the parents of an operand, each as the operand spells it, and the operand."""
    text = operand.text.replace("\\", "/").rstrip("/")
    ends = [at for at in range(1, len(text)) if text[at] == "/" and text[at - 1] != "/"]
    names = [text[:end].rpartition("/")[2] for end in ends]
    above = [end for end, name in zip(ends, names, strict=True) if name not in (".", "..")]
    top = len(operand.parts) - 1 - len(above)  # less than 0 where some of it leads up again
    parents = [Operand(text[:end], operand.parts[: max(0, top + at)]) for at, end in enumerate(above, 1)]
    return [*parents, operand]


def _explain(job: BuiltInJob, operand: Operand, raised: CladaError) -> Exception:
    """Return why a directory cannot be created, with the parent that is the cause."""
    if raised.system is None:
        return with_operand(raised, operand.text)
    for step in _path_down(operand):
        entry = _entry(job, step)
        if entry is None:
            return CommandError(f"{_what(step)}: {raised.system}")
        if entry.kind != "directory":
            return CommandError(f"{_what(step)}: {'File exists' if step is operand else NOT_A_DIRECTORY}")
    return CommandError(f"{_what(operand)}: {raised.system}")


def _entry(job: BuiltInJob, operand: Operand) -> Entry | None:
    return job.entry(operand, _what(operand))


def _what(operand: Operand) -> str:
    return f"cannot create directory {operand}"


def chmod(job: BuiltInJob) -> None:
    """Set the mode of each file."""
    if len(job.operands) < 2:  # noqa: PLR2004 (a mode and a file)
        raise CommandError("missing operand" + "".join(f" after {quoted(mode)}" for mode in job.operands))
    text, *paths = job.operands
    mode = parse_checked_mode(text)
    mask = umask()
    # As in GNU chmod: `-w` looks like an option, so chmod fails where the umask kept it from working.
    warns = text.startswith("-")

    def act(operand: Operand, entry: Entry) -> None:
        new = _new_mode(mode, entry, mask)
        job.attempt(f"changing permissions of {operand}", operand, job.files.set_mode, operand.parts, new)
        if new != entry.mode:
            job.note_change(operand, "edited")
        expected = _new_mode(mode, entry, 0)
        if warns and new & ~expected:
            raise CommandError(
                f"{operand.text}: new permissions are {_letters(new)}, not {_letters(expected)}"
            )

    job.each(job.locate_all(paths), lambda operand: _check_mode_change(job, operand), act)


def _check_mode_change(job: BuiltInJob, operand: Operand) -> Entry:
    entry = job.existing(operand, f"cannot access {operand}")
    refuse_special(operand, entry)
    job.refuse_shared(operand, entry)
    return entry


def _new_mode(mode: Mode, entry: Entry, mask: int) -> int:
    """Return the new mode; setuid, setgid and sticky are kept where chmod keeps them."""
    directory = entry.kind == "directory"
    kept = SPECIAL if mode.number is None else SET_ID if directory else 0
    return mode.apply(entry.mode, directory=directory, umask=mask) | entry.mode & kept


def _letters(mode: int) -> str:
    return stat.filemode(mode)[1:]


def umask() -> int:
    """Return the umask, which os.umask could return only by changing it for all threads."""
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    return _umask_of_new_directory()


def _umask_of_new_directory() -> int:
    """Return the umask by making a directory, on systems without /proc."""
    from tempfile import TemporaryDirectory  # slow to import, and needed only without /proc

    with TemporaryDirectory() as directory:
        path = os.path.join(directory, "all")
        os.mkdir(path, ALL)  # less the umask
        return ALL & ~os.stat(path).st_mode
