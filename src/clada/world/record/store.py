"""The store of a workspace: where its runs are recorded, in the git directory or below $XDG_STATE_HOME.

    record.db   runs, task statuses, pending atomic runs, paths left out of commits
    runs/7      the byte journal of run 7 (journal.py)
    seen/       versions of files that a model was shown (seen.py)
    scratch/    files about to be renamed into the workspace

record.db is an sqlite database with journal_mode=PERSIST and synchronous=FULL:

- After kill -9, the next access finds the rollback journal and undoes the unfinished transaction.
- A transaction waits until its rollback journal, the database and the end of the rollback journal are on the
  disk, so that a power cut undoes all of it or nothing.
- The rollback journal needs file locks only. WAL needs memory shared between processes, which network file
  systems do not have.
- PERSIST overwrites the header of the rollback journal where DELETE and TRUNCATE change the directory or the
  size of a file: fewer writes for the same safety.

Each access is one transaction on a connection of its own, so that no connection is used after a fork, and
other processes wait for milliseconds.
"""

from __future__ import annotations

import os
import stat
from contextlib import closing, contextmanager

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection, Error

    from clada.world.git.repository import Repository
    from clada.world.locks import RepositoryLock

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
OWNER_ALL = 0o700
SCRATCH = "scratch"  # the directory for files that are about to take the place of others
MAX_NAME = 60  # characters of a workspace's name in that of its store
DATABASE = "record.db"
VERSION = 1  # of the schema
MAX_VALUE = 1 << 20  # bytes of one value in the database
LOCK_TIMEOUT = 5.0  # seconds to wait for another program that uses the database
# The end of a rollback journal that names a second journal for sqlite to delete. Clada writes none.
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")

# Texts that may hold bytes of file names are blobs, because sqlite's texts must be valid UTF-8.
SCHEMA = (
    """CREATE TABLE runs (
        id INTEGER PRIMARY KEY,  -- in the order in which they started
        number INTEGER NOT NULL UNIQUE,
        started TEXT NOT NULL,
        what BLOB NOT NULL,
        prefix BLOB NOT NULL,  -- of the workspace, below the root of its repository
        record TEXT NOT NULL,  -- commits or snapshots
        undoes INTEGER NOT NULL DEFAULT 0,
        continues INTEGER NOT NULL DEFAULT 0,
        document TEXT NOT NULL DEFAULT '',  -- key of the document, see history.document_key
        pre TEXT NOT NULL DEFAULT '',
        ended TEXT,  -- NULL while it runs, and after a kill
        changed INTEGER NOT NULL DEFAULT 0,
        post TEXT NOT NULL DEFAULT '',
        commands INTEGER NOT NULL DEFAULT 0,
        unrecorded BLOB NOT NULL DEFAULT x''  -- paths, separated by NUL
    )""",
    "CREATE INDEX runs_by_document ON runs (document) WHERE document != ''",
    """CREATE TABLE tasks (
        run INTEGER NOT NULL, position INTEGER NOT NULL, status TEXT NOT NULL, PRIMARY KEY (run, position)
    ) WITHOUT ROWID""",
    "CREATE TABLE pending (run INTEGER PRIMARY KEY, mark INTEGER NOT NULL, prefix BLOB NOT NULL)",
    """CREATE TABLE left_out (  -- of commits: formerly ignored paths, and answers
        reason TEXT NOT NULL, path BLOB NOT NULL, PRIMARY KEY (reason, path)
    ) WITHOUT ROWID""",
)

