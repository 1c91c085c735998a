"""A program that was started, seen from clada: how to tell that it is over, to end it, and to bury it."""

from __future__ import annotations

import errno
import os
import time

from clada.errors import Trouble
from clada.world.processes.family import (
    GRACE,
    KILL,
    PATIENCE,
    TERMINATE,
    end_writers,
    watch,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from clada.world.processes.spawn import Order

    class Child(Protocol):
        """What `processes.run` needs of a child."""

        handle: int  # becomes readable when there is something to see; -1 where that cannot be had

        def is_over(self) -> bool:
            """Return whether the program has ended; asked when the handle is readable."""

        def ask(self) -> None:
            """Ask everything to end."""

        def force(self) -> None:
            """End everything, asked for in vain."""

        def bury(self) -> None:
            """Make sure that nothing is left, now."""

        def exit_code(self) -> int:
            """Return the exit code; raise Trouble if there is none. Asked once, when all output is read."""


_MOMENT = 0.001


class NotStarted(Trouble):
    """What was to surround a program could not be set up, and nothing was run: it may go better next time."""


def shell_code(state: int) -> int:
    """Return the exit code of a wait status, as a shell does: 128 + the signal that killed the process."""
    code = os.waitstatus_to_exitcode(state)
    return code if code >= 0 else 128 - code


def cannot_start(name: str, code: int) -> Trouble:
    """Return what to say when the system refuses to execute a program."""
    if code in (errno.ENOENT, errno.ENOTDIR):
        if "/" in name:
            return Trouble(
                "exec_failed", f"{name} does not exist, or the interpreter in its first line does not"
            )
        return Trouble("exec_failed", f"the interpreter in the first line of {name} is not installed")
    if code == errno.EACCES:
        return Trouble("exec_failed", f"{name} is not executable", f"chmod +x {name}")
    if code == errno.ENOEXEC:
        return Trouble(
            "exec_failed", f"{name} is not a program", "a script starts with a line such as #!/bin/sh"
        )
    if code == errno.E2BIG:
        return Trouble("exec_failed", f"the arguments of {name} are too long for the system")
    return Trouble("exec_failed", f"{name} could not be started: {os.strerror(code)}")


def _wait_for(pid: int, options: int = 0) -> tuple[bool, int | None]:
    """Return whether the child is dead, and its wait status; None if someone else has taken that."""
    try:
        found, state = os.waitpid(pid, options)
    except ChildProcessError:  # the host ignores SIGCHLD, or waits for all its children
        return True, None
    return bool(found), state


class Alone:
    """A child of our own that leads a process group; all that it starts is expected to stay in it."""

    def __init__(self, pid: int) -> None:
        self.handle = watch(pid)
        self._pid = pid
        self._state: int | None = None
        self._buried = False

    def is_over(self) -> bool:
        """Return whether the program has ended."""
        if self.handle < 0:  # without a handle, only a wait can tell
            self._wait(os.WNOHANG)
            return self._buried
        return True

    def ask(self) -> None:
        """Ask the group to end."""
        self._signal(TERMINATE)

    def force(self) -> None:
        """End the group."""
        self._signal(KILL)

    def bury(self) -> None:
        """End what is left of the group. Its number cannot be another's, as long as we have not waited."""
        self._signal(KILL)
        if not self._buried:
            self._wait(0)
        self._wait_for_group()
        if self.handle >= 0:
            os.close(self.handle)

    def _wait_for_group(self) -> None:
        """Wait until the last of the group is gone: being killed takes a moment."""
        deadline = time.monotonic() + GRACE
        while self._signal(0) and time.monotonic() < deadline:
            time.sleep(_MOMENT)

    def exit_code(self) -> int:
        """Return the exit code."""
        if self._state is None:
            raise Trouble("exec_failed", "the exit code is lost: the process that runs clada takes it itself")
        return shell_code(self._state)

    def _signal(self, signal: int) -> bool:
        try:
            os.killpg(self._pid, signal)
        except (ProcessLookupError, PermissionError):  # macOS says "permission" of a group that is dead
            return False
        return True

    def _wait(self, options: int) -> None:
        self._buried, self._state = _wait_for(self._pid, options)


class Supervised:
    """A command under a supervisor process, which see."""

    def __init__(self, pid: int, control: int, status: int, order: Order) -> None:
        self.handle = status
        self._pid = pid
        self._control = control
        self._name = order.argv[0]
        self._pipe = os.fstat(order.output).st_ino
        self._said = b""

    def is_over(self) -> bool:
        """Read what the supervisor says; it falls silent when all is over."""
        words = os.read(self.handle, 1 << 12)
        self._said += words
        return not words

    def ask(self) -> None:
        """Have the supervisor end everything: it asks first, and does not ask twice."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def force(self) -> None:
        """Trust the supervisor to do it."""

    def bury(self) -> None:
        """Wait until the supervisor is done; if it is dead or stuck, do what can be done without it."""
        self.ask()
        if not self._falls_silent(GRACE + 2 * PATIENCE):
            os.kill(self._pid, KILL)
        os.close(self.handle)
        _wait_for(self._pid)
        if not any(map(self._word, ("exited", "failed", "trouble"))):
            end_writers(self._pipe)

    def exit_code(self) -> int:
        """Return the exit code that the supervisor told."""
        if code := self._word("exited"):
            return int(code)
        if number := self._word("failed"):
            raise cannot_start(self._name, int(number))
        if text := self._word("trouble"):
            kind, _, message = text.partition(" ")
            raise Trouble(kind, message)
        raise Trouble(
            "exec_failed", "the process that supervised the command was killed", "by the command itself?"
        )

    def _falls_silent(self, seconds: float) -> bool:
        import select

        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if poll.poll(int(left * 1000) + 1) and self.is_over():
                return True
        return False

    def _word(self, key: str) -> str:
        lines = self._said.decode("utf-8", "replace").split("\n")
        return next((line.partition(" ")[2] for line in lines if line.startswith(key + " ")), "")
