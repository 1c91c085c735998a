"""Starts a program by posix_spawn: in a directory given by its handle, inheriting nothing but its output.

Python's own os.posix_spawn cannot change the directory, and a fork is not safe in a host with threads.
"""

from __future__ import annotations

import _thread
import errno
import fcntl
import os
import struct
import sys
import weakref

from clada.errors import CladaError, system_words
from clada.values import Value
from clada.world.libc import LIBC, byref, c_char_p, c_int, c_short, c_uint64
from clada.world.processes.children import SIGKILL, NotStartedError, end_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from ctypes import Array
    from typing import Any, Protocol

    class ThreadRules(Protocol):
        """Restrictions that a thread puts on itself; under a supervisor a Value, which can be sent to it."""

        def open_files(self) -> OpenedRules:
            """Return them with all files resolved, or raise CladaError."""

    class OpenedRules(Protocol):
        """Such restrictions, made ready."""

        handle: int  # that they need

        def apply(self) -> None:
            """Restrict this thread for good, or raise CladaError."""

        def close(self) -> None:
            """Close the handle."""

    class Namespaces(Protocol):
        """Namespaces that a process enters for good; a Value, too."""

        def enter(self, start: Callable[[], int], spec: SpawnSpec, status_pipe: int) -> int:
            """Start the command in them; return the process that ends with it, and with its exit code."""


_posix_spawn = LIBC.posix_spawn  # resolved once here, rather than in every forked supervisor

_MAC = sys.platform == "darwin"
_SET_SIGNALS = 0x04 | 0x08  # POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK
_SET_SESSION = 0x400 if _MAC else 0x80  # POSIX_SPAWN_SETSID
_CLOSE_OTHERS = 0x4000 if _MAC else 0  # POSIX_SPAWN_CLOEXEC_DEFAULT
_FIRST_OTHER = 3  # the handle after standard input, output and error
_RLIMIT_CPU = 0


class SpawnSpec(Value):
    """A program to start: where it is, its arguments, and all that it inherits.

    `directory` is a handle; without one (-1) the program stays where this process is. `input` and `errors`
    are given where output is not for the report: else the one is empty, and the other goes where the output
    does. `handles` become its handles 3, 4, … `rules` are applied in a thread that lives only until the
    program has started: the child inherits what the thread has put on itself. `namespaces` are entered by a
    process of its own. `cpu_seconds` limits a program that has no supervisor, so that it ends even if clada
    is dead. A supervisor removes the `temporary` directory when the command is over, for the same reason.
    """

    program: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: int
    output: int = -1
    handles: Sequence[int] = ()
    rules: ThreadRules | None = None
    namespaces: Namespaces | None = None
    cpu_seconds: float | None = None
    temporary: str = ""
    input: int = -1
    errors: int = -1


def spawn(spec: SpawnSpec) -> int:
    """Start a program in a session of its own and return its process id; or raise OSError or CladaError."""
    prepared = PreparedSpawn(spec)
    try:
        return prepared.start()
    finally:
        prepared.close()


class PreparedSpawn:
    """A program with everything made ready, so that starting it takes little more than the one call."""

    def __init__(self, spec: SpawnSpec) -> None:
        self._spec = spec
        self._rules: OpenedRules | None = None
        self._program = os.fsencode(spec.program)
        self._argv = _c_strings(spec.argv)
        self._variables = _c_strings([f"{name}={value}" for name, value in spec.environment.items()])
        self._actions, self._attributes = _c_structure(), _c_structure()
        # Handles that are passed on are first copied above those that they become: none is overwritten then.
        above = _FIRST_OTHER + len(spec.handles)
        self._handles = [_copy(handle, above) for handle in spec.handles]
        if spec.errors >= 0:  # of a pipeline: its handles must not overwrite each other either
            names = ("input", "output", "errors")
            streams = {name: _copy(handle, above) for name in names if (handle := getattr(spec, name)) >= 0}
            spec = spec.replace(**streams)
            self._copies = [*self._handles, *streams.values()]
        else:
            self._copies = self._handles
        _check(LIBC.posix_spawn_file_actions_init(self._actions))
        _check(LIBC.posix_spawnattr_init(self._attributes))
        _add_actions(self._actions, spec.replace(handles=self._handles))
        _set_attributes(self._attributes)
        if spec.rules:
            try:
                self._rules = spec.rules.open_files()
            except CladaError as failure:
                self.close()
                error = failure.error
                raise NotStartedError(error.type, error.message, error.hint) from None

    def start(self, wait: Callable[[], None] | None = None) -> int:
        """Start it, under its rules if it has any, and return its process id.

        All that can be done before is done before it calls `wait`.
        """
        if self._spec.namespaces:
            if wait:
                wait()
            return self._start_in_namespaces(self._spec.namespaces)
        pid = in_thread(lambda: self._start(wait), end_process) if self._rules else self._start(wait)
        # Not in the thread: rules forbid it.
        if self._spec.cpu_seconds is not None and hasattr(LIBC, "prlimit"):
            limit = int(self._spec.cpu_seconds) + 1
            LIBC.prlimit(pid, _RLIMIT_CPU, struct.pack("=QQ", limit, limit), None)
        return pid

    def _start_in_namespaces(self, namespaces: Namespaces) -> int:
        """Start it in namespaces of its own; return the id of the process that ends with it.

        Only for a process with one thread, which a supervisor is.
        """
        answer, status_pipe = os.pipe()
        try:
            pid = namespaces.enter(self._start, self._spec, status_pipe)
        except OSError as error:
            os.close(answer)
            raise _sandbox_error(system_words(error)) from error
        finally:
            os.close(status_pipe)
        try:
            with open(answer, encoding="utf-8", errors="replace") as file:
                word, _, rest = file.read().partition(" ")
        except BaseException:  # an interrupt
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            raise
        if word == "started":
            return pid
        os.waitpid(pid, 0)
        if word == "failed":
            raise OSError(int(rest), os.strerror(int(rest)))
        raise _sandbox_error(rest or "it ended at once")

    @property
    def handles(self) -> set[int]:
        """The handles that it needs."""
        return {self._spec.directory, self._spec.output, *([self._rules.handle] if self._rules else [])}

    def close(self) -> None:
        """Free the allocated structures, and close the copied handles."""
        LIBC.posix_spawn_file_actions_destroy(self._actions)
        LIBC.posix_spawnattr_destroy(self._attributes)
        for handle in self._copies:
            os.close(handle)
        if self._rules:
            self._rules.close()

    def _start(self, wait: Callable[[], None] | None = None) -> int:
        if self._rules:
            self._rules.apply()
        if wait:
            wait()
        pid = c_int()
        given = (self._actions, self._attributes, self._argv, self._variables)
        _check(_posix_spawn(byref(pid), self._program, *given))
        return pid.value


