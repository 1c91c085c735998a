"""The versions of files that a model was shown, by a pack or a read: what a stale answer was written for.

    record.db, table seen    path, time and digest of each version, and where its bytes are
    seen/1789                the bytes of one pack, or of one read, one file after the other

Bytes that are already there are not written again. Versions are pruned with the history. Nothing depends on
them: without the store, or if a version is gone, an answer that does not fit fails as it would without them.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from clada.errors import CladaError, reason
from clada.values import Value
from clada.world.record.states import digest_of
from clada.world.record.store import DIRECTORY, Store, find_store, give_to_owner_of_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

FOLDER = "seen"
HISTORY_SIZE, HISTORY_AGE = 1 << 30, 90 * 24 * 3600.0  # as of recorded runs
MOST_VERSIONS = 50  # of one path that are looked at
LARGEST = 16 << 20  # bytes of a file that is remembered
# Made when it is first needed: databases of earlier versions do not have it.
SCHEMA = (
    """CREATE TABLE IF NOT EXISTS seen (
        path BLOB NOT NULL, prefix BLOB NOT NULL, at REAL NOT NULL, digest TEXT NOT NULL, file TEXT NOT NULL,
        start INTEGER NOT NULL, size INTEGER NOT NULL, PRIMARY KEY (path, prefix, digest)
    )""",
    "CREATE INDEX IF NOT EXISTS seen_by_digest ON seen (digest)",
)


class SeenVersion(Value):
    """A version of a file that a model was shown."""

    content: bytes
    at: float  # seconds since the epoch


def remember(workspace: str, files: Sequence[tuple[str, bytes]]) -> str | None:
    """Remember files that a model is shown; return a note if that is not possible."""
    try:
        store = find_store(workspace)
        store.make_outside() if store.outside else store.make()
        _write(store, files)
        prune(store, HISTORY_SIZE, HISTORY_AGE)
    except CladaError as error:
        return f"not remembered for merging: {error.error.message}"
    except OSError as error:
        return f"not remembered for merging: {reason(error)}"
    return None


def _write(store: Store, files: Sequence[tuple[str, bytes]]) -> None:
    folder, now = os.path.join(store.path, FOLDER), time.time()
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        give_to_owner_of_directory(folder)
    name, pieces, end = str(time.time_ns()), list[bytes](), 0
    rows, kept = [], set[str]()
    with store.write() as db:
        for statement in SCHEMA:
            db.execute(statement)
        for path, content in files:
            if len(content) > LARGEST:
                continue
            digest = digest_of(content)
            known = _known(db, folder, digest, kept)
            if known is None:
                known = name, end, len(content)
                pieces.append(content)
                end += len(content)
            rows.append((os.fsencode(path), os.fsencode(store.prefix), now, digest, *known))
        if pieces:
            _write_pieces(os.path.join(folder, name), pieces)
        db.executemany("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _known(db: Connection, folder: str, digest: str, kept: set[str]) -> tuple[str, int, int] | None:
    """Return where bytes are that were written before; their file is kept as long as a new one."""
    query = "SELECT file, start, size FROM seen WHERE digest = ? AND file != '' LIMIT 1"
    for file, start, size in db.execute(query, (digest,)):
        with suppress(OSError):
            if file not in kept:
                os.utime(os.path.join(folder, str(file)), follow_symlinks=False)
                kept.add(file)
            return str(file), int(start), int(size)
    return None


def _write_pieces(path: str, pieces: Sequence[bytes]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        file.writelines(pieces)
    give_to_owner_of_directory(path)


def versions(store: Store, path: str) -> tuple[list[SeenVersion], bool]:
    """Return the versions of a file that were shown, newest first, and whether others were and are gone."""
    if not os.path.isdir(os.path.join(store.path, FOLDER)):
        return [], False
    with store.read() as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'seen'").fetchall():
            return [], False
        query = """SELECT at, digest, file, start, size FROM seen WHERE path = ? AND prefix = ?
            ORDER BY at DESC LIMIT ?"""
        values = (os.fsencode(path), os.fsencode(store.prefix), MOST_VERSIONS)
        rows = db.execute(query, values).fetchall()
    found = []
    for at, digest, file, start, size in rows:
        content = _read(os.path.join(store.path, FOLDER), str(file), int(start), int(size))
        if digest_of(content) == digest:
            found.append(SeenVersion(content, float(at)))
    return found, len(found) < len(rows)


def _read(folder: str, name: str, start: int, size: int) -> bytes:
    """Return bytes of a file in the folder; nothing if it is gone. The rows may come from a repository."""
    if not name.isdigit() or not 0 <= size <= LARGEST or start < 0:
        return b""
    try:
        inside = os.open(folder, DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return b""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
        with open(handle, "rb") as file:
            file.seek(start)
            return file.read(size)
    except OSError:
        return b""
    finally:
        os.close(inside)


def prune(store: Store, size: int, age: float) -> None:
    """Remove versions that are too old, and the oldest of those that take too much."""
    folder = os.path.join(store.path, FOLDER)
    try:
        files = sorted(
            ((entry.stat(follow_symlinks=False), entry.name) for entry in os.scandir(folder)),
            key=lambda file: -file[0].st_mtime,
        )
    except FileNotFoundError:
        return
    total, gone = 0, list[str]()
    for position, (status, name) in enumerate(files):
        total += status.st_blocks * 512
        if position and (total > size or status.st_mtime < time.time() - age):
            gone.append(name)
    if not gone:
        return
    with store.write() as db:
        for statement in SCHEMA:
            db.execute(statement)
        # The rows stay for a while, so that a failure can say that its version is gone.
        db.executemany("UPDATE seen SET file = '' WHERE file = ?", [(name,) for name in gone])
        db.execute("DELETE FROM seen WHERE file = '' AND at < ?", (time.time() - 2 * age,))
    for name in gone:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