# What to say of an error, by the beginning of its name in sqlite: the message, and the remedy.
NO_UNDO = "do without undo (--record=none)"
ERRORS = (
    ("SQLITE_BUSY", "is locked by another program", f"end that program, or {NO_UNDO}"),
    ("SQLITE_LOCKED", "is locked by another program", f"end that program, or {NO_UNDO}"),
    ("SQLITE_FULL", "cannot be written: no space left on the disk", f"free some space, or {NO_UNDO}"),
    ("SQLITE_READONLY", "cannot be written", f"give yourself that permission, or {NO_UNDO}"),
    ("SQLITE_CANTOPEN", "cannot be opened", f"give yourself that permission, or {NO_UNDO}"),
    ("SQLITE_CORRUPT", "is damaged", "to start a new one: mv {path} {path}.damaged"),
    ("SQLITE_NOTADB", "is damaged", "to start a new one: mv {path} {path}.damaged"),
    ("SQLITE_ERROR", "is damaged", "to start a new one: mv {path} {path}.damaged"),
)


class Store(Value):
    """A directory that only its user can read, with the database and the journals of runs."""

    path: str
    workspace: str
    prefix: str  # of the workspace, below the root of its repository
    repository: Repository | None = None
    outside: bool = False  # of the git directory, and of this workspace alone

    @property
    def database(self) -> str:
        """The path of the database."""
        return os.path.join(self.path, DATABASE)

    @property
    def exists(self) -> bool:
        """Whether there is a database, or a history as earlier versions wrote it."""
        return any(os.path.lexists(os.path.join(self.path, name)) for name in (DATABASE, "history"))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open the database for queries; it is empty where nothing was recorded."""
        with _errors_of(self.database):
            db = _open_existing(self)
            if db is None and self.exists:
                try:
                    with self.write():
                        pass  # takes over the old history
                    db = _open_existing(self)
                except (OSError, CladaError):
                    db = None  # the directory is read-only
            with closing(db or _new_in_memory(self)) as opened:
                yield opened

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open the database for one transaction, which is committed at the end unless an error is raised."""
        with _errors_of(self.database):
            _check_files(self.database)
            if not os.path.lexists(self.database):
                _create(self.database)
            with closing(_connect(self.database)) as db:
                db.execute("BEGIN IMMEDIATE")
                is_new = _version(db, self.database) == 0
                if is_new:
                    _set_up(db, self)
                yield db
                db.execute("COMMIT")
        if is_new:
            from clada.world.record.old_format import remove_old_files

            remove_old_files(self)

    @property
    def runs(self) -> str:
        """The directory with a journal for each run."""
        return os.path.join(self.path, "runs")

    def clear_scratch(self) -> list[str]:
        """Remove temporary files that killed runs have left, or put them back; return notes on the latter."""
        from clada.world.files.scratch import Scratch

        directories = (os.path.join(self.path, SCRATCH), None)
        restored = [path for directory in directories for path in Scratch(directory).clear()]
        reason = "because clada was killed while it worked on this file"
        return [f"put back, {reason}: {escape_controls(path)}" for path in restored]

    def journal(self, number: int) -> str:
        """Return the path of a run's journal."""
        return os.path.join(self.runs, str(number))

    def was_scanning(self, number: int) -> bool:
        """Whether a run was killed while a command ran, and its changes were not examined since."""
        return os.path.lexists(f"{self.journal(number)}.look")

    def lock(
        self, timeout: float, waiting: Callable[[], None] | None = None, stop: int | None = None
    ) -> RepositoryLock:
        """Return the lock that every run here holds: in a repository, with those of all its work trees."""
        from clada.world.locks import RepositoryLock

        if self.repository:
            return self.repository.lock(timeout, waiting, stop)
        return RepositoryLock(os.path.join(self.path, "lock"), timeout, waiting, stop)

    def make(self, *, durable: bool = False) -> None:
        """Make what is missing of it, for its user alone; `durable`: so that it survives a power cut."""
        make_directories(os.path.dirname(self.path))
        for path in (self.path, self.runs):
            try:
                os.mkdir(path, OWNER_ALL)
                if self.outside:  # in a git directory, each user has a store, and root's stays root's
                    give_to_owner_of_directory(path)
            except FileExistsError:
                check_private(path, shared=self.outside)
            if durable:
                sync_directory(os.path.dirname(path))

    def give_to_owner(self) -> None:
        """Give what root has made here to the owner of the directory that it is in."""
        if os.geteuid() or not self.outside or os.stat(os.path.dirname(self.path)).st_uid == 0:
            return
        for directory, _directories, names in os.walk(self.path):
            for path in (directory, *(os.path.join(directory, name) for name in names)):
                give_to_owner_of_directory(path)

    def make_outside(self) -> None:
        """Make it where it is in no git directory; raise CladaError that names the place."""
        try:
            self.make()
        except OSError as error:
            message = f"cannot keep a record in {escape_controls(self.path)}: {error.strerror}"
            remedy = "set XDG_STATE_HOME to a directory of yours, or do without undo (--record=none)"
            raise CladaError("io_error", message, remedy) from None


