"""A started program as clada sees it: whether it has ended, how to end it, and its exit code."""

from __future__ import annotations

import errno
import os
import time

from clada.errors import CladaError
from clada.world.processes.process_tree import (
    GIVE_UP_AFTER,
    GRACE,
    SIGKILL,
    SIGTERM,
    descendants,
    end_tree,
    kill_orphans,
    open_pidfd,
    send_signal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from clada.world.processes.spawn import SpawnSpec

    class Child(Protocol):
        """What `processes.run` needs of a child."""

        handle: int  # becomes readable when there is something to look at; -1 where the system has none

        def has_ended(self) -> bool:
            """Return whether the program has ended; called when the handle is readable."""

        def terminate(self) -> None:
            """Ask everything that was started to end."""

        def kill(self) -> None:
            """End everything that did not end when asked to."""

        def reap(self) -> None:
            """Make sure that nothing is left, now."""

        def exit_code(self) -> int:
            """Return the exit code; raise CladaError if there is none. Call it once, after the output."""


_MOMENT = 0.001
MARK = "CLADA_COMMAND"  # the variable by which a command's processes are found if its supervisor is killed


class NotStartedError(CladaError):
    """The sandbox of a program could not be set up and nothing was run; another attempt may succeed."""


def shell_code(status: int) -> int:
    """Return the exit code of a wait status, as a shell does: 128 + the signal that killed the process."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def cannot_start(name: str, code: int) -> CladaError:
    """Return the error for a program that the system refuses to execute, given the errno."""
    if code in (errno.ENOENT, errno.ENOTDIR):
        if "/" in name:
            return CladaError(
                "exec_failed", f"{name} does not exist, or the interpreter in its first line does not"
            )
        return CladaError("exec_failed", f"the interpreter in the first line of {name} is not installed")
    if code == errno.EACCES:
        return CladaError("exec_failed", f"{name} is not executable", f"chmod +x {name}")
    if code == errno.ENOEXEC:
        return CladaError(
            "exec_failed", f"{name} is not a program", "a script starts with a line such as #!/bin/sh"
        )
    if code == errno.E2BIG:
        return CladaError("exec_failed", f"the arguments of {name} are too long for the system")
    return CladaError("exec_failed", f"{name} could not be started: {os.strerror(code)}")


def _supervisor_killed() -> CladaError:
    return CladaError(
        "exec_failed", "the process that supervised the command was killed", "by the command itself?"
    )


def wait_for(pid: int, options: int = 0) -> tuple[bool, int | None]:
    """Return whether the child is dead, and its wait status; None if the host has taken that."""
    try:
        found, status = os.waitpid(pid, options)
    except ChildProcessError:  # the host ignores SIGCHLD, or waits for all its children
        return True, None
    return bool(found), status


class DirectChild:
    """A child process that leads a process group; all that it starts is expected to stay in the group."""

    def __init__(self, pid: int) -> None:
        self.handle = open_pidfd(pid)
        self._pid = pid
        self._status: int | None = None
        self._reaped = False

    def has_ended(self) -> bool:
        """Return whether the program has ended."""
        if self.handle < 0:  # without a handle, only a wait can tell
            self._reaped, self._status = wait_for(self._pid, os.WNOHANG)
            return self._reaped
        return True

    def terminate(self) -> None:
        """Ask the group to end."""
        self._signal_group(SIGTERM)

    def kill(self) -> None:
        """End the group."""
        self._signal_group(SIGKILL)

    def reap(self) -> None:
        """End what is left of the group. Nobody else can get its number before we have waited for it."""
        self._signal_group(SIGKILL)
        if not self._reaped:
            self._reaped, self._status = wait_for(self._pid)
        deadline = time.monotonic() + GRACE
        while self._signal_group(0) and time.monotonic() < deadline:  # being killed takes a moment
            time.sleep(_MOMENT)
        if self.handle >= 0:
            os.close(self.handle)

    def exit_code(self) -> int:
        """Return the exit code."""
        if self._status is None:
            raise CladaError(
                "exec_failed", "the exit code is lost: the process that runs clada takes it itself"
            )
        return shell_code(self._status)

    def _signal_group(self, signal: int) -> bool:
        """Send a signal, or 0 for none; return whether the group still exists."""
        try:
            os.killpg(self._pid, signal)
        except (ProcessLookupError, PermissionError):  # macOS says "permission" of a group that is dead
            return False
        return True


class NamespacedChild(DirectChild):
    """A command in namespaces of its own, by the first process there: when that ends, so does all in them."""

    _is_killed = False

    def terminate(self) -> None:
        """Ask each process inside to end; the first one would not pass on the signal."""
        send_signal(descendants(self._pid), SIGTERM)

    def kill(self) -> None:
        """End the first process, and so all."""
        self._is_killed = True
        send_signal([self._pid], SIGKILL)

    def exit_code(self) -> int:
        """Return the command's exit code, with which the first process ends, unless somebody killed it."""
        if self._status is not None and os.WIFSIGNALED(self._status) and not self._is_killed:
            raise _supervisor_killed()
        return super().exit_code()


class PipedChildren:
    """The programs of a pipeline, as one child: ended when all have, with the exit code of the last."""

    def __init__(self, children: list[Child]) -> None:
        import select

        self._children, self._left = children, list(children)
        self._ends = None
        self.handle = -1
        if all(child.handle >= 0 for child in children) and hasattr(select, "epoll"):
            self._ends = select.epoll()
            for child in children:
                self._ends.register(child.handle, select.EPOLLIN)
            self.handle = self._ends.fileno()

    def has_ended(self) -> bool:
        """Return whether all have ended."""
        if self._ends is None:
            self._left = [child for child in self._left if not child.has_ended()]
            return not self._left
        for handle, _event in self._ends.poll(0):
            self._ends.unregister(handle)
            self._left = [child for child in self._left if child.handle != handle]
        return not self._left

    def terminate(self) -> None:
        """Ask all to end."""
        for child in self._left:
            child.terminate()

    def kill(self) -> None:
        """End all."""
        for child in self._left:
            child.kill()

    def reap(self) -> None:
        """End what is left of any."""
        for child in self._children:
            child.reap()
        if self._ends is not None:
            self._ends.close()

    def exit_code(self) -> int:
        """Return the exit code of the last one."""
        return self._children[-1].exit_code()


class SupervisedChild:
    """A command that runs under a supervisor process: see supervisor.py."""

    def __init__(self, pid: int, control: int, status: int, spec: SpawnSpec) -> None:
        self.handle = status
        self._pid = pid
        self._control = control
        self._name = spec.argv[0]
        self._pipe = os.fstat(spec.output).st_ino
        self._mark = f"{MARK}={spec.environment[MARK]}"
        self._received = b""

    def has_ended(self) -> bool:
        """Read what the supervisor reports; its last word is that nothing of the command is left."""
        return not self._read() or bool(self._reported("exited"))

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
        if not self._reported("exited"):
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
        if not any(map(self._reported, ("exited", "failed", "trouble"))):
            kill_orphans(self._pipe, int(self._reported("started") or -1), self._mark)

    def exit_code(self) -> int:
        """Return the exit code that the supervisor reported."""
        if code := self._reported("exited"):
            return int(code)
        if number := self._reported("failed"):
            raise cannot_start(self._name, int(number))
        if text := self._reported("trouble"):
            kind, _, message = text.partition(" ")
            raise NotStartedError(kind, message)
        raise _supervisor_killed()

    def _wait_for_end(self, seconds: float) -> bool:
        import select

        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(int(left * 1000) + 1) and not self._read():
                return True
        return False

    def _reported(self, key: str) -> str:
        """Return what the supervisor reported under this key; nothing if it did not."""
        lines = self._received.decode("utf-8", "replace").split("\n")
        return next((line.partition(" ")[2] for line in lines if line.startswith(key + " ")), "")
