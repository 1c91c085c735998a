"""Keeps processes that multiply from filling the machine between two looks at a job: the kernel counts them.

The keeper looks at a job every few milliseconds and ends one that has too many processes. Some double faster
than that on a busy machine. So a worker also joins a control group in which there can be only so many, or,
where it may make none, takes such a limit as an ordinary user. Root without control groups has neither.

Beside hundreds of processes that all want to run, the keeper hardly gets a turn: in a group it counts and
ends them with a few calls, and does not have to find them one by one.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from clada.world.processes.children import SIGKILL, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "clada-batch-"
_THREADS = 16  # of each process: the kernel counts threads, where the limit of a job is one of processes
_ROOM = 64  # for our own, and for what has just ended
_LIMITS = ("memory.max", "memory.high", "memory.swap.max", "cpu.max", "io.max", "cpuset.cpus")  # of a group


def bound_processes(keeper: int, processes: int) -> None:
    """Keep this process and all that it starts from growing far beyond so many, where the system can."""
    most = processes * _THREADS + _ROOM
    if (
        not any(_join(folder, keeper, most) for folder in _folders())
        and os.getuid()
        and os.path.isdir("/proc")
    ):
        _limit_user(most)


def group_of(keeper: int) -> str:
    """Return the group that the worker of a keeper has joined; "" if it has none."""
    groups = (f"{folder}/{_NAME}{keeper}" for folder in _folders())
    return next(filter(os.path.isdir, groups), "")


def members(group: str | None) -> list[int]:
    """Return the processes of a group; nothing where there is none."""
    if not group:
        return []
    with suppress(OSError), open(f"{group}/cgroup.procs") as file:
        return list(map(int, file.read().split()))
    return []  # it is gone


def end_group(group: str | None) -> None:
    """Kill all processes of a group, which can start no others from now on."""
    if group:
        with suppress(OSError), open(f"{group}/pids.max", "w") as file:
            file.write("0")
        send_signal(members(group), SIGKILL)


def remove_groups(keeper: int | None = None) -> None:
    """Remove the group of a keeper, or those that keepers have left which were killed."""
    for folder in _folders():
        with suppress(OSError):
            for name in os.listdir(folder):
                owner = name.removeprefix(_NAME)
                if owner != name and (owner == f"{keeper}" or not os.path.exists(f"/proc/{owner}")):
                    with suppress(OSError):  # somebody is still in it
                        os.rmdir(f"{folder}/{name}")


def _folders() -> Iterator[str]:
    """Yield where a group that counts processes may stand: below ours, or beside it, as versions differ."""
    try:
        with open("/proc/self/cgroup") as file:
            ours = dict(line.rstrip("\n").split(":", 2)[1:] for line in file)
        with open("/proc/self/mountinfo") as file:
            mounts = [line.split() for line in file]
    except (OSError, ValueError):
        return  # there are none
    for fields in mounts:
        root, point = fields[3:5]
        kind, _source, options = fields[-3:]
        if kind == "cgroup" and "pids" in options.split(","):
            place = next((path for names, path in ours.items() if "pids" in names.split(",")), "/")
            yield point + place.removeprefix(root.rstrip("/")).rstrip("/")
        elif kind == "cgroup2":
            place = point + ours.get("", "/").removeprefix(root.rstrip("/")).rstrip("/")
            yield place
            if place != point and not _has_limits(place):
                yield os.path.dirname(place)


def _has_limits(group: str) -> bool:
    """Whether somebody has set limits for all in a group: these would not hold for who leaves it."""
    for name in _LIMITS:
        with suppress(OSError), open(f"{group}/{name}") as file:
            limit = file.read().strip()
            if limit and not limit.startswith("max"):
                return True
    return False


def _join(folder: str, keeper: int, most: int) -> bool:
    group = f"{folder}/{_NAME}{keeper}"
    try:
        with suppress(FileExistsError):
            os.mkdir(group)
        for name, value in (("pids.max", most), ("cgroup.procs", 0)):  # 0: this process
            with open(f"{group}/{name}", "w") as file:
                file.write(f"{value}")
    except OSError:  # it is not ours to make, or has no count of processes
        with suppress(OSError):
            os.rmdir(group)
        return False
    return True


def _limit_user(most: int) -> None:
    """Take a limit that counts all processes of the user: so many more than there are now."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            if os.stat(f"/proc/{name}").st_uid == os.getuid():
                most += len(os.listdir(f"/proc/{name}/task"))
    limits = [limit for limit in resource.getrlimit(resource.RLIMIT_NPROC) if limit != resource.RLIM_INFINITY]
    if most < min(limits, default=most + 1):
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
