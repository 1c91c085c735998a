"""A supervisor that is killed from outside, as the system does for want of memory, leaves nothing behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from tests.waiting import eventually
from tests.world.test_sandbox import EVERY, Place, layer_mark, place

from clada.errors import CladaError
from clada.world.processes.children import descendants

__all__ = ["place"]

PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")
# Each leaves a process that sleeps, and says so by a file; the process has the mark among its arguments.
LEAVING = {
    "in the same session": "subprocess.Popen([*sleeper], stdout=nowhere, stderr=nowhere)",
    "in a session of its own": (
        "subprocess.Popen([*sleeper], stdout=nowhere, stderr=nowhere, start_new_session=True)"
    ),
    "without variables": "subprocess.Popen([*sleeper], stdout=nowhere, stderr=nowhere, env={})",
    "with nothing but its output": "subprocess.Popen([*sleeper], env={}, start_new_session=True)",
    "twice removed": (
        "subprocess.Popen([sys.executable, '-c', 'import subprocess, sys; subprocess.Popen(sys.argv[1:], "
        "stdout=-3, stderr=-3, start_new_session=True)', *sleeper]).wait()"
    ),
}
SCRIPT = """
import subprocess, sys, time
nowhere = subprocess.DEVNULL
sleeper = [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]]
{leaving}
open("ready", "w").close()
time.sleep(600)
"""


def _alive(mark: str) -> list[int]:
    """Return the processes that have the mark among their arguments."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if mark.encode() in Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


@pytest.mark.sample(5)
@pytest.mark.parametrize("leaving", LEAVING)
@pytest.mark.parametrize(
    "layer", ["none", *(pytest.param(name, marks=layer_mark(name)) for name in EVERY if name != "bubblewrap")]
)
def test_nothing_is_left(layer: str, leaving: str, place: Place) -> None:
    """Every process of the command is ended; bubblewrap needs no supervisor."""
    mark = f"clada-mark-{os.urandom(6).hex()}"
    me = os.getpid()
    killer = os.fork()
    if not killer:
        try:
            ready = f"{place.workspace}/ready"
            eventually(lambda: os.path.exists(ready))
            ours = [pid for pid in descendants(me) if _parent(pid) == me]
            marked = set(_alive(mark))
            os.kill(next(pid for pid in ours if marked & set(descendants(pid))), signal.SIGKILL)
        finally:
            os._exit(0)
    try:
        script = SCRIPT.format(leaving=LEAVING[leaving])
        with pytest.raises(CladaError, match="the process that supervised the command was killed"):
            place.run(*PYTHON, script, mark, layer=layer)
    finally:
        os.waitpid(killer, 0)
    assert os.path.exists(f"{place.workspace}/ready")
    until = time.monotonic() + 2  # a namespace that ends takes a moment
    while (left := _alive(mark)) and time.monotonic() < until:
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_processes_of_others_are_left_alone(place: Place) -> None:
    """A process of the person's own that looks like the command's, but for the signs, goes on."""
    other = os.fork()
    if not other:
        os.setsid()
        signal.pause()
        os._exit(0)
    try:
        test_nothing_is_left("none", "in a session of its own", place)
        assert os.waitpid(other, os.WNOHANG) == (0, 0)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
