"""What a job takes, and the most that it may: memory and processes of a worker and all that it started."""

from __future__ import annotations

import os
import resource
import sys

from clada.world.processes.children import descendants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in which the system counts a peak
_COUNTED = ("Pss_Anon:", "Pss_Shmem:")


def limit_memory(size: int) -> None:
    """Let this process, and each that it starts, have no more memory than this: for good.

    Memory that is only reserved does not count: some programs reserve far more than they use.
    """
    for kind in (
        (resource.RLIMIT_DATA, resource.RLIMIT_AS) if sys.platform != "linux" else (resource.RLIMIT_DATA,)
    ):
        try:
            hard = resource.getrlimit(kind)[1]
            most = size if hard == resource.RLIM_INFINITY else min(size, hard)
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):  # the system has no such limit
            continue
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what crashes leaves no image of its memory


class PeakMemory:
    """The peak of this process: since it began, or since it was last reset, where the system can do that."""

    def __init__(self) -> None:
        try:
            self._handle = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            self._handle = -1

    def reset(self) -> None:
        """Count from now on."""
        if self._handle >= 0:
            os.write(self._handle, b"5")


def used_so_far() -> tuple[float, int]:
    """Return what this process has used: processor time in seconds, and its peak in bytes."""
    return usage(resource.getrusage(resource.RUSAGE_SELF))


def usage(rusage: resource.struct_rusage) -> tuple[float, int]:
    """Return processor time in seconds, and the peak in bytes of the process that needed most."""
    return rusage.ru_utime + rusage.ru_stime, rusage.ru_maxrss * _PEAK_UNIT


def too_many(count: int, allowed: int) -> str | None:
    """Return that these are more processes than are allowed; None if they are not."""
    return f"it had {count} processes, and {allowed} are allowed" if count > allowed else None


def excess(worker: int, memory: int, processes: int) -> str | None:
    """Return which limit a worker is over, with all that it started; None if it is over none."""
    pids = [worker, *descendants(worker)]
    if over := too_many(len(pids) - 1, processes):
        return over
    # What processes share is counted for each of them; where that is too much, it is counted exactly.
    if sum(map(_resident, pids)) > memory:
        exact = proportional(pids)
        if exact > memory:
            return f"it had {exact >> 20} MB of memory, and {memory >> 20} MB are allowed"
    return None


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def proportional(pids: Iterable[int]) -> int:
    """Return the memory of processes in bytes, in which what several share counts once."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) << 10 for line in file if line.startswith(_COUNTED))
        except (OSError, ValueError):
            continue  # it has ended, or the system has no such figures
    return total
