"""The history of a workspace: the runs in its store, newest first, and how far each came with its document.

Values from the database are checked before they are used, because a repository may bring one along.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from zlib import crc32

from clada.grammar import read_number
from clada.values import Value
from clada.world.locks import is_locked
from clada.world.record import seen
from clada.world.record.store import (
    Store,
    check_private,
    find_store,
    give_to_owner_of_directory,
    make_directories,
    name_for,
    outside_store,
)
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

MAX_NAMES = 32 << 10  # characters of the paths that undo cannot bring back, in one row
MAX_WHAT = 1000  # characters of the description of a run
MAX_RUNS = 100_000  # rows that are read; older ones are left out
MAX_NUMBER = 999_999_999  # of a run; clada has not written a larger one
PRUNE_EVERY = 32  # runs
MARKER_TRIES = 100  # more than runs are likely to end while one begins
OWNER_ALL, OWNER_ONLY = 0o700, 0o600
HEX = frozenset("0123456789abcdef")
RECORDS = ("commits", "snapshots")
ENDS = ("ok", "failed", "interrupted", "killed", "running")
COLUMNS = """number, started, what, prefix, record, undoes, continues, pre, ended, changed, post, commands,
    unrecorded"""


class RecordedRun(Value):
    """One recorded run."""

    number: int
    when: str
    what: str
    prefix: str  # of its workspace, below the repository's root
    record: str = "commits"  # or snapshots
    undoes: int = 0  # the run that it reverts, if it is an undo
    continues: int = 0  # the interrupted undo that this one completes
    pre: str = ""  # the commit made before it, if any
    ended: str = "killed"  # ok, failed, interrupted; killed or running, if its end was not recorded
    changed: int = 0  # paths that it changed, or may have changed
    post: str = ""  # the commit made after it, if any
    commands: bool = False  # whether it ran commands, which can do things that no record shows
    unrecorded: tuple[str, ...] = ()  # paths that it changed and undo cannot bring back

    @property
    def commits(self) -> tuple[str | None, str | None]:
        """The commits that were made for it."""
        return self.pre or None, self.post or None


# Queries.


def runs(store: Store) -> list[RecordedRun]:
    """Return the recorded runs of this workspace, newest first."""
    return [_with_current_end(store, run) for run in _select_here(store)]


def all_runs(store: Store) -> list[RecordedRun]:
    """Return the recorded runs of all workspaces in this store, newest first."""
    return _select(store)


def run_with_number(store: Store, number: int) -> RecordedRun | None:
    """Return the run of this workspace that has a number."""
    found = _select_here(store, "number = :number", number=number)
    return _with_current_end(store, found[0]) if found else None


def last_number(store: Store) -> int:
    """Return the number of the last run of this workspace; 0 if there is none."""
    found = _select_here(store, limit=1)
    return found[0].number if found else 0


def other_workspaces(store: Store) -> list[str]:
    """Return the other workspaces in the repository that have runs, the last used first."""
    others = () if store.outside else (run for run in all_runs(store) if run.prefix != store.prefix)
    prefixes = dict.fromkeys(run.prefix for run in others)
    root = store.workspace.removesuffix(f"/{store.prefix}".rstrip("/")) if store.prefix else store.workspace
    return [os.path.join(root, prefix).rstrip("/") for prefix in prefixes]


def _select_here(
    store: Store, which: str = "TRUE", limit: int | None = None, **values: object
) -> list[RecordedRun]:
    """Return those of the runs that were in this workspace, and not in another part of its repository."""
    where = f"WHERE {which} AND prefix = :prefix" if not store.outside else f"WHERE {which}"
    return _select(store, where, limit, prefix=os.fsencode(store.prefix), **values)


def _select(store: Store, where: str = "", limit: int | None = None, **values: object) -> list[RecordedRun]:
    query = f"SELECT {COLUMNS} FROM runs {where} ORDER BY id DESC LIMIT :limit"  # noqa: S608 (constants only)
    with store.read() as db:
        rows = db.execute(query, {**values, "limit": limit or MAX_RUNS}).fetchall()
    return [run for row in rows if (run := _run_of(row))]


def _run_of(row: Sequence[Any]) -> RecordedRun | None:
    """Return the run in a row; None if clada cannot have written it."""
    number, when, what, prefix, record, undoes, continues, pre, ended, changed, post, commands, paths = row
    if not _reference(number):
        return None
    return RecordedRun(
        number,
        _text(when),
        _text(what),
        _text(prefix),
        record if record in RECORDS else "snapshots",
        _reference(undoes),
        _reference(continues),
        _commit(pre),
        "killed" if ended is None else ended if ended in ENDS else "failed",
        changed if isinstance(changed, int) and changed > 0 else 0,
        _commit(post),
        commands == 1,
        tuple(filter(None, _text(paths).split("\0"))),
    )


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _reference(value: object) -> int:
    return value if isinstance(value, int) and 0 < value <= MAX_NUMBER else 0


def _commit(value: object) -> str:
    """Return the name of a commit; nothing if it cannot be one."""
    return value if isinstance(value, str) and len(value) in (40, 64) and HEX.issuperset(value) else ""


def _with_current_end(store: Store, run: RecordedRun) -> RecordedRun:
    """Return a run without an end as `running`, if its process still holds the lock of its journal."""
    if run.ended == "killed" and is_locked(store.journal(run.number)):
        return run.replace(ended="running")
    return run


def next_number(store: Store) -> int:
    """Return the number of the next run; if the largest one is taken, any that is free."""
    with store.read() as db:
        query = "SELECT max(number) FROM runs WHERE number BETWEEN 1 AND ?"
        following = (db.execute(query, (MAX_NUMBER,)).fetchone()[0] or 0) + 1
    while following <= MAX_NUMBER and os.path.lexists(store.journal(following)):
        following += 1  # a run was killed before it was in the history
    if following <= MAX_NUMBER:
        return following
    taken = {run.number for run in all_runs(store)}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


# Changes.


def start(store: Store, run: RecordedRun, document: bytes = b"") -> None:
    """Record that a run starts."""
    with store.write() as db:
        db.execute(
            """INSERT INTO runs (number, started, what, prefix, record, undoes, continues, pre, document)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                run.number,
                run.when,
                _what(run.what),
                os.fsencode(run.prefix),
                run.record,
                run.undoes,
                run.continues,
                run.pre,
                document_key(document),
            ),
        )