def _copy(handle: int, above: int) -> int:
    return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, above)


def _sandbox_error(reason: str) -> CladaError:
    return NotStartedError("command_not_allowed", f"the sandbox could not be set up: {reason}")


def _c_structure() -> Array[c_uint64]:
    """Return room for one of libc's own structures, the largest of which takes 336 bytes."""
    return (c_uint64 * 128)()


def _c_strings(texts: Sequence[str]) -> Array[c_char_p]:
    strings = os.fsencode("\0".join(texts)).split(b"\0")  # one call for all of them is quicker
    if len(strings) > max(1, len(texts)):
        raise CladaError("exec_failed", "an argument or variable contains a NUL character")
    return (c_char_p * (len(texts) + 1))(*strings[: len(texts)], None)


def _add_actions(actions: Array[c_uint64], spec: SpawnSpec) -> None:
    # In this order none of them can overwrite a handle that a later one still needs.
    if spec.directory >= 0:
        _check(LIBC.posix_spawn_file_actions_addfchdir_np(actions, spec.directory))
    for target, handle in ((1, spec.output), (2, spec.errors if spec.errors >= 0 else spec.output)):
        _check(LIBC.posix_spawn_file_actions_adddup2(actions, handle, target))
    if spec.input >= 0:
        _check(LIBC.posix_spawn_file_actions_adddup2(actions, spec.input, 0))
    else:
        _check(LIBC.posix_spawn_file_actions_addopen(actions, 0, b"/dev/null", os.O_RDONLY, 0))
    for target, handle in enumerate(spec.handles, _FIRST_OTHER):
        _check(LIBC.posix_spawn_file_actions_adddup2(actions, handle, target))
    _close_from(actions, _FIRST_OTHER + len(spec.handles))


def _close_from(actions: Array[c_uint64], first: int) -> None:
    """Close handles that the host left open to its children: they could lead out of the workspace."""
    if _CLOSE_OTHERS:
        return
    if hasattr(LIBC, "posix_spawn_file_actions_addclosefrom_np"):
        _check(LIBC.posix_spawn_file_actions_addclosefrom_np(actions, first))
        return
    for handle in map(int, os.listdir("/proc/self/fd")):
        try:
            inheritable = os.get_inheritable(handle)
        except OSError:  # the one that the listing itself used
            continue
        if handle >= first and inheritable:
            _check(LIBC.posix_spawn_file_actions_addclose(actions, handle))


def _set_attributes(attributes: Array[c_uint64]) -> None:
    """Give the program the default handling of all signals, none blocked, and a session of its own."""
    every, none = _c_structure(), _c_structure()
    LIBC.sigfillset(every)
    LIBC.sigemptyset(none)
    _check(LIBC.posix_spawnattr_setsigdefault(attributes, every))
    _check(LIBC.posix_spawnattr_setsigmask(attributes, none))
    flags = c_short(_SET_SIGNALS | _SET_SESSION | _CLOSE_OTHERS)
    _check(LIBC.posix_spawnattr_setflags(attributes, flags))


def _check(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))


_PATIENCE = 5.0  # seconds; a thread takes a millisecond to start a program


class _Alive:
    """Lives as long as a thread that is started with it."""

    __slots__ = ("__weakref__",)


def in_thread(work: Callable[[], int], undo: Callable[[int], object] = lambda _result: None) -> int:
    """Do the work in a thread of its own, and return its result or raise its exception.

    Where an interrupt comes before its result could be returned, that is given to `undo`.
    """
    done = _thread.allocate_lock()
    done.acquire()
    results: list[int] = []
    failures: list[BaseException] = []

    def thread(alive: _Alive) -> None:
        del alive  # the interpreter still has it: a failure is not to keep it by this frame
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 (it is raised again by the caller's thread)
            failures.append(failure)

    # A thread without memory for its first frame runs no Python at all, not even a `finally`. So a weak
    # reference tells its end: the callback is `release` in C, by the name under which it takes an argument.
    alive = _Alive()
    callback: Any = done.__exit__
    ended = weakref.ref(alive, callback)  # noqa: F841 (it is called only while the reference exists)
    try:
        _thread.start_new_thread(thread, (alive,))
        del alive
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
