"""Runs a command in bubblewrap: in namespaces where it sees its workspace, the system and an empty home."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import stat

from clada.errors import CladaError, system_words
from clada.world.processes.children import (
    GIVE_UP_AFTER,
    SIGKILL,
    SIGTERM,
    DirectChild,
    NotStartedError,
    cannot_start,
    descendants,
    open_pidfd,
    send_signal,
)
from clada.world.processes.run import Launcher, RunOptions, find_program, run
from clada.world.processes.spawn import spawn
from clada.world.sandbox import mounts
from clada.world.sandbox.seccomp import filter_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.world.processes.output import Emit
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.layers import Confinement


_SANDBOX = """
    --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
""".split()
_PIPE = 1 << 16  # bytes that a pipe can hold
_TRIES = 3  # where something vanishes each time


def problem() -> str | None:
    """Return why bubblewrap does not work here with our options, by trying it; None if it does.

    A path that is to be hidden may vanish before it is mounted over, because services come and go. Then
    bubblewrap is tried again.
    """
    try:
        programs = find_program("bwrap"), find_program("true")
    except CladaError:
        return "not installed"
    problem: str | None = None
    tried: list[mounts.Mount] = []
    for _ in range(_TRIES):
        system = mounts.system_mounts(mounts.listening())
        if system == tried:
            break
        tried, problem = system, _try(*programs, (*mounts.OWN, *system))
        if problem is None:
            break
    return problem


def _try(bwrap: str, true: str, system: Iterable[mounts.Mount]) -> str | None:
    """Return why bubblewrap does not work with these mounts; None if it does."""
    lines: list[str] = []
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        argv = [bwrap, *_SANDBOX, *(word for mount in system for word in mount), "--", true]
        result = run(argv, Launcher({}, supervised=False), RunOptions(root, 5.0, lines.extend))
    finally:
        os.close(root)
    return None if result.exit_code == 0 else (lines or ["no reason given"])[0].removeprefix("bwrap: ")


def start(spec: SpawnSpec, confinement: Confinement, output: BwrapOutput) -> BwrapProcess:
    """Start a program in the sandbox; nothing is started if that fails."""
    if problem := _execute_errno(spec):
        raise cannot_start(spec.argv[0], problem)
    status, status_writer = os.pipe()
    try:
        return BwrapProcess(_spawn(spec, confinement, status_writer), status, output)
    except BaseException:
        os.close(status)
        raise
    finally:
        os.close(status_writer)


def _spawn(spec: SpawnSpec, confinement: Confinement, status: int) -> int:
    """Start bubblewrap, which writes its JSON messages to `status`, and return its process id.

    The mounts are computed while bubblewrap starts, and sent to it later: that saves half a
    millisecond. Until it has all of it, nothing is there that could be executed.
    """
    program = find_program("bwrap")
    source, sink = os.pipe()
    handles = [status, source]
    try:
        handles.append(_filter_handle(network=confinement.network))
        network = ["--share-net"] if confinement.network else []
        options = ["--json-status-fd", "3", *_SANDBOX, *network, "--args", "4", "--seccomp", "5"]
        argv = [program, *options, "--", spec.program, *spec.argv[1:]]
        pid = spawn(spec.replace(program=program, argv=argv, handles=handles, cpu_seconds=None))
        try:
            _send(sink, mounts.mounts(confinement, spec.environment.get("PATH", ""), spec.program))
        except BaseException:
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            raise
    except OSError as error:
        message = f"the sandbox could not be started: {system_words(error)}"
        raise CladaError("command_not_allowed", message) from error
    finally:
        for handle in (*handles[1:], sink):
            os.close(handle)
    return pid


def _send(sink: int, made: Iterable[mounts.Mount]) -> None:
    """Write mounts to an empty pipe, all at once: if clada is killed, a part must not pass for all."""
    words = [word for mount in made for word in mount]
    data = os.fsencode("\0".join(words) + "\0")
    if data.count(b"\0") != len(words):
        raise OSError(errno.EINVAL, "a path contains a NUL character")
    if len(data) > _PIPE:
        fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, len(data))
    try:
        os.write(sink, data)
    except BrokenPipeError:  # it has ended, and its exit code will tell
        return


def _execute_errno(spec: SpawnSpec) -> int:
    """Return the errno that executing the program would fail with, or 0: bubblewrap would only print it."""
    try:
        found = os.stat(spec.program, dir_fd=spec.directory)
    except OSError as error:
        return error.errno or errno.ENOENT
    runnable = stat.S_ISREG(found.st_mode) and os.access(spec.program, os.X_OK, dir_fd=spec.directory)
    return 0 if runnable else errno.EACCES


def _filter_handle(*, network: bool) -> int:
    handle = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(handle, filter_program(network=network, shared=False))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


_PREFIX = "bwrap: "  # of bubblewrap's own lines
_NOT_EXECUTED = f"{_PREFIX}execvp "
_CLOSED = "it may need files outside the sandbox: add them to sandbox_read"


class BwrapOutput:
    """Passes on the output, but holds back a first line that may be bubblewrap's until that is known."""

    def __init__(self, emit: Emit) -> None:
        self.reason = ""  # the first line, if it looks like bubblewrap's
        self._emit = emit
        self._is_kept = self._has_begun = False

    def emit(self, lines: list[str]) -> bool | None:
        """Take lines; return whether there are enough."""
        if not self._has_begun and lines[0].startswith(_PREFIX):
            self.reason, lines = lines[0], lines[1:]
            self._is_kept = True
        self._has_begun = True
        if not lines:
            return False
        self.release()
        return self._emit(lines)

    def release(self) -> None:
        """Pass on the line that was held back: it was the command's."""
        if self._is_kept:
            self._emit([self.reason])
        self._is_kept = False


