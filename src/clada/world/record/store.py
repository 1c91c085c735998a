"""Where the record of a workspace is: privately in the git directory, or below $XDG_STATE_HOME."""

from __future__ import annotations

import os
import stat

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.world.git.repository import Repository
    from clada.world.locks import RepositoryLock

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
OWNER_ALL = 0o700
SCRATCH = "scratch"  # the directory for files that are about to take the place of others
MAX_NAME = 60  # characters of a workspace's name in that of its record


class Store(Value):
    """A directory that only its user can look into, with the history and the journals of runs."""

    path: str
    workspace: str
    prefix: str  # of the workspace, below the root of its repository
    repository: Repository | None = None
    outside: bool = False  # of the git directory, and of this workspace alone

    @property
    def has_history(self) -> bool:
        """Whether a run was ever recorded in it."""
        return os.path.lexists(os.path.join(self.path, "history"))

    @property
    def runs(self) -> str:
        """The directory with a journal for each run."""
        return os.path.join(self.path, "runs")

    def clear_scratch(self) -> None:
        """Remove what killed runs have left of files that they were writing."""
        from clada.world.files.scratch import Scratch

        for directory in (os.path.join(self.path, SCRATCH), None):
            Scratch(directory).clear()

    def journal(self, number: int) -> str:
        """Return the path of a run's journal."""
        return os.path.join(self.runs, str(number))

    def was_looking(self, number: int) -> bool:
        """Whether a run was killed while a command ran, and nobody has looked since what that has changed."""
        return os.path.lexists(f"{self.journal(number)}.look")

    def lock(
        self, timeout: float, waiting: Callable[[], None] | None = None, stop: int | None = None
    ) -> RepositoryLock:
        """Return the lock that every run here holds: in a repository, with those of all its work trees."""
        from clada.world.locks import RepositoryLock

        if self.repository:
            return self.repository.lock(timeout, waiting, stop)
        return RepositoryLock(self.path, timeout, waiting, stop)

    def make(self, *, durable: bool = False) -> None:
        """Make what is missing of it, for its user alone; `durable`: so that it survives a power cut."""
        above = os.path.dirname(self.path)
        if not os.path.isdir(above):
            os.makedirs(above, exist_ok=True)
        for path in (self.path, self.runs):
            try:
                os.mkdir(path, OWNER_ALL)
            except FileExistsError:
                check_private(path)
            if durable:
                sync_directory(os.path.dirname(path))

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


def check_private(path: str) -> None:
    """Raise where others could have put something into a directory, or could look into it."""
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        message = f"{escape_controls(path)} is not a directory of yours"
        raise CladaError("io_error", message, "look at it, and remove it")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, OWNER_ALL)


def find_store(workspace: str, *, confined: bool = True, named: str | None = None) -> Store:
    """Return where the runs of a workspace are recorded: in its git directory, where that can be written.

    A repository further up that has no file of the workspace is used only if it is `named`, or was before.
    """
    from clada.world.git import repository

    try:
        found = repository.find(workspace, confined=confined, named=named)
        store = in_repository(found)
        if (not store.outside and _has_runs(store)) or repository.knows_workspace(found):
            return store
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
    if _has_runs(inside) or not os.path.isdir(os.path.join(state_home(), "clada")):
        return inside
    outside = outside_store(found.workspace)
    return outside.replace(prefix=found.prefix, repository=found) if outside.has_history else inside


def around(store: Store) -> Store:
    """Return where the repository around a workspace keeps its own runs, if it has any."""
    from clada.world.git import repository

    try:
        return in_repository(repository.find(store.workspace))
    except CladaError:
        return store


def _has_runs(store: Store) -> bool:
    """Return whether a run of this workspace was ever recorded here; of a repository's root, any in it."""
    if not store.prefix or not store.has_history:
        return store.has_history
    from clada.world.record.history import all_runs

    return any(run.prefix == store.prefix for run in all_runs(store))


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
