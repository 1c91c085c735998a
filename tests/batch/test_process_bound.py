"""Processes that multiply are bounded by the kernel, whether or not anyone looks at them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import IO

import pytest

from clada.batch import process_bound

# Starts as many processes as it can, up to 400, and says how many those were.
MULTIPLY = """
import os, signal, sys
from clada.batch.process_bound import bound_processes
if len(sys.argv) > 1:  # as this user
    os.setgroups([])
    os.setgid(int(sys.argv[1]))
    os.setuid(int(sys.argv[1]))
bound_processes(os.getpid(), 2)
started = []
try:
    while len(started) < 400:
        child = os.fork()
        if not child:
            signal.pause()
        started.append(child)
except BlockingIOError:
    pass
print(len(started))
for child in started:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def grown(*user: str) -> int:
    """Return how many processes one that multiplies can start beside itself; two would be allowed."""
    command = [sys.executable, "-c", MULTIPLY, *user]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    process_bound.remove_groups()
    return int(done.stdout)


def can_make_groups() -> bool:
    """Return whether this machine lets us make a control group that counts processes."""
    return any(os.access(folder, os.W_OK) for folder in process_bound._folders())


@pytest.mark.skipif(not can_make_groups(), reason="no control groups that count processes may be made here")
def test_a_control_group_holds_processes_that_multiply() -> None:
    """Whoever starts them, and whether or not anyone looks."""
    assert grown() < 2 * process_bound._THREADS + process_bound._ROOM


BOMB = """
import os, sys, time
from clada.batch.process_bound import bound_processes
bound_processes(int(sys.argv[1]), 4)
end = time.time() + 60
while time.time() < end:
    try:
        os.fork()
    except BlockingIOError:
        time.sleep(0.001)
"""


@pytest.mark.skipif(not can_make_groups(), reason="no control groups that count processes may be made here")
def test_processes_that_multiply_are_counted_and_ended_at_once() -> None:
    """One look kills all of them, for none can start another meanwhile."""
    keeper = os.getpid()
    with subprocess.Popen([sys.executable, "-c", BOMB, str(keeper)]) as bomb:
        end = time.monotonic() + 60
        while len(process_bound.members(group := process_bound.group_of(keeper))) < 100:
            assert time.monotonic() < end
        process_bound.end_group(group)
        bomb.wait(60)
    while process_bound.members(group):  # each takes a moment to die
        assert time.monotonic() < end
    process_bound.remove_groups(keeper)
    assert process_bound.group_of(keeper) == ""


@pytest.mark.parametrize("group", [None, ""])
def test_without_a_group_nobody_is_counted_or_ended(group: str | None) -> None:
    """Least of all by a file in the root of the system."""
    process_bound.end_group(group)
    assert process_bound.members(group) == []
    assert not Path("/pids.max").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are counted in /proc")
def test_the_limit_of_an_ordinary_user_holds_processes_that_multiply() -> None:
    """It counts all that the user has, of which some may end meanwhile."""
    assert grown(*(["65534"] if os.getuid() == 0 else [])) < 300


@pytest.mark.skipif(not can_make_groups(), reason="no control groups that count processes may be made here")
def test_groups_of_keepers_that_were_killed_are_removed() -> None:
    """The next keeper does it; a group whose keeper lives stays."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    folder = next(folder for folder in process_bound._folders() if os.access(folder, os.W_OK))
    left = Path(folder, f"{process_bound._NAME}{gone.pid}")
    kept = Path(folder, f"{process_bound._NAME}{os.getpid()}")
    left.mkdir()
    kept.mkdir()
    process_bound.remove_groups()
    assert (left.exists(), kept.exists()) == (False, True)
    process_bound.remove_groups(os.getpid())
    assert not kept.exists()


@pytest.mark.skipif(not can_make_groups(), reason="no control groups that count processes may be made here")
def test_a_group_that_somebody_is_still_in_keeps_no_other_from_being_removed() -> None:
    """What a killed keeper left may live on for a while."""
    folder = next(folder for folder in process_bound._folders() if os.access(folder, os.W_OK))
    gone = [subprocess.Popen(["true"]) for _ in range(4)]
    groups = [Path(folder, f"{process_bound._NAME}{process.pid}") for process in gone]
    sleeper = subprocess.Popen(["sleep", "60"])
    for process, group in zip(gone, groups, strict=True):
        process.wait()
        group.mkdir()
    busy = Path(folder, next(name for name in os.listdir(folder) if Path(folder, name) in groups))
    (busy / "cgroup.procs").write_text(f"{sleeper.pid}", encoding="ascii")
    try:
        process_bound.remove_groups()
        assert [group for group in groups if group.exists()] == [busy]
    finally:
        sleeper.kill()
        sleeper.wait()
        process_bound.remove_groups()
    assert not busy.exists()


@pytest.mark.parametrize(
    ("name", "limit", "has"),
    [
        ("memory.max", "max\n", False),
        ("memory.max", "1073741824\n", True),
        ("memory.high", "1073741824\n", True),
        ("cpu.max", "max 100000\n", False),
        ("cpu.max", "50000 100000\n", True),
        ("io.max", "", False),
        ("io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=max\n", True),
        ("cpuset.cpus", "\n", False),
        ("cpuset.cpus", "0-1\n", True),
    ],
)
def test_no_job_leaves_a_group_that_has_limits_for_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str, *, has: bool
) -> None:
    """As a service does: the memory of all its processes together, say, is what somebody has allowed it."""
    service = tmp_path / "slice" / "service"
    service.mkdir(parents=True)
    (service / name).write_text(limit, encoding="ascii")
    described = {
        "/proc/self/cgroup": "0::/slice/service\n",
        "/proc/self/mountinfo": f"30 23 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw\n",
    }

    def open_described(path: str) -> IO[str]:
        return StringIO(described[path]) if path in described else open(path, encoding="ascii")

    monkeypatch.setattr(process_bound, "open", open_described, raising=False)
    beside = [] if has else [str(service.parent)]
    assert list(process_bound._folders()) == [str(service), *beside]
