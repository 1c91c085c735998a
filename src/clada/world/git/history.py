"""The history file in the git directory: lines when a run starts, did less than planned, and ends."""

from __future__ import annotations

import os

from clada.grammar import read_number
from clada.values import Value
from clada.world.git.calls import safe_opener
from clada.world.handles import make_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.git.repository import Repository

MAX_READ = 16 * 1024 * 1024  # bytes, from the end: older runs are left out
MAX_TAIL = 256 * 1024  # bytes in which the last number is looked for
MAX_NAMES = 32 * 1024  # characters of names in a line
MAX_WHAT = 1000
MAX_NUMBER = 999_999_999  # of a run; clada has not written a larger one
UNKNOWN = "?"  # in place of a commit that could not be made
ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"))


class RecordedRun(Value):
    """One recorded run. Its changes are those between two commits, in its workspace."""

    number: int
    when: str
    what: str
    prefix: str  # of its workspace, below the repository's root
    before: str  # the commit that has the workspace as it was; empty if there is none
    pre: str = ""  # the commit made before it, if any
    ended: str = "killed"  # ok, failed, interrupted; or killed, if its end was never recorded
    after: str = UNKNOWN  # the commit that has the workspace as the run left it
    post: str = ""  # the commit made after it, if any
    commands: bool = False  # whether it ran commands, which can do things that no commit shows
    unrecorded: tuple[str, ...] = ()  # files that it touched and git ignores, or leaves to another repository

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that were made for it."""
        return self.pre or None, self.post or None


def runs(repository: Repository) -> list[RecordedRun]:
    """Return the recorded runs of this workspace, newest first."""
    return [run for run in _all_runs(repository) if run.prefix == repository.prefix]


def workspaces(repository: Repository) -> list[str]:
    """Return the other workspaces in the repository that have runs, the last used first."""
    prefixes = dict.fromkeys(run.prefix for run in _all_runs(repository))
    return [repository.replace(prefix=prefix).workspace for prefix in prefixes if prefix != repository.prefix]


def _all_runs(repository: Repository) -> list[RecordedRun]:
    found: dict[int, RecordedRun] = {}
    for fields in _lines(repository, MAX_READ):
        number = _number(fields)
        if number is None:
            continue
        match fields:  # a line that was cut off, or is not clada's, is ignored
            case ["start", _, when, what, prefix, before, pre]:
                found.pop(number, None)  # so that the newest run is the last one, whatever its number
                found[number] = RecordedRun(number, when, what, prefix, before, pre)
            case ["did", _, what] if number in found:
                found[number] = found[number].replace(what=what)
            case ["end", _, ended, after, post, kind, *unrecorded] if number in found:
                found[number] = found[number].replace(
                    ended=ended,
                    after=after,
                    post=post,
                    commands=kind == "commands",
                    unrecorded=tuple(unrecorded),
                )
    return list(reversed(found.values()))


def start(repository: Repository, run: RecordedRun) -> RecordedRun:
    """Record that a run starts, and return it with its number."""
    numbers = {_number(fields) or 0 for fields in _lines(repository, MAX_TAIL)}
    numbered = run.replace(number=_next(numbers))
    fields = (str(numbered.number), run.when, run.what[:MAX_WHAT], run.prefix, run.before, run.pre)
    _append(repository, ("start", *fields))
    return numbered


def _next(numbers: set[int]) -> int:
    """Return the next number; if the largest one is taken, any that is free."""
    following = max(numbers, default=0) + 1
    if following <= MAX_NUMBER:
        return following
    return next(number for number in range(1, len(numbers) + 2) if number not in numbers)


def _number(fields: list[str]) -> int | None:
    """Return the number of the run that a line is about; None if it cannot be one."""
    number = read_number(fields[1])
    return number if number is not None and number <= MAX_NUMBER else None


def end(repository: Repository, run: RecordedRun, did: str | None = None) -> None:
    """Record how a run ended, and what it did, if that is not what it was to do."""
    if did is not None and did != run.what:
        _append(repository, ("did", str(run.number), did[:MAX_WHAT]))
    fields = (str(run.number), run.ended, run.after, run.post, "commands" if run.commands else "files")
    _append(repository, ("end", *fields, *_limited(run.unrecorded)))


def _limited(names: tuple[str, ...]) -> list[str]:
    """Return only as many names as leave the last number within MAX_TAIL of the end of the file."""
    total = 0
    for number, name in enumerate(names):
        total += len(name)
        if total > MAX_NAMES:
            return [*names[:number], f"and {len(names) - number} more"]
    return list(names)


def _path(repository: Repository) -> str:
    return os.path.join(repository.git_dir, "clada", "history")


def _lines(repository: Repository, limit: int) -> list[list[str]]:
    try:
        with open(_path(repository), "rb", opener=safe_opener) as file:
            cut = file.seek(0, os.SEEK_END) > limit
            file.seek(-limit if cut else 0, os.SEEK_END if cut else os.SEEK_SET)
            lines = os.fsdecode(file.read(limit)).split("\n")[cut:]
    except FileNotFoundError:
        return []
    split = [line.split("\t") for line in lines if line.startswith(("start\t", "did\t", "end\t"))]
    return [[_unescape(field) for field in fields] for fields in split]


def _append(repository: Repository, fields: tuple[str, ...]) -> None:
    """Add a line in one write; a line before it that a crash cut off is ended first."""
    path = _path(repository)
    make_directory(os.path.dirname(path))  # only this one: a workspace that was deleted is not made anew
    line = os.fsencode("\t".join(_escape(field) for field in fields) + "\n")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with open(handle, "r+b", buffering=0) as file:
        torn = file.seek(0, os.SEEK_END) > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
        file.write(b"\n" + line if torn else line)


def _escape(field: str) -> str:
    for plain, escaped in ESCAPES:
        field = field.replace(plain, escaped)
    return field


def _unescape(field: str) -> str:
    if "\\" not in field:
        return field
    return "\\".join(part.replace("\\t", "\t").replace("\\n", "\n") for part in field.split("\\\\"))