def sync_directory(path: str) -> None:
    """Wait until the names in a directory have reached the disk."""
    handle = os.open(path, DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_private(path: str, *, shared: bool = False) -> None:
    """Raise if others could have put files into a directory, or could read it.

    `shared`: root also uses one that belongs to the owner of the directory above, in a home of theirs.
    """
    status, user = os.lstat(path), os.geteuid()
    owners = {user, os.lstat(os.path.dirname(path)).st_uid} if shared and user == 0 else {user}
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners:
        message = f"{escape_controls(path)} is not a directory of yours"
        raise CladaError("io_error", message, "look at it, and remove it")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, OWNER_ALL)


def make_directories(path: str) -> None:
    """Make a directory and those above it, as far as they are missing."""
    if os.path.isdir(path):
        return
    make_directories(os.path.dirname(path))
    try:
        os.mkdir(path)
    except FileExistsError:
        return  # another run was faster
    give_to_owner_of_directory(path)


def give_to_owner_of_directory(path: str) -> None:
    """Give a file that root has made to the owner of its directory, who could not use it else."""
    if os.geteuid() == 0:
        owner = os.stat(os.path.dirname(path))
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


# The database.


@contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Turn errors of sqlite into CladaError, with a remedy."""
    try:
        import sqlite3
    except ImportError:
        message = "this Python has no sqlite3, which records runs"
        raise CladaError("io_error", message, f"use another Python, or {NO_UNDO}") from None
    try:
        yield
    except sqlite3.Error as error:
        raise _error_of(path, error) from None


def _error_of(path: str, error: Error) -> CladaError:
    name = getattr(error, "sqlite_errorname", "")
    plain = escape_controls(path)
    for start, what, remedy in ERRORS:
        if name.startswith(start):
            return CladaError("io_error", f"the record {plain} {what}", remedy.format(path=plain))
    return CladaError("io_error", f"the record {plain} cannot be used: {error}", f"repair this, or {NO_UNDO}")


def _check_files(path: str) -> None:
    """Raise where the database is not a file that clada made: the repository may have brought it along."""
    for each in (path, f"{path}-journal", f"{path}-wal", f"{path}-shm"):
        if os.path.lexists(each) and not stat.S_ISREG(os.lstat(each).st_mode):
            raise CladaError(
                "io_error", f"{escape_controls(each)} is not a file", "look at it, and remove it"
            )
    try:
        with open(f"{path}-journal", "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(SUPER_JOURNAL)))
            end = file.read()
    except OSError:
        return
    if end == SUPER_JOURNAL:
        message = f"{escape_controls(path)}-journal was not written by clada"
        raise CladaError("io_error", message, "look at it, and remove it")


def _create(path: str) -> None:
    """Make an empty file for the database, for its user alone. Sqlite gives its journal the same mode."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return  # another run was faster
    give_to_owner_of_directory(path)


def _open_existing(store: Store) -> Connection | None:
    """Open a database to read it; None where there is none, or no transaction was committed yet."""
    if not os.path.lexists(store.database):
        return None
    _check_files(store.database)
    db = _connect(store.database)
    try:
        if _version(db, store.database):
            return db
    except BaseException:
        db.close()
        raise
    db.close()
    return None