def add_pre(store: Store, number: int, commit: str) -> None:
    """Record the commit that was made before the first change of a run."""
    with store.write() as db:
        db.execute("UPDATE runs SET pre = ? WHERE number = ?", (commit, number))


def end(store: Store, run: RecordedRun, did: str | None = None, statuses: Iterable[str] = ()) -> None:
    """Record how a run and its tasks ended, and what it did, if that is not what it was to do."""
    with store.write() as db:
        db.execute(
            """UPDATE runs SET what = ?, ended = ?, changed = ?, post = ?, commands = ?, unrecorded = ?
            WHERE number = ?""",
            (
                _what(run.what if did is None else did),
                run.ended,
                run.changed,
                run.post,
                run.commands,
                os.fsencode("\0".join(_limited(run.unrecorded))),
                run.number,
            ),
        )
        db.execute("DELETE FROM tasks WHERE run = ?", (run.number,))
        rows = [(run.number, position, status) for position, status in enumerate(statuses)]
        db.executemany("INSERT INTO tasks (run, position, status) VALUES (?, ?, ?)", rows)


def _what(text: str) -> bytes:
    return text[:MAX_WHAT].encode(errors="surrogateescape")


def _limited(names: tuple[str, ...]) -> list[str]:
    """Return the first names, as many as one row takes, and how many there are more."""
    total = 0
    for number, name in enumerate(names):
        total += len(name)
        if total > MAX_NAMES:
            return [*names[:number], f"and {len(names) - number} more"]
    return list(names)


def prune(store: Store, size: int, age: float) -> int:
    """Forget the runs that are too old, and the oldest of those that take too much; return how many.

    The last run stays, even if it is too large or too old.
    """
    limit, total, forgotten = time.time() - age, 0, list[int]()
    numbers = sorted(filter(None, map(read_number, os.listdir(store.runs))), reverse=True)
    for position, number in enumerate(numbers):
        status = os.lstat(store.journal(number))
        total += status.st_blocks * 512 + 512
        if position and (total > size or status.st_mtime < limit):
            forgotten.append(number)
    for number in forgotten:
        _remove_journal(store.journal(number))
    if forgotten:
        with store.write() as db:
            for table, column in (("runs", "number"), ("tasks", "run")):
                query = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608 (constants only)
                db.executemany(query, [(number,) for number in forgotten])
    seen.prune(store, size, age)
    return len(forgotten)


