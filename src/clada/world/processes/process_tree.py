"""The processes that a process started, directly or not: finding them in /proc, and ending all of them."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SIGTERM, SIGKILL = 15, 9  # the same everywhere; importing signal costs start-up
_SIGSTOP = 19  # on Linux, and only used there
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
GIVE_UP_AFTER = 10.0  # seconds; what still lives then (another user's, stuck in the kernel) cannot be killed
_STEP = 0.005


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
    if _all_gone(reap, GRACE):
        return
    deadline = time.monotonic() + GIVE_UP_AFTER
    while reap() and time.monotonic() < deadline:
        _stop_all(me)
        send_signal(descendants(me), SIGKILL)
        _all_gone(reap, _STEP)


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


def _all_gone(reap: Callable[[], bool], seconds: float) -> bool:
    """Wait up to this long until no child is left; return whether that is so."""
    deadline = time.monotonic() + seconds
    pause = _STEP / 8
    while reap():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _STEP)
    return True


def kill_orphans(pipe: int, session: int, mark: str) -> None:
    """Kill what is left of a command whose supervisor is dead.

    Nobody has its processes as descendants any more. They are known by the pipe that they can write to, given
    its inode number, by their session, or by a variable of the environment that nothing else has.
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
