"""A thread of its own for what a thread does to itself for good, such as confining itself."""

from __future__ import annotations

import _thread
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 5.0  # seconds; a thread takes a millisecond to start a program


class _ThreadEnd:
    """Calls a function once when a thread ends; if there is no memory for the thread, before it begins."""

    def __init__(self, ended: Callable[[], object]) -> None:
        self._left = [ended]

    def tell(self) -> None:
        for ended in self._left[:]:
            self._left.clear()
            ended()

    __del__ = tell


def in_thread(work: Callable[[], int], undo: Callable[[int], object] = lambda _result: None) -> int:
    """Do the work in a thread of its own, and return what it returns or raise what it raises.

    Where an interrupt comes before its result could be returned, that is given to `undo`.
    """
    done = _thread.allocate_lock()
    done.acquire()
    results: list[int] = []
    failures: list[BaseException] = []

    def thread(end: _ThreadEnd) -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 (it is raised again by the caller's thread)
            failures.append(failure)
        finally:
            end.tell()

    try:
        _thread.start_new_thread(thread, (_ThreadEnd(done.release),))
    except RuntimeError as refusal:  # the system has no room for one more
        raise OSError(errno.EAGAIN, str(refusal)) from None
    try:
        done.acquire()
    except BaseException:
        if not (results or failures):  # else it may have been acquired just before the interrupt
            done.acquire(timeout=_PATIENCE)
        for result in results:
            undo(result)
        raise
    if failures:
        raise failures[0]
    if not results:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    return results[0]
