"""Locks: the file that the user names, and the one that makes runs in one repository wait for each other."""

from __future__ import annotations

import os
import time

from clada.problems import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from filelock import BaseFileLock

POLL = 0.05  # seconds


class LockFile:
    """Holds the lock of a file that the user named, while executing."""

    def __init__(self, path: str, timeout: float, waiting: Callable[[], None] | None = None) -> None:
        self._path = path
        self._timeout = timeout
        self._waiting = waiting
        self._lock: BaseFileLock | None = None

    def __enter__(self) -> Self:
        from filelock import FileLock, Timeout

        lock = FileLock(self._path, thread_local=False, preserve_lock_file=True, fallback_to_soft=False)
        try:
            if not _at_once(lock):
                _tell(self._waiting)
                lock.acquire(timeout=self._timeout, poll_interval=POLL)
        except Timeout:
            raise _timed_out(self._path, self._timeout) from None
        except (OSError, NotImplementedError) as error:
            raise Trouble(
                "io_error", f"Cannot lock {self._path}: {error}", "Name another --lock-file"
            ) from None
        self._lock = lock
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._lock is not None:
            self._lock.release()


class RepositoryLock:
    """Makes runs in one repository wait for each other; the system drops it when its holder dies."""

    def __init__(self, folder: str, timeout: float, waiting: Callable[[], None] | None = None) -> None:
        self._path = os.path.join(folder, "lock")
        self._timeout = timeout
        self._waiting = waiting
        self._handle: int | None = None

    def __enter__(self) -> Self:
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            message = f"Cannot write in the git directory: {error.strerror}"
            raise Trouble(
                "git_operation_failed", message, "Give yourself that permission, or use --no-git"
            ) from None
        try:
            self._acquire(self._handle)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _acquire(self, handle: int) -> None:
        end = time.monotonic() + self._timeout
        if _taken(handle):
            return
        _tell(self._waiting)
        while time.monotonic() < end:
            time.sleep(POLL)
            if _taken(handle):
                return
        raise _timed_out("this repository: another run of clada is at work in it", self._timeout)


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


def _tell(waiting: Callable[[], None] | None) -> None:
    if waiting is not None:
        waiting()


def _timed_out(what: str, timeout: float) -> Trouble:
    return Trouble(
        "lock_timeout",
        f"Waited {timeout:g} s for the lock of {what}",
        "Wait for the other run to end, or allow more time with --lock-timeout",
    )
