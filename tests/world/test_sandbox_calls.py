"""System calls that lead out of a sandbox are refused in every layer, to root and to others."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.waiting import PATIENCE

import clada
from clada.world.sandbox import layers as confinement
from clada.world.sandbox import seccomp
from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLS = Path(__file__).with_name("sandbox_calls.py")
SOURCE = str(Path(clada.__file__).parents[1])
PYTHON = "/usr/bin/python3"  # one that every user can execute
NOBODY = 65534
# Runs a program of the workspace in a layer, as an ordinary user where that is asked for.
DRIVER = """
import os, sys
workspace, layer, network, user, *words = sys.argv[1:]
os.setgroups([]) if os.geteuid() == 0 else None
if int(user) != os.geteuid(): os.setgid(int(user)); os.setuid(int(user))
sys.path.insert(0, SOURCE)
from clada.errors import CladaError
from clada.world.processes.run import RunOptions, run
from clada.world.sandbox.layers import Confinement, confined_launcher
wanted = Confinement(layer, workspace, network=network == "on")
try:
    options = RunOptions(os.open(workspace, os.O_RDONLY), 60.0,
                         lambda lines: print(*lines, sep="\\n", flush=True))
    ended = run(words, confined_launcher(wanted, os.environ), options)
    print("ended", ended.exit_code)
except CladaError as trouble:
    print("trouble", trouble)