def _connect(path: str) -> Connection:
    import sqlite3

    # Where it can be written, sqlite undoes the unfinished transaction of a killed run first.
    writable = all(os.access(each, os.W_OK) for each in (path, os.path.dirname(path)))
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    address = os.fsencode(f"file:{quoted}?mode={'rw' if writable else 'ro'}")
    db = sqlite3.connect(address, timeout=LOCK_TIMEOUT, isolation_level=None, uri=True)
    try:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "synchronous=FULL"):
            db.execute(f"PRAGMA {setting}")
        if writable:
            db.execute("PRAGMA journal_mode=PERSIST")
    except BaseException:
        db.close()
        raise
    return db


def _version(db: Connection, path: str) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        message = f"the record {escape_controls(path)} was made by a newer version of clada"
        raise CladaError("io_error", message, f"update clada, or {NO_UNDO}")
    return version


def _new_in_memory(store: Store) -> Connection:
    import sqlite3

    db = sqlite3.connect(":memory:", isolation_level=None)
    _set_up(db, store)
    return db


def _set_up(db: Connection, store: Store) -> None:
    """Make the tables, and fill them with what earlier versions have recorded."""
    for statement in SCHEMA:
        db.execute(statement)
    db.execute(f"PRAGMA user_version={VERSION}")
    if os.path.lexists(os.path.join(store.path, "history")):
        from clada.world.record.old_format import take_over

        take_over(db, store)


# Where it is.


def find_store(workspace: str, *, confined: bool = True, named: str | None = None) -> Store:
    """Return where the runs of a workspace are recorded: in its git directory, where that can be written.

    A repository further up that has no file of the workspace is used only if it is `named`, or was before.
    """
    from clada.world.git import repository

    try:
        found = repository.find(workspace, confined=confined, named=named)
    except CladaError:
        if named is not None:
            raise
        return outside_store(workspace)
    inside = in_repository(found)
    if not inside.outside and has_runs(inside):
        return inside
    try:
        return inside if repository.knows_workspace(found) else outside_store(workspace)
    except CladaError:
        if named is not None:
            raise
        return outside_store(workspace)


def in_repository(found: Repository) -> Store:
    """Return where the runs of a workspace in a repository are recorded.

    One that had runs before it was a repository, or in one, goes on with that record: they can be undone.
    """
    path = os.path.join(found.git_dir, "clada", str(os.geteuid()))
    above = next(filter(os.path.lexists, (path, os.path.dirname(path))), found.git_dir)
    if not os.access(above, os.W_OK | os.X_OK):
        return outside_store(found.workspace)
    inside = Store(path, found.workspace, found.prefix, found)
    if has_runs(inside) or not os.path.isdir(os.path.join(state_home(), "clada")):
        return inside
    outside = outside_store(found.workspace)
    return outside.replace(prefix=found.prefix, repository=found) if has_runs(outside) else inside


def around(store: Store) -> Store:
    """Return where the repository around a workspace keeps its own runs, if it has any."""
    from clada.world.git import repository

    try:
        return in_repository(repository.find(store.workspace))
    except CladaError:
        return store


def has_runs(store: Store) -> bool:
    """Return whether a run of this workspace was recorded here; of a repository's root, any in it."""
    if not store.exists:
        return False
    with store.read() as db:
        query = "SELECT 1 FROM runs WHERE ? IN (x'', prefix) LIMIT 1"
        return bool(db.execute(query, (os.fsencode(store.prefix),)).fetchall())


def outside_store(workspace: str) -> Store:
    """Return where runs are recorded whose repository is not to be used, or cannot be."""
    real = os.path.realpath(workspace)
    plain = "".join(char if char.isalnum() else "-" for char in os.path.basename(real))[:MAX_NAME]
    name = f"{plain}-{name_for(real)}"
    return Store(os.path.join(state_home(), "clada", name), real, "", outside=True)


def name_for(path: str) -> str:
    """Return a short name that stands for a path, and for no other."""
    from hashlib import sha256

    return sha256(os.fsencode(path)).hexdigest()[:16]
