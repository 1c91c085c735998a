"""Limits of a worker and its processes: resource limits, and a control group where one can be made."""

from __future__ import annotations

import os
import resource
import signal
import sys
from contextlib import suppress

from clada.world.processes.children import send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "clada-batch-"
OWN_PROCESSES = 16  # of clada itself: the worker, supervisors, helpers of the sandbox
OWN_MEMORY = 128 << 20  # bytes of the worker, which is in the group too


def limit_worker(memory: int, processes: int) -> None:
    """Set the limits of this process, for good.

    No process gets more than `memory`. In a control group all processes together do not, and there are
    never more than `processes`. Without one, the limit of processes is that of the user; root has none.
    """
    for kind in (
        (resource.RLIMIT_DATA,) if sys.platform == "linux" else (resource.RLIMIT_DATA, resource.RLIMIT_AS)
    ):
        _lower(kind, memory + OWN_MEMORY)
    _lower(resource.RLIMIT_CORE, 0)
    if not _join_group("pids", {"pids.max": processes + OWN_PROCESSES}) and os.path.isdir("/proc"):
        _lower(resource.RLIMIT_NPROC, _threads_of_user() + processes)
    _join_group("memory", {"memory.max": memory + OWN_MEMORY, "memory.limit_in_bytes": memory + OWN_MEMORY})


def _lower(kind: int, most: int) -> None:
    soft, hard = resource.getrlimit(kind)
    most = min([most, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
    with suppress(ValueError, OSError):  # the system has no such limit
        resource.setrlimit(kind, (most, most))


def _threads_of_user() -> int:
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # it has ended
            if os.stat(f"/proc/{name}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{name}/task"))
    return count


def _join_group(controller: str, limits: dict[str, int]) -> bool:
    """Make a control group with limits below ours, and join it; return whether that was possible."""
    folder = _group_folder(controller)
    if folder is None:
        return False
    group = f"{folder}/{GROUP}{os.getpid()}"
    try:
        os.mkdir(group)
        known = [name for name in limits if os.path.exists(f"{group}/{name}")]
        for name in known:
            _write(f"{group}/{name}", limits[name])
        if not known:
            raise OSError  # noqa: TRY301 (the group does not have this controller)
        _write(f"{group}/cgroup.procs", os.getpid())
    except OSError:
        with suppress(OSError):
            os.rmdir(group)
        return False
    return True


def _write(path: str, value: int) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def _group_folder(controller: str) -> str | None:
    """Return the directory of our own control group for a controller."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            ours = dict(line.rstrip("\n").split(":", 2)[1:] for line in file)
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounts = [line.split() for line in file]
    except (OSError, ValueError):
        return None
    for fields in mounts:
        (root, point), (kind, _source, options) = fields[3:5], fields[-3:]
        if kind == "cgroup" and controller in options.split(","):
            path = next((path for names, path in ours.items() if controller in names.split(",")), "/")
        elif kind == "cgroup2":
            path = ours.get("", "/")
        else:
            continue
        return point + path.removeprefix(root.rstrip("/")).rstrip("/")
    return None


def remove_groups() -> None:
    """Remove the groups of workers that have ended, with the processes that they have left.

    bwrap 0.8 leaves one if it is killed while it starts.
    """
    for group in _groups():
        if not os.path.exists(f"/proc/{group.rpartition(GROUP)[2]}"):
            with suppress(OSError):  # a process of it is still ending
                with open(f"{group}/cgroup.procs", encoding="ascii") as file:
                    send_signal(map(int, file), signal.SIGKILL)
                os.rmdir(group)


def _groups() -> Iterator[str]:
    for folder in {_group_folder("pids"), _group_folder("memory")} - {None}:
        with suppress(OSError):
            yield from (f"{folder}/{name}" for name in os.listdir(folder) if name.startswith(GROUP))