def _remove_journal(journal: str) -> None:
    """Remove a journal, and the scan that a killed run had beside it."""
    for path in (journal, f"{journal}.look", f"{journal}.index"):
        with suppress(FileNotFoundError):
            os.unlink(path)


# Documents.


def document_key(document: bytes) -> str:
    """Return a key by which the runs of a document are found; few others have the same."""
    return f"{len(document)}:{crc32(document):08x}" if document else ""


def runs_with_key(store: Store, document: bytes) -> list[RecordedRun]:
    """Return the runs here whose document has the key of this one, newest first."""
    found = _select_here(store, "document = :key AND undoes = 0", key=document_key(document))
    return [_with_current_end(store, run) for run in found]


def task_statuses(store: Store, number: int) -> tuple[str, ...]:
    """Return how the tasks of a run ended; nothing if it was killed before that was recorded."""
    with store.read() as db:
        rows = db.execute("SELECT status FROM tasks WHERE run = ? ORDER BY position", (number,)).fetchall()
    return tuple(_text(status) for (status,) in rows)


# Pending runs: atomic runs that have begun and not ended. The next run rolls them back if they were killed.
# An empty marker file in a directory of the user says that there is one, so that a run without a record
# need not open a database.


class PendingRun(Value):
    """An atomic run without an end, and the mark in its journal since which it is rolled back."""

    store: Store
    number: int
    mark: int


def add_pending(store: Store, number: int, mark: int) -> None:
    """Record that something atomic begins."""
    _make_marker(store)  # first: without it, the row would not be found
    with store.write() as db:
        values = (number, mark, os.fsencode(store.prefix))
        db.execute("INSERT OR REPLACE INTO pending (run, mark, prefix) VALUES (?, ?, ?)", values)


def _make_marker(store: Store) -> None:
    directory = _marker_directory()
    make_directories(os.path.dirname(directory))
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    for attempt in range(MARKER_TRIES):
        try:
            os.mkdir(directory, OWNER_ALL)
            give_to_owner_of_directory(directory)
        except FileExistsError:
            check_private(directory, shared=True)
        try:
            os.close(os.open(marker_of(store), flags, OWNER_ONLY))
            give_to_owner_of_directory(marker_of(store))
            break
        except FileNotFoundError:  # a run that ends just now has removed the directory
            if attempt == MARKER_TRIES - 1:
                raise


def remove_pending(store: Store, number: int) -> None:
    """Record that an atomic part has ended, or was rolled back."""
    with store.write() as db:
        db.execute("DELETE FROM pending WHERE run = ?", (number,))
        if db.execute("SELECT 1 FROM pending").fetchall():
            return
    for path, act in ((marker_of(store), os.unlink), (_marker_directory(), os.rmdir)):
        try:
            act(path)
        except OSError:
            return  # it is gone, or there are others


def pending_run(workspace: str) -> PendingRun | None:
    """Return the run that is pending in a workspace, even if it is still running."""
    try:
        real = os.path.realpath(workspace)
    except FileNotFoundError:
        return None  # a relative path, and the current directory is gone: opening the workspace says so
    for store in (find_store(real), outside_store(real)):
        if not os.path.lexists(marker_of(store)) or not store.exists:
            continue
        with store.read() as db:
            query = "SELECT run, mark FROM pending WHERE prefix = ? ORDER BY run DESC"
            rows = db.execute(query, (os.fsencode(store.prefix),)).fetchall()
        for number, mark in rows:
            if isinstance(number, int) and isinstance(mark, int) and number > 0 < mark:
                return PendingRun(store, number, mark)
    return None


def _marker_directory() -> str:
    return os.path.join(state_home(), "clada", "pending")


def marker_of(store: Store) -> str:
    """Return the path of the marker file of a store."""
    return os.path.join(_marker_directory(), name_for(store.path))
