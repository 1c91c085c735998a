"""The supervisor: a small process between clada and an approved command, which ends all that it started.

It is the subreaper of the command's processes: one that leaves its session or loses its parent becomes the
supervisor's child. When the command ends, or clada says so, or clada itself is gone, it ends everything. In a
host with one thread it is a plain fork; in others it is a new interpreter, because a fork is not safe there.

It makes everything ready, while clada does what has to be done before the command runs; a word in its control
pipe means "start it", and the end of that pipe "end everything". It writes to its status pipe:
`started PID` and `exited CODE`, or `failed ERRNO`, or `refused TYPE TEXT`.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import sys
import time

from clada.errors import CladaError, system_words
from clada.values import fields_of
from clada.world.handles import remove_tree
from clada.world.libc import HOLDING_LIBC, LIBC, check
from clada.world.processes.children import (
    GIVE_UP_AFTER,
    GRACE,
    MARK,
    SIGKILL,
    NotStartedError,
    cannot_start,
    end_children,
    end_tree,
    kill_orphans,
    open_pidfd,
    shell_code,
    supervisor_error,
    wait_for,
)
from clada.world.processes.spawn import PreparedSpawn, SpawnSpec, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


# Of libc, without what Python has registered for forks: where `threading` is loaded, that touches a hundred
# pages, each of which is copied. There is only one thread, so nothing has to be put in order in the child.
_fork = HOLDING_LIBC.fork
_signal = LIBC.signal  # resolved once here, rather than after every fork
_prctl = getattr(LIBC, "prctl", lambda *_words: -1)
_close_range = getattr(LIBC, "close_range", lambda *_words: -1)
_NO_HANDLE = 1 << 31  # above all that there can be
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_SIG_DFL, _SIG_IGN = 0, 1
_IGNORED = (1, 2, 3, 10, 12, 13, 15)  # SIGHUP INT QUIT USR1 USR2 PIPE TERM, on Linux
_SIGCHLD = 17
_MOST_TO_FORK = 200 << 20  # bytes; a fork copies the tables of all memory, which takes long for more
_POLL_MS = 100  # how often orphans are reaped, and it is checked by getppid that clada is alive
_SHORT_POLL_MS = 10  # the same where the system cannot say when the command ends

# The handles of a new interpreter that is to be a supervisor.
_DIRECTORY, _OUTPUT, _CONTROL, _STATUS, _REQUEST = range(3, 8)
# The directory that clada is in: this file is …/clada/world/processes/supervise.py. It comes last on the
# path, so that nothing else in it can replace a standard module.
_ROOT = os.path.abspath(__file__).rsplit("/", 4)[0]
_MAIN = f"import sys; sys.path.append({_ROOT!r}); from clada.world.processes.supervise import main; main()"


class SupervisedChild:
    """A command that runs under a supervisor process, as clada sees it."""

    def __init__(self, pid: int, control: int, status: int, spec: SpawnSpec) -> None:
        self.handle = status
        self._pid = pid
        self._control = control
        self._name = spec.argv[0]
        self._pipe = os.fstat(spec.output).st_ino
        self._mark = f"{MARK}={spec.environment[MARK]}"
        self._received = b""

    def has_ended(self) -> bool:
        """Read the reports of the supervisor; the last one is that no process of the command is left."""
        return not self._read() or bool(self._find_report("exited"))

    def _read(self) -> bytes:
        data = os.read(self.handle, 1 << 12)
        self._received += data
        return data

    def terminate(self) -> None:
        """Tell the supervisor to end everything, by closing the control pipe; it sends SIGTERM first."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def kill(self) -> None:
        """Do nothing: the supervisor sends SIGKILL to what does not end."""

    def reap(self) -> None:
        """Make sure that nothing of the command is left; the supervisor itself may be about to end."""
        self.terminate()
        if not self._find_report("exited"):
            self.wait()

    def wait(self) -> None:
        """Wait until the supervisor is done; if it is dead or stuck, do what can be done without it."""
        if self.handle < 0:
            return
        if not self._wait_for_end(GRACE + 2 * GIVE_UP_AFTER):
            end_tree(self._pid)
        os.close(self.handle)
        self.handle = -1
        wait_for(self._pid)
        if not any(map(self._find_report, ("exited", "failed", "refused"))):
            kill_orphans(self._pipe, int(self._find_report("started") or -1), self._mark)

    def exit_code(self) -> int:
        """Return the exit code that the supervisor reported."""
        if code := self._find_report("exited"):
            return int(code)
        if number := self._find_report("failed"):
            raise cannot_start(self._name, int(number))
        if text := self._find_report("refused"):
            kind: Any
            kind, _, message = text.partition(" ")
            raise NotStartedError(kind, message)
        raise supervisor_error()

    def _wait_for_end(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(int(left * 1000) + 1) and not self._read():
                return True
        return False

    def _find_report(self, key: str) -> str:
        """Return the report of the supervisor under this key; nothing if there is none."""
        lines = self._received.decode("utf-8", "replace").split("\n")
        return next((line.partition(" ")[2] for line in lines if line.startswith(key + " ")), "")


def start_supervisor(spec: SpawnSpec, meanwhile: Callable[[], None]) -> tuple[int, int, int]:
    """Start a supervisor; return its process id, its control pipe to write and its status pipe to read.

    The command is started once `meanwhile` is done, and not at all if that raises.
    """
    control, control_writer = os.pipe()
    status_reader, status = os.pipe()
    pid = 0
    try:
        try:
            pid = (_fork_supervisor if can_fork() else _spawn_supervisor)(spec, control, status)
        finally:
            os.close(control)
            os.close(status)
        meanwhile()
        _report(control_writer, "start")
    except BaseException:
        os.close(control_writer)
        os.close(status_reader)
        if pid:
            wait_for(pid)
        raise
    return pid, control_writer, status_reader


def _wait_to_start(control: int) -> None:
    """Wait until clada says that the command can be started; raise OSError if it never will."""
    if not os.read(control, 1 << 6):
        raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))