class BwrapProcess(DirectChild):
    """A command in bubblewrap: when the first process of its namespace ends, all others in it do."""

    def __init__(self, pid: int, status: int, output: BwrapOutput) -> None:
        super().__init__(pid)
        self._status_pipe = status
        self._output = output
        self._messages = ""

    def terminate(self) -> None:
        """Ask each process inside to end; the first one of the namespace would not pass on the signal."""
        send_signal(descendants(self._pid), SIGTERM)

    def kill(self) -> None:
        """End the namespace."""
        send_signal(descendants(self._pid), SIGKILL)
        super().kill()

    def reap(self) -> None:
        """Wait until the namespace is gone, which takes a moment after bubblewrap itself has ended."""
        super().reap()
        os.set_blocking(self._status_pipe, False)
        try:
            self._messages = os.read(self._status_pipe, 1 << 12).decode("ascii", "replace")
        except BlockingIOError:  # it was killed before it could write anything
            self._messages = ""
        os.close(self._status_pipe)
        if first := self._number("child-pid"):
            _wait_for_end(first, GIVE_UP_AFTER)

    def exit_code(self) -> int:
        """Return the command's exit code; raise CladaError if the sandbox failed before it was executed."""
        code = super().exit_code()
        if self._number("exit-code") is None and code < 128:  # noqa: PLR2004 (it was not killed)
            reason = self._output.reason or "it ended at once"
            if reason.startswith(_NOT_EXECUTED):
                raise CladaError("exec_failed", reason.removeprefix(_NOT_EXECUTED), _CLOSED)
            message = f"the sandbox could not be set up, nothing was run: {reason}"
            raise NotStartedError("command_not_allowed", message)
        self._output.release()
        return code

    def _number(self, key: str) -> int | None:
        """Return a number from bubblewrap's JSON messages; importing json costs more than this."""
        digits = self._messages.partition(f'"{key}": ')[2]
        end = next((at for at, letter in enumerate(digits) if not letter.isdigit()), len(digits))
        return int(digits[:end]) if end else None


def _wait_for_end(pid: int, seconds: float) -> None:
    """Wait until a process has ended that is not our child."""
    handle = open_pidfd(pid)
    if handle < 0:
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll(int(seconds * 1000))
    os.close(handle)
