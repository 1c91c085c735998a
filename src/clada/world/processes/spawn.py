"""Starts a program by posix_spawn: in a directory given by its handle, inheriting nothing but its output.

Python's own os.posix_spawn cannot change the directory, and a fork is not safe in a host with threads.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

from clada.errors import Trouble
from clada.values import Value
from clada.world.libc import LIBC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Protocol

    class Rules(Protocol):
        """What a thread imposes on itself; a value, so that another process can make the same."""

        def impose(self) -> None:
            """Impose the rules on this thread, or raise Trouble."""

        def by_name(self) -> dict[str, Any]:
            """Return the fields by their names."""


_posix_spawn = LIBC.posix_spawn  # looked up here once, rather than in every forked supervisor

_MAC = sys.platform == "darwin"
_SET_SIGNALS = 0x04 | 0x08  # POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK
_SET_SESSION = 0x400 if _MAC else 0x80  # POSIX_SPAWN_SETSID
_CLOSE_OTHERS = 0x4000 if _MAC else 0  # POSIX_SPAWN_CLOEXEC_DEFAULT
_FIRST_OTHER = 3  # the handle after standard input, output and error
_CPU = 0  # RLIMIT_CPU
_HIGH = 64  # handles that are passed on are first moved out of the way of their own targets


class Order(Value):
    """A program to start: where it is, its words, and all that it inherits.

    `handles` become its handles 3, 4, … Rules are imposed in a thread that lives only until the program
    has started: what a thread imposes on itself, its child inherits. `seconds` of processor time end a
    program without a supervisor even when clada is no longer there to do it; for the same case a supervisor
    removes the `temporary` directory when all is over.
    """

    program: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: int
    output: int = -1
    handles: Sequence[int] = ()
    rules: Rules | None = None
    seconds: float | None = None
    temporary: str = ""


def spawn(order: Order) -> int:
    """Start a program in a session of its own and return its process id; or raise OSError or Trouble."""
    prepared = Prepared(order)
    try:
        return prepared.start()
    finally:
        prepared.close()


class Prepared:
    """A program with everything made ready, so that starting it takes little more than the one call."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._program = os.fsencode(order.program)
        self._words = _words(order.argv)
        self._variables = _words([f"{name}={value}" for name, value in order.environment.items()])
        self._actions, self._attributes = _opaque(), _opaque()
        self._handles = _moved(order.handles)
        _must(LIBC.posix_spawn_file_actions_init(self._actions))
        _must(LIBC.posix_spawnattr_init(self._attributes))
        _add_actions(self._actions, order.replace(handles=self._handles))
        _set_attributes(self._attributes)

    def start(self) -> int:
        """Start it, under its rules if it has any, and return its process id."""
        return in_thread(self._start_confined) if self._order.rules else self._start()

    def close(self) -> None:
        """Give back what libc and the kernel lent."""
        LIBC.posix_spawn_file_actions_destroy(self._actions)
        LIBC.posix_spawnattr_destroy(self._attributes)
        for handle in self._handles:
            os.close(handle)

    def _start_confined(self) -> int:
        if self._order.rules:
            self._order.rules.impose()
        return self._start()

    def _start(self) -> int:
        pid = ctypes.c_int()
        given = (self._actions, self._attributes, self._words, self._variables)
        _must(_posix_spawn(ctypes.byref(pid), self._program, *given))
        _limit(pid.value, self._order.seconds)
        return pid.value


class _End:
    """Goes with a thread, and tells once that it has ended: without memory, that is before it has begun."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._left = [tell]

    def tell(self) -> None:
        for tell in self._left[:]:
            self._left.clear()
            tell()

    __del__ = tell


def in_thread(work: Callable[[], int]) -> int:
    """Return what the work returns when it is done in a thread of its own."""
    import _thread
    import errno

    done = _thread.allocate_lock()
    done.acquire()
    results: list[int] = []
    failures: list[BaseException] = []

    def thread(end: _End) -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 (it is raised again where the work was asked for)
            failures.append(failure)
        finally:
            end.tell()

    try:
        _thread.start_new_thread(thread, (_End(done.release),))
    except RuntimeError as refusal:  # there is no room for one more
        raise OSError(errno.EAGAIN, str(refusal)) from None
    done.acquire()
    if failures:
        raise failures[0]
    if not results:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    return results[0]


def _limit(pid: int, seconds: float | None) -> None:
    if seconds is not None and hasattr(LIBC, "prlimit"):
        most = int(seconds) + 1
        LIBC.prlimit(pid, _CPU, struct.pack("=QQ", most, most), None)


def _opaque() -> ctypes.Array[ctypes.c_uint64]:
    """Return room for one of libc's own structures, the largest of which takes 336 bytes."""
    return (ctypes.c_uint64 * 128)()


def _words(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    if any("\0" in text for text in texts):
        raise Trouble("exec_failed", "an argument or variable contains a NUL character")
    return (ctypes.c_char_p * (len(texts) + 1))(*map(os.fsencode, texts), None)


def _moved(handles: Sequence[int]) -> list[int]:
    if not handles:
        return []
    import fcntl

    return [fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, _HIGH) for handle in handles]


def _add_actions(actions: ctypes.Array[ctypes.c_uint64], order: Order) -> None:
    # In this order none of them can overwrite a handle that a later one still needs.
    _must(LIBC.posix_spawn_file_actions_addfchdir_np(actions, order.directory))
    for target in (1, 2):
        _must(LIBC.posix_spawn_file_actions_adddup2(actions, order.output, target))
    _must(LIBC.posix_spawn_file_actions_addopen(actions, 0, b"/dev/null", os.O_RDONLY, 0))
    for target, handle in enumerate(order.handles, _FIRST_OTHER):
        _must(LIBC.posix_spawn_file_actions_adddup2(actions, handle, target))
    _close_from(actions, _FIRST_OTHER + len(order.handles))


def _close_from(actions: ctypes.Array[ctypes.c_uint64], first: int) -> None:
    """Close what the host left open to its children: it could lead out of the workspace."""
    if _CLOSE_OTHERS:
        return
    if hasattr(LIBC, "posix_spawn_file_actions_addclosefrom_np"):
        _must(LIBC.posix_spawn_file_actions_addclosefrom_np(actions, first))
        return
    for handle in map(int, os.listdir("/proc/self/fd")):
        if handle >= first and _is_inheritable(handle):
            _must(LIBC.posix_spawn_file_actions_addclose(actions, handle))


def _is_inheritable(handle: int) -> bool:
    try:
        return os.get_inheritable(handle)
    except OSError:  # the one that the listing itself used
        return False


def _set_attributes(attributes: ctypes.Array[ctypes.c_uint64]) -> None:
    every, none = _opaque(), _opaque()
    LIBC.sigfillset(every)
    LIBC.sigemptyset(none)
    _must(LIBC.posix_spawnattr_setsigdefault(attributes, every))
    _must(LIBC.posix_spawnattr_setsigmask(attributes, none))
    flags = ctypes.c_short(_SET_SIGNALS | _SET_SESSION | _CLOSE_OTHERS)
    _must(LIBC.posix_spawnattr_setflags(attributes, flags))


def _must(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))
