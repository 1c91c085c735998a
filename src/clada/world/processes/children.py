"""A started program as clada sees it: whether it has ended, how to end it, and its exit code."""

from __future__ import annotations

import errno
import os
import select
import time

from clada.errors import CladaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    class Child(Protocol):
        """What `processes.run` needs of a child."""

        handle: int  # becomes readable when `has_ended` may return true; -1 where the system has none

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


SIGTERM, SIGKILL = 15, 9  # the same everywhere; importing signal costs start-up
_SIGSTOP = 19  # on Linux, and only used there
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
GIVE_UP_AFTER = 10.0  # seconds; what still lives then (another user's, stuck in the kernel) cannot be killed
_STEP = 0.005  # seconds between two attempts to kill
_MOMENT = 0.001  # seconds between two questions whether a group is gone
MARK = "CLADA_COMMAND"  # the variable by which a command's processes are found if its supervisor is killed


class NotStartedError(CladaError):
    """The sandbox of a program could not be set up and nothing was run; another attempt may succeed."""


class LostExitCodeError(CladaError):
    """Another part of this process has waited for a child, or ignores all of them."""


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


def supervisor_error() -> CladaError:
    """Return the error for a command whose supervisor was killed."""
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


def end_process(pid: int) -> None:
    """End a child by SIGTERM, and wait for it."""
    send_signal([pid], SIGTERM)
    wait_for(pid)


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
        """End the rest of the group. No other process gets its number before we have waited for it."""
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
            raise LostExitCodeError(
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


class PipedChildren:
    """The programs of a pipeline, as one child: ended when all have, with the exit code of the last."""

    def __init__(self, children: list[Child]) -> None:
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
        """End the remaining processes of each."""
        for child in self._children:
            child.reap()
        if self._ends is not None:
            self._ends.close()

    def exit_code(self) -> int:
        """Return the exit code of the last one."""
        return self._children[-1].exit_code()


# The processes that a program has started.


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    found = [pid]
    for parent in found:
        found.extend(_children(parent))
    return found[1:]


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
                found += map(int, listing.read().split())
        except FileNotFoundError:  # the kernel has no such lists (CONFIG_PROC_CHILDREN), or the thread ended
            if int(thread) == pid:
                found += _children_by_search(pid)
        except OSError:
            continue
    return found


def _children_by_search(pid: int) -> list[int]:
    """Return the children by looking at every process for its parent."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                parent = int(stat.read().rpartition(b")")[2].split()[1])
        except OSError:  # it has ended
            continue
        if parent == pid:
            found.append(int(name))
    return found


def open_pidfd(pid: int) -> int:
    """Return a handle that becomes readable when the process ends; -1 where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not on macOS, old kernels and in some containers
        return -1


def send_signal(pids: Iterable[int], signal: int) -> None:
    """Send a signal to those of the processes that still exist."""
    for pid in pids:
        try:
            os.kill(pid, signal)
        except (ProcessLookupError, PermissionError):
            continue


def end_children(reap: Callable[[], bool]) -> None:
    """End everything that this process, a subreaper, has started: SIGTERM first, then SIGKILL.

    `reap` waits for the dead without blocking, and returns whether any child is left.
    """
    me = os.getpid()
    if not reap():
        return
    send_signal(descendants(me), SIGTERM)
    if _wait_until_gone(reap, GRACE):
        return
    deadline = time.monotonic() + GIVE_UP_AFTER
    while reap() and time.monotonic() < deadline:
        _stop_all(me)
        send_signal(descendants(me), SIGKILL)
        _wait_until_gone(reap, _STEP)


def end_tree(pid: int) -> None:
    """Kill a process, and before it all that it has started, which would be lost to sight without it."""
    _stop_all(pid)
    send_signal([*descendants(pid), pid], SIGKILL)


def _stop_all(pid: int) -> None:
    """Stop every descendant, so that none can start another while they are killed."""
    stopped: set[int] = set()
    deadline = time.monotonic() + GIVE_UP_AFTER
    while (fresh := set(descendants(pid)) - stopped) and time.monotonic() < deadline:
        send_signal(fresh, _SIGSTOP)
        stopped |= fresh


def _wait_until_gone(reap: Callable[[], bool], seconds: float) -> bool:
    """Wait up to this long until no child is left; return whether that is the case."""
    deadline = time.monotonic() + seconds
    pause = _STEP / 8
    while reap():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _STEP)
    return True


def kill_orphans(pipe: int, session: int, mark: str) -> None:
    """Kill the remaining processes of a command whose supervisor is dead.

    Its processes are not our descendants any more. They are known by the pipe that they can write to, given
    its inode number, by their session, or by a variable of the environment that no other process has.
    """
    deadline = time.monotonic() + GIVE_UP_AFTER
    while (pids := list(_orphans(pipe, session, mark.encode()))) and time.monotonic() < deadline:
        send_signal(pids, SIGKILL)
        time.sleep(_STEP)


def _orphans(pipe: int, session: int, mark: bytes) -> Iterator[int]:
    """Return the living processes that have one of the signs, except the host's own."""
    ours = os.getsid(0)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/stat", "rb") as facts:
                state, _parent, _group, theirs = facts.read().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X") or int(theirs) == ours:
                continue
            if int(theirs) == session or _has_variable(pid, mark) or _can_write(pid, pipe):
                yield pid
        except OSError:  # gone, or another user's
            continue


def _has_variable(pid: int, mark: bytes) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as variables:
        return mark in variables.read().split(b"\0")


def _can_write(pid: int, pipe: int) -> bool:
    return any(_is_writer(pid, handle, pipe) for handle in os.listdir(f"/proc/{pid}/fd"))


def _is_writer(pid: int, handle: str, pipe: int) -> bool:
    if os.readlink(f"/proc/{pid}/fd/{handle}") != f"pipe:[{pipe}]":
        return False
    with open(f"/proc/{pid}/fdinfo/{handle}", "rb") as facts:
        flags = next(line for line in facts if line.startswith(b"flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
