"""File locks: the file that the user names, and the one that makes runs in a repository wait for each other.

All of them are `fcntl.flock` locks: the system releases them when their holder dies, and programs that use
flock(1) or the filelock package on the same file are excluded too.
"""

from __future__ import annotations

import fcntl
import os
import select
import time

from clada.errors import CladaError, Error, system_words
from clada.world.handles import make_shared_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from abc import abstractmethod
    from collections.abc import Callable
    from typing import Literal, Self

POLL = 0.02  # seconds between two attempts
# O_NOFOLLOW: the name must not lead to a file elsewhere. O_NONBLOCK: a pipe would wait for a writer.
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def try_flock(handle: int) -> bool:
    """Lock an open file or directory for this process alone; return False when another one holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # some file systems answer EACCES
        return False
    return True


def is_locked(path: str) -> bool:
    """Whether another process holds the lock of a file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def wait_for_lock(
    attempt: Callable[[], bool],
    timeout: float,
    waiting: Callable[[], None] | None = None,
    stop: int | None = None,
) -> Literal["held", "timed out", "stopped"]:
    """Repeat an attempt until it succeeds or the timeout is over; call `waiting` once if the first one fails.

    `stop` is a handle that becomes readable when the run must end.
    """
    end = time.monotonic() + timeout
    if attempt():
        return "held"
    if waiting is not None:
        waiting()
    while time.monotonic() < end:
        if _pause(stop):
            return "stopped"
        if attempt():
            return "held"
    return "timed out"


def _pause(stop: int | None) -> bool:
    """Wait until the next attempt is due; return whether the run must end."""
    if stop is None:
        time.sleep(POLL)
        return False
    poll = select.poll()
    poll.register(stop, select.POLLIN)
    return bool(poll.poll(POLL * 1000))


class _Lock:
    """A context in which a file is locked. The file is made if it is missing, and never removed."""

    _name = ""  # of what is locked, for messages; without one, it is the path

    def __init__(
        self,
        path: str,
        timeout: float,
        waiting: Callable[[], None] | None = None,
        stop: int | None = None,
    ) -> None:
        self._path = path
        self._timeout, self._waiting, self._stop = timeout, waiting, stop
        self._handle: int | None = None

    def __enter__(self) -> Self:
        result = wait_for_lock(self._attempt, self._timeout, self._waiting, self._stop)
        name = self._name or self._path
        if result == "stopped":
            raise CladaError("lock_timeout", f"interrupted while waiting for the lock of {name}")
        if result == "timed out":
            raise CladaError(
                "lock_timeout",
                f"waited {self._timeout:g} s for the lock of {name}",
                "wait for the other run to end, or allow more time with --lock-timeout",
            )
        return self

    def __exit__(self, *_exception: object) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough where a fork of the host has a copy
        finally:
            os.close(handle)

    def _attempt(self) -> bool:
        """Open the file and lock it. It is opened anew each time, as it may have been replaced meanwhile."""
        try:
            handle = _open(self._path)
            try:
                # A file that was deleted before it was locked is no longer what others would lock.
                held = try_flock(handle) and os.fstat(handle).st_nlink > 0
            except BaseException:
                os.close(handle)
                raise
        except BlockingIOError:  # another process is just giving up a lease on the file
            return False
        except OSError as error:
            raise self._refusal(error) from None
        if held:
            self._handle = handle
        else:
            os.close(handle)
        return held

    if TYPE_CHECKING:

        @abstractmethod
        def _refusal(self, error: OSError) -> CladaError:
            """Return what to say when the system refuses to open or lock the file."""


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS)
    except PermissionError:  # another user made it, for us to read
        return os.open(path, _FLAGS & ~os.O_RDWR)
    except FileNotFoundError:  # only now O_CREAT: in /tmp it is refused for a file of another user
        return os.open(path, _FLAGS | os.O_CREAT, 0o666)


def _share(handle: int | None, directory: str) -> None:
    """Let all users hold a lock who may write in its directory; its owner sets the mode."""
    mode = os.stat(directory).st_mode & 0o022
    if handle is not None and mode and os.fstat(handle).st_uid == os.geteuid():
        os.fchmod(handle, 0o644 | mode)


class LockFile(_Lock):
    """Holds the lock of a file that the user named, while executing."""

    def __enter__(self) -> Self:
        # A missing directory is not made: a mistyped path would never meet another run.
        directory = os.path.dirname(self._path)
        if directory and not os.path.isdir(directory):
            raise self._error(f"there is no directory {directory}", "make it, or name another --lock-file")
        return super().__enter__()

    def _refusal(self, error: OSError) -> CladaError:
        return self._error(system_words(error), "name another --lock-file")

    def _error(self, why: str, hint: str) -> CladaError:
        return CladaError.of(Error("io_error", f"cannot lock {self._path}: {why}", hint, stage="LOCK"))


class RepositoryLock(_Lock):
    """Makes runs in one repository wait for each other, by the file `lock` in clada's directory there."""

    _name = "this repository: another clada run is using it"

    def __enter__(self) -> Self:
        try:
            make_shared_directory(os.path.dirname(self._path))
            held = super().__enter__()
            _share(self._handle, os.path.dirname(self._path))
        except OSError as error:
            raise self._refusal(error) from None
        return held

    def _refusal(self, error: OSError) -> CladaError:
        message = f"cannot write in the git directory: {error.strerror}"
        return CladaError("git_operation_failed", message, "give yourself that permission")
