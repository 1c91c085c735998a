"""chmod: sets the permission bits of files and directories."""

from __future__ import annotations

import stat

from clada.commands.modes import judged_mode
from clada.operations.builtins.job import CommandError, quoted, refuse_special
from clada.operations.builtins.umask import umask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.commands.modes import Mode
    from clada.operations.builtins.job import BuiltInJob, Operand
    from clada.world.files.entries import Entry

SPECIAL, SET_ID = 0o7000, 0o6000


def chmod(job: BuiltInJob) -> None:
    """Set the mode of each file."""
    if len(job.operands) < 2:  # noqa: PLR2004 (a mode and a file)
        raise CommandError("missing operand" + "".join(f" after {quoted(mode)}" for mode in job.operands))
    text, *paths = job.operands
    mode = judged_mode(text)
    mask = umask()
    # As in GNU chmod: `-w` looks like an option, so chmod fails where the umask kept it from working.
    warns = text.startswith("-")

    def act(operand: Operand, entry: Entry) -> None:
        new = _applied(mode, entry, mask)
        job.attempt(f"changing permissions of {operand}", operand, job.files.set_mode, operand.parts, new)
        if new != entry.mode:
            job.changed(operand, "edited")
        expected = _applied(mode, entry, 0)
        if warns and new & ~expected:
            raise CommandError(
                f"{operand.text}: new permissions are {_letters(new)}, not {_letters(expected)}"
            )

    job.each(job.located(paths), lambda operand: _check(job, operand), act)


def _check(job: BuiltInJob, operand: Operand) -> Entry:
    entry = job.existing(operand, f"cannot access {operand}")
    refuse_special(operand, entry)
    job.refuse_shared(operand, entry)
    return entry


def _applied(mode: Mode, entry: Entry, mask: int) -> int:
    """Return the new mode; setuid, setgid and sticky stay where chmod leaves them."""
    directory = entry.kind == "directory"
    kept = SPECIAL if mode.number is None else SET_ID if directory else 0
    return mode.applied(entry.mode, directory=directory, umask=mask) | entry.mode & kept


def _letters(mode: int) -> str:
    return stat.filemode(mode)[1:]
