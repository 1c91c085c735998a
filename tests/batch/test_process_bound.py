"""Processes that multiply are bounded by the kernel, whether or not anyone looks at them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