"""

REFUSED_EVERYWHERE = {
    **dict.fromkeys(("ptrace itself", "ptrace another", "process_vm_readv", "process_vm_writev"), "EPERM"),
    **dict.fromkeys(("kcmp", "pidfd_getfd", "keyctl", "add_key", "request_key", "bpf"), "EPERM"),
    **dict.fromkeys(("perf_event_open", "userfaultfd", "setns", "user namespace"), "EPERM"),
    **dict.fromkeys(("user namespace by clone", "typing on a terminal"), "EPERM"),
    **dict.fromkeys(("io_uring", "clone3", "openat2"), "ENOSYS"),
    **dict.fromkeys(("setuid by chmod", "setgid by chmod", "setuid by fchmod", "setuid by open"), "EPERM"),
    **dict.fromkeys(("setuid by creat", "setuid by mknod", "setuid by a nameless file"), "EPERM"),
    **dict.fromkeys(("setgid by mkdir", "virtual machines", "packets", "crypto", "bluetooth"), "EPERM"),
    **dict.fromkeys(("audit", "uevents", "odd protocol"), "EPERM"),
    **dict.fromkeys(("prlimit of itself", "affinity of itself", "scheduler of itself"), "ok"),
    **dict.fromkeys(("priority of itself", "ioprio of itself", "a pair of sockets", "interfaces"), "ok"),
    **dict.fromkeys(("sticky by chmod", "an ordinary mode", "an ordinary nameless file"), "ok"),
}
OTHERS = (
    *("prlimit of another", "affinity of another", "scheduler of another", "sched_setattr of another"),
    *("priority of another", "priority of a group", "priority of the person"),
    *("ioprio of another", "ioprio of the person"),
)
MEMORY = ("shared memory", "message queue", "semaphores", "named queue")
INTERNET = ("internet", "internet 6", "datagrams")
# Where nothing is shared with the processes outside, a command may do these to its own.
SHARED = dict.fromkeys((*OTHERS, *MEMORY), "EPERM") | {"extended attribute": "ENOTSUP"}
SOCKETS = {
    ("bubblewrap", "off"): dict.fromkeys((*INTERNET, "local sockets"), "ok"),
    ("bubblewrap", "on"): dict.fromkeys(INTERNET, "ok") | {"local sockets": "EPERM"},
    ("namespace", "off"): dict.fromkeys((*INTERNET, "local sockets"), "ok"),
    ("namespace", "on"): dict.fromkeys(INTERNET, "ok") | {"local sockets": "EPERM"},
    ("landlock", "off"): dict.fromkeys((*INTERNET, "local sockets"), "EPERM"),
    ("landlock", "on"): dict.fromkeys(INTERNET, "ok") | {"local sockets": "EPERM"},
}
WORKS = {
    "bubblewrap": confinement.has_bubblewrap,
    "namespace": confinement.has_namespaces,
    "landlock": has_landlock,
}


@pytest.fixture
def workspace() -> Iterator[str]:
    """Make a workspace that an ordinary user can reach, with the program in it."""
    folder = tempfile.mkdtemp(prefix="clada-test-", dir="/var/tmp")
    shutil.copy(CALLS, folder)
    Path(folder, "made").touch()
    yield folder
    shutil.rmtree(folder)


def confined(workspace: str, layer: str, network: str, user: int, *words: str) -> list[str]:
    """Run a program of the workspace as a user under a layer; return the lines that it prints."""
    if not WORKS[layer]():
        pytest.skip(f"{layer} does not work on this machine")
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can run a program as another user")
    for path in (Path(workspace), *Path(workspace).iterdir()):
        os.chown(path, user, user)
    driver = DRIVER.replace("SOURCE", repr(SOURCE))
    done = subprocess.run(
        [PYTHON, "-I", "-S", "-c", driver, workspace, layer, network, str(user), PYTHON, "-I", "-S", *words],
        check=True, capture_output=True, text=True, timeout=PATIENCE * 4,
        env=os.environ | {"HOME": "/nowhere"},
    )  # fmt: skip
    return done.stdout.splitlines()


@pytest.mark.parametrize("user", [os.geteuid(), NOBODY], ids=["this user", "an ordinary user"])
@pytest.mark.parametrize(("layer", "network"), SOCKETS)
def test_calls(layer: str, network: str, user: int, workspace: str) -> None:
    """Each call is refused as the table says, and those that programs need are not."""
    lines = confined(workspace, layer, network, user, CALLS.name)
    assert lines.pop() == "ended 0", lines
    found = dict(line.split(": ") for line in lines)
    expected = REFUSED_EVERYWHERE | SOCKETS[layer, network]
    expected |= SHARED if layer == "landlock" else {}
    assert {name: found[name] for name in expected} == expected
    own = {name: found[name] for name in SHARED if name not in expected}
    assert "EPERM" not in {own.get(name) for name in ("prlimit of itself", *MEMORY)}


def test_every_refusal_has_a_reason() -> None:
    """The table says why for each call, and names no call twice under the same conditions."""
    assert all(row.reason for row in seccomp.REFUSALS)
    rows = [(name, row.conditions) for row in seccomp.REFUSALS for name in row.calls.split()]
    assert len(rows) == len(set(rows))


def test_what_the_table_names_is_known() -> None:
    """A name that is not in the tables of numbers would be refused nowhere."""
    known = {name for _number, numbers in seccomp._MACHINES.values() for name in numbers}
    assert {name for row in seccomp.REFUSALS for name in row.calls.split()} <= known


STOPPED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).ptrace(0, 0, None, None)
print("stopping", flush=True)
os.kill(os.getpid(), signal.SIGSTOP) if "stop" in sys.argv else None
"""


def test_a_command_that_makes_its_supervisor_a_tracer(workspace: str) -> None:
    """Without a sandbox too, a command that stops as a traced one is ended in time, with its exit code."""
    from clada.world.processes.run import Launcher, RunOptions, run

    lines: list[str] = []
    handle = os.open(workspace, os.O_RDONLY)
    try:
        ended = run(
            [PYTHON, "-I", "-S", "-c", STOPPED, "stop"],
            Launcher(os.environ),
            RunOptions(directory=handle, timeout=2.0, emit=lines.extend),
        )
    finally:
        os.close(handle)
    assert (lines, ended.timed_out, ended.exit_code) == (["stopping"], True, 137)
