"""Locks: the file that the user names, and the one that makes runs in one repository wait for each other."""

from __future__ import annotations

import os
import time

from clada.errors import Error, Trouble, system_words
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from filelock import BaseFileLock

POLL = 0.05  # seconds


class LockFile:
    """Holds the lock of a file that the user named, while executing."""

    def __init__(
        self,
        path: str,
        timeout: float,
        waiting: Callable[[], None] | None = None,
        stop: int | None = None,
    ) -> None:
        self._path = path
        self._turn = _Turn(path, timeout, waiting, stop)
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> Self:
        self._refuse_missing_directory()  # filelock would make it: a mistyped path would never meet another
        from filelock import FileLock

        lock = FileLock(self._path, thread_local=False, preserve_lock_file=True, fallback_to_soft=False)
        try:
            self._turn.come(lambda: _at_once(lock))
        except (OSError, NotImplementedError) as error:
            why = system_words(error) if isinstance(error, OSError) else error
            raise self._trouble(str(why), "name another --lock-file") from None
        self._lock = lock
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def _refuse_missing_directory(self) -> None:
        directory = os.path.dirname(self._path)
        if directory and not os.path.isdir(directory):
            raise self._trouble(f"there is no directory {directory}", "make it, or name another --lock-file")

    def _trouble(self, why: str, hint: str) -> Trouble:
        return Trouble.of(Error("io_error", f"cannot lock {self._path}: {why}", hint, stage="LOCK"))


class RepositoryLock:
    """Makes runs in one repository wait for each other; the system drops it when its holder dies."""

    def __init__(
        self,
        directory: str,
        timeout: float,
        waiting: Callable[[], None] | None = None,
        stop: int | None = None,
    ) -> None:
        self._path = os.path.join(directory, "lock")
        self._turn = _Turn("this repository: another run of clada is at work in it", timeout, waiting, stop)
        self._handle: int | None = None

    def __enter__(self) -> Self:
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            message = f"cannot write in the git directory: {error.strerror}"
            raise Trouble("git_operation_failed", message, "give yourself that permission") from None
        self._handle = handle
        try:
            self._turn.come(lambda: _taken(handle))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class _Turn(Value):
    """Waits until a lock can be taken, the time is over, or the run is to end."""

    what: str
    timeout: float
    waiting: Callable[[], None] | None  # told that it waits
    stop: int | None  # a handle, readable when the run is to end

    def come(self, taken: Callable[[], bool]) -> None:
        """Return as soon as the lock is taken; raise where it is not to be."""
        end = time.monotonic() + self.timeout
        if taken():
            return
        if self.waiting is not None:
            self.waiting()
        while time.monotonic() < end:
            if _stopped(self.stop):
                raise Trouble("lock_timeout", f"interrupted while waiting for the lock of {self.what}")
            if taken():
                return
        raise Trouble(
            "lock_timeout",
            f"waited {self.timeout:g} s for the lock of {self.what}",
            "wait for the other run to end, or allow more time with --lock-timeout",
        )


def _stopped(handle: int | None) -> bool:
    """Wait a little, and tell whether the run is to end."""
    if handle is None:
        time.sleep(POLL)
        return False
    import select

    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(POLL * 1000))


def _at_once(lock: BaseFileLock) -> bool:
    from filelock import Timeout

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _taken(handle: int) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