def can_fork() -> bool:
    """Return whether a fork is safe, and quicker than a new interpreter."""
    if len(os.listdir("/proc/self/task")) > 1:  # it could inherit a lock that another thread holds, for ever
        return False
    with open("/proc/self/statm", "rb", buffering=0) as file:
        resident = int(file.read().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE") <= _MOST_TO_FORK


def _fork_supervisor(spec: SpawnSpec, control: int, status: int) -> int:
    prepared = PreparedSpawn(spec)  # before the fork, because every page that is touched after it is copied
    try:
        pid = check(_fork())
        if not pid:
            ready = prepared.handles
            supervise(spec, lambda: prepared.start(lambda: _wait_to_start(control)), control, status, ready)
        return pid
    finally:
        prepared.close()


def _spawn_supervisor(spec: SpawnSpec, control: int, status: int) -> int:
    """Start the supervisor as a new interpreter, and send it the spec through a pipe."""
    request, request_writer = os.pipe()
    argv = [sys.executable or "", "-I", "-S", "-c", _MAIN]
    handles = (spec.directory, spec.output, control, status, request)
    try:
        pid = spawn(SpawnSpec(argv[0], argv, os.environ, spec.directory, status, handles))
    except BaseException as error:
        os.close(request_writer)
        if not isinstance(error, OSError):
            raise
        raise CladaError(
            "exec_failed", f"no Python to supervise the command: {system_words(error)}"
        ) from error
    finally:
        os.close(request)  # if the interpreter died at once, writing fails rather than waits for a reader
    _send_request(spec, request_writer)
    return pid


def _send_request(spec: SpawnSpec, writer: int) -> None:
    """Write the spec to the pipe, as marshal can, and with the handles as the new interpreter has them."""
    request = {
        **fields_of(spec),
        "argv": list(spec.argv),
        "environment": dict(spec.environment),
        "directory": _DIRECTORY,
        "output": _OUTPUT,
    }
    for key in filter(request.get, ("rules", "namespaces")):
        kind = type(request[key])
        request[key] = (kind.__module__, kind.__name__, fields_of(request[key]))
    try:
        with open(writer, "wb") as file:
            marshal.dump(request, file)
    except BrokenPipeError:  # the interpreter is dead, which its status pipe will tell
        return


def main() -> NoReturn:
    """Be the supervisor that `_spawn_supervisor` started: its handles have fixed numbers."""
    with open(_REQUEST, "rb") as reader:
        request = marshal.load(reader)  # noqa: S302 (our own parent wrote it)
    for key in filter(request.get, ("rules", "namespaces")):
        module, name, fields = request[key]
        request[key] = getattr(__import__(module, fromlist=[name]), name)(**fields)
    spec = SpawnSpec(**request)

    def start() -> int:
        _wait_to_start(_CONTROL)
        return spawn(spec)

    supervise(spec, start, _CONTROL, _STATUS, {_DIRECTORY, _OUTPUT})


def supervise(
    spec: SpawnSpec, start: Callable[[], int], control: int, status: int, needed: set[int]
) -> NoReturn:
    """Be the supervisor of the command that `start` starts until nothing of it is left, then exit.

    `needed` are the handles that it takes to start the command.
    """
    code = 1
    try:
        host = os.getppid()
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        leave_host(keep={control, status, *needed})
        _run_command(spec, start, control, status)
        if spec.temporary and os.getppid() != host:  # else clada removes it
            remove_tree(spec.temporary)
        code = 0
    finally:
        os._exit(code)


def leave_host(keep: set[int]) -> None:
    """Leave the host's session, ignore its signals, and close all handles but these."""
    if os.getsid(0) != os.getpid():  # a new interpreter leads its session already
        os.setsid()
    _prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other process of the person reaches into this one
    for signal in _IGNORED:
        _signal(signal, _SIG_IGN)
    _signal(_SIGCHLD, _SIG_DFL)  # a host that ignores it would make every wait fail
    _close_all_but(keep)
    nothing = os.open(os.devnull, os.O_RDWR)
    while nothing <= 2:  # noqa: PLR2004 (standard input, output and error must lead somewhere)
        nothing = os.open(os.devnull, os.O_RDWR)
    os.close(nothing)


def _close_all_but(keep: set[int]) -> None:
    """Close the host's files and locks, which would otherwise stay open when the host ends."""
    first = 0
    for handle in (*sorted(keep), _NO_HANDLE):
        if handle > first and _close_range(first, handle - 1, 0):
            break  # an old kernel
        first = handle + 1
    else:
        return
    for handle in set(map(int, os.listdir("/proc/self/fd"))) - keep:
        try:
            os.close(handle)
        except OSError:  # the one that the listing itself used
            continue


def _run_command(spec: SpawnSpec, start: Callable[[], int], control: int, status: int) -> None:
    host = os.getppid()
    try:
        pid = start()
    except OSError as error:
        _report(status, f"failed {error.errno}")
        return
    except CladaError as refusal:
        _report(status, f"refused {refusal.error.type} {refusal}")
        return
    os.close(spec.output)
    _report(status, f"started {pid}")
    reaper = Reaper(pid)
    _wait_for_end(pid, control, host, reaper)
    end_children(reaper.reap)
    _report(status, f"exited {128 + SIGKILL if reaper.code is None else reaper.code}")


def _report(pipe: int, text: str) -> None:
    """Tell the other side, if it is still alive."""
    try:
        os.write(pipe, text.encode() + b"\n")
    except BrokenPipeError:
        return


def _wait_for_end(pid: int, control: int, host: int, reaper: Reaper) -> None:
    """Return when the command has ended, or clada says that it must end, or clada has ended."""
    command = open_pidfd(pid)
    poll = select.poll()
    poll.register(control, select.POLLIN)
    if command >= 0:
        poll.register(command, select.POLLIN)
    milliseconds = _POLL_MS if command >= 0 else _SHORT_POLL_MS
    while reaper.code is None and not poll.poll(milliseconds) and os.getppid() == host:
        reaper.reap()


class Reaper:
    """Waits for every child that has died, and keeps the exit code of one of them."""

    def __init__(self, pid: int) -> None:
        self.code: int | None = None
        self._pid = pid

    def reap(self) -> bool:
        """Wait for the dead, without blocking; return whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if not pid:
                return True
            # A child that has itself traced by its parent is reported when it stops, too.
            if pid == self._pid and not os.WIFSTOPPED(status):
                self.code = shell_code(status)
