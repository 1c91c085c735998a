"""The history of a workspace: lines when a run starts, commits, did less than planned, and ends; its pruning.

Whatever stands in the file is checked before anything is made of it: somebody may have planted it.
"""

from __future__ import annotations

import os

from clada.grammar import read_number
from clada.values import Value
from clada.world.record.journal import escape_field, unescape_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.record.store import Store

MAX_READ = 16 << 20  # bytes, from the end: older runs are left out
MAX_TAIL = 256 << 10  # bytes in which the last number is looked for
MAX_NAMES = 32 << 10  # characters of names in a line
MAX_WHAT = 1000
MAX_NUMBER = 999_999_999  # of a run; clada has not written a larger one
PRUNE_EVERY = 32  # runs
HEX = frozenset("0123456789abcdef")
KINDS = ("start\t", "pre\t", "did\t", "end\t")  # of lines
RECORDS = ("commits", "snapshots")
ENDS = ("ok", "failed", "interrupted", "killed", "running")


class RecordedRun(Value):
    """One recorded run."""

    number: int
    when: str
    what: str
    prefix: str  # of its workspace, below the repository's root
    record: str = "commits"  # or snapshots
    undoes: int = 0  # the run that it takes back, if it is an undo
    continues: int = 0  # the undo that was stopped half way, and that this one brings to its end
    pre: str = ""  # the commit made before it, if any
    ended: str = "killed"  # ok, failed, interrupted; killed or running, if its end was not recorded
    changed: int = 0  # places that it changed, or may have changed
    post: str = ""  # the commit made after it, if any
    commands: bool = False  # whether it ran commands, which can do things that no record shows
    unrecorded: tuple[str, ...] = ()  # what it touched and undo cannot bring back

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that were made for it."""
        return self.pre or None, self.post or None


def runs(store: Store, limit: int | None = None) -> list[RecordedRun]:
    """Return the recorded runs of this workspace, newest first; of the last `limit` bytes of the history."""
    return [_as_it_is(store, run) for run in all_runs(store, limit) if _is_of(store, run)]


def workspaces(store: Store) -> list[str]:
    """Return the other workspaces in the repository that have runs, the last used first."""
    prefixes = dict.fromkeys(run.prefix for run in all_runs(store) if not _is_of(store, run))
    root = store.workspace.removesuffix(f"/{store.prefix}".rstrip("/")) if store.prefix else store.workspace
    return [os.path.join(root, prefix).rstrip("/") for prefix in prefixes]


def _is_of(store: Store, run: RecordedRun) -> bool:
    """Whether a run was in this workspace, and not in another part of its repository."""
    return store.outside or run.prefix == store.prefix


def _as_it_is(store: Store, run: RecordedRun) -> RecordedRun:
    """Return a run without an end as one that is still going, if it is."""
    if run.ended != "killed":
        return run
    from clada.world.locks import is_locked

    return run.replace(ended="running") if is_locked(store.journal(run.number)) else run


def all_runs(store: Store, limit: int | None = None) -> list[RecordedRun]:
    """Return the recorded runs of all workspaces in this record, newest first; of the last `limit` bytes."""
    found: dict[int, RecordedRun] = {}
    for fields in _lines(store, limit or MAX_READ):
        number = _number(fields)
        if number is None:
            continue
        match fields:  # a line that was cut off, or is not clada's, is ignored
            case ["start", _, when, what, prefix, record, undoes, continues, pre]:
                found.pop(number, None)  # so that the newest run is the last one, whatever its number
                found[number] = RecordedRun(
                    number,
                    when,
                    what,
                    prefix,
                    record if record in RECORDS else "snapshots",
                    _reference(undoes),
                    _reference(continues),
                    _commit(pre),
                )
            case ["pre", _, commit] if number in found:
                found[number] = found[number].replace(pre=_commit(commit))
            case ["did", _, what] if number in found:
                found[number] = found[number].replace(what=what)
            case ["end", _, ended, changed, post, kind, *unrecorded] if number in found:
                found[number] = found[number].replace(
                    ended=ended if ended in ENDS else "failed",
                    changed=read_number(changed) or 0,
                    post=_commit(post),
                    commands=kind == "commands",
                    unrecorded=tuple(unrecorded),
                )
    return list(reversed(found.values()))


def _reference(text: str) -> int:
    number = read_number(text)
    return number if number and number <= MAX_NUMBER else 0


def _commit(text: str) -> str:
    """Return the name of a commit; nothing if it cannot be one."""
    return text if len(text) in (40, 64) and HEX.issuperset(text) else ""


def next_number(store: Store) -> int:
    """Return the number of the next run; if the largest one is taken, any that is free."""
    numbers = {_number(fields) or 0 for fields in _lines(store, MAX_TAIL)}
    following = max(numbers, default=0) + 1
    while following <= MAX_NUMBER and os.path.lexists(store.journal(following)):
        following += 1  # a run was killed before it was in the history
    if following <= MAX_NUMBER:
        return following
    return next(number for number in range(1, len(numbers) + 2) if number not in numbers)


def _number(fields: list[str]) -> int | None:
    """Return the number of the run that a line is about; None if it cannot be one."""
    number = read_number(fields[1]) if len(fields) > 1 else None
    return number if number is not None and 0 < number <= MAX_NUMBER else None


def start(store: Store, run: RecordedRun, *, durable: bool = False) -> None:
    """Record that a run starts."""
    fields = (run.when, run.what[:MAX_WHAT], run.prefix, run.record)
    line = ("start", str(run.number), *fields, str(run.undoes), str(run.continues), run.pre)
    _append(store, line, durable=durable)


def add_pre(store: Store, number: int, commit: str) -> None:
    """Record the commit that was made before the first change of a run."""
    _append(store, ("pre", str(number), commit))


def end(store: Store, run: RecordedRun, did: str | None = None) -> None:
    """Record how a run ended, and what it did, if that is not what it was to do."""
    if did is not None and did != run.what:
        _append(store, ("did", str(run.number), did[:MAX_WHAT]))
    fields = (run.ended, str(run.changed), run.post, "commands" if run.commands else "files")
    _append(store, ("end", str(run.number), *fields, *_limited(run.unrecorded)))


def _limited(names: tuple[str, ...]) -> list[str]:
    """Return only as many names as leave the last number within MAX_TAIL of the end of the file."""
    total = 0
    for number, name in enumerate(names):
        total += len(name)
        if total > MAX_NAMES:
            return [*names[:number], f"and {len(names) - number} more"]
    return list(names)


# Pruning.


def prune(store: Store, size: int, age: float) -> int:
    """Forget the runs that are too old, and the oldest of those that take too much; return how many.

    The last run stays, whatever its size and age.
    """
    import time

    limit, total, kept = time.time() - age, 0, set[int]()
    numbers = sorted(filter(None, map(read_number, os.listdir(store.runs))), reverse=True)
    for position, number in enumerate(numbers):
        path = store.journal(number)
        status = os.lstat(path)
        total += status.st_blocks * 512 + 512
        if position and (total > size or status.st_mtime < limit):
            _forget(path)
        else:
            kept.add(number)
    if len(kept) < len(numbers):
        _rewrite(store, kept)
    return len(numbers) - len(kept)


def _forget(journal: str) -> None:
    """Remove a journal, and what a killed run had beside it."""
    for path in (journal, f"{journal}.look", f"{journal}.index"):
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue


def _rewrite(store: Store, kept: set[int]) -> None:
    """Keep the lines of these runs only."""
    from clada.world.files.atomic import put
    from clada.world.handles import open_directory

    lines = [
        "\t".join(map(escape_field, fields)) for fields in _lines(store, MAX_READ) if _number(fields) in kept
    ]
    folder = open_directory(store.path)
    try:
        put(folder, "history", os.fsencode("".join(f"{line}\n" for line in lines)))
    finally:
        os.close(folder)


# The file.


def _path(store: Store) -> str:
    return os.path.join(store.path, "history")


def _lines(store: Store, limit: int) -> list[list[str]]:
    try:
        handle = os.open(_path(store), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with open(handle, "rb") as file:
        cut = file.seek(0, os.SEEK_END) > limit
        file.seek(-limit if cut else 0, os.SEEK_END if cut else os.SEEK_SET)
        lines = os.fsdecode(file.read(limit)).split("\n")[cut:]
    split = [line.split("\t") for line in lines if line.startswith(KINDS)]
    return [[unescape_field(field) for field in fields] for fields in split]


def _append(store: Store, fields: tuple[str, ...], *, durable: bool = False) -> None:
    """Add a line in one write; a line before it that a crash cut off is ended first."""
    line = os.fsencode("\t".join(map(escape_field, fields)) + "\n")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(_path(store), flags, 0o600), "r+b", buffering=0) as file:
        torn = file.seek(0, os.SEEK_END) > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
        file.write(b"\n" + line if torn else line)
        if durable:
            os.fsync(file.fileno())
