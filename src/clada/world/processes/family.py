"""The processes that a process started, directly or not: found in /proc, and ended for good."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TERMINATE, KILL = 15, 9  # the numbers of SIGTERM and SIGKILL everywhere; importing signal costs start-up
STOP = 19  # of SIGSTOP on Linux, where alone it is used
GRACE = 0.5  # seconds between asking and killing
PATIENCE = 10.0  # seconds after which what cannot be killed (another user's, stuck in the kernel) is left
_STEP = 0.005


def descendants(pid: int) -> list[int]:
    """Return the processes that this one started, and those that they started, and so on."""
    found = [pid]
    for parent in found:
        found.extend(_children(parent))
    return found[1:]


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [child for thread in threads for child in _children_of_thread(pid, thread)]


def _children_of_thread(pid: int, thread: str) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{thread}/children", "rb") as listing:
            return [int(word) for word in listing.read().split()]
    except FileNotFoundError:
        return _children_by_search(pid) if int(thread) == pid else []
    except OSError:
        return []


def _children_by_search(pid: int) -> list[int]:
    """Return the children on a kernel that does not list them (CONFIG_PROC_CHILDREN)."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(name) == pid]


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def watch(pid: int) -> int:
    """Return a handle that becomes readable when the process ends; -1 where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not on macOS, old kernels and in some containers
        return -1


def send(pids: Iterable[int], signal: int) -> None:
    """Signal all of these processes, as far as they are still there."""
    for pid in pids:
        try:
            os.kill(pid, signal)
        except (ProcessLookupError, PermissionError):
            continue


def end_children(reap: Callable[[], bool]) -> None:
    """End everything that this process started, as its subreaper; `reap` says whether anything is left."""
    me = os.getpid()
    if not reap():
        return
    send(descendants(me), TERMINATE)
    if _gone(reap, GRACE):
        return
    deadline = time.monotonic() + PATIENCE
    while reap() and time.monotonic() < deadline:
        _stop_all(me)
        send(descendants(me), KILL)
        _gone(reap, _STEP)


def end_writers(pipe: int) -> None:
    """End the processes that can write to a pipe: all that is known of a command whose supervisor is dead."""
    deadline = time.monotonic() + PATIENCE
    while (pids := list(_writers(pipe))) and time.monotonic() < deadline:
        send(pids, KILL)
        time.sleep(_STEP)


def _writers(pipe: int) -> Iterator[int]:
    """Return the processes that hold the writing end, but for the host's own, which are in its session."""
    ours = os.getsid(0)
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            handles = os.listdir(f"/proc/{pid}/fd") if os.getsid(pid) != ours else []
            if any(_is_writer(pid, handle, pipe) for handle in handles):
                yield pid
        except OSError:  # gone, or another user's
            continue


def _is_writer(pid: int, handle: str, pipe: int) -> bool:
    if os.readlink(f"/proc/{pid}/fd/{handle}") != f"pipe:[{pipe}]":
        return False
    with open(f"/proc/{pid}/fdinfo/{handle}", "rb") as facts:
        flags = next(line for line in facts if line.startswith(b"flags:"))
    return int(flags.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _stop_all(pid: int) -> None:
    """Stop every descendant, so that none can start another while they are killed."""
    stopped: set[int] = set()
    deadline = time.monotonic() + PATIENCE
    while (fresh := set(descendants(pid)) - stopped) and time.monotonic() < deadline:
        send(fresh, STOP)
        stopped |= fresh


def _gone(reap: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    pause = _STEP / 8
    while reap():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, _STEP)
    return True
