"""What a hostile program would like to get at: processes, sockets, memory and files of the same person."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from tests.attacks.place import interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.attacks.place import Place

# Run as the user: what lies in the kernel, and ends with this program. It says when all is there.
OWNER = """
import ctypes, os, sys, time
libc, key, memory = ctypes.CDLL(None, use_errno=True), int(sys.argv[1]), sys.argv[2]
made = libc.shmget(key, 4096, 0o1600), libc.msgget(key, 0o1600), libc.semget(key, 1, 0o1600)
libc.msgsnd(made[1], (1).to_bytes(8, "little") + b"secret", 6, 0)
open(memory, "w").write("secret\\n")
libc.syscall({"x86_64": 248, "aarch64": 217}[os.uname().machine], b"user", b"clada-attack", b"secret", 6, -4)
print("ready", flush=True)
try:
    sys.stdin.read()
finally:
    libc.shmctl(made[0], 0, None), libc.msgctl(made[1], 0, None), libc.semctl(made[2], 0, 0)
    os.unlink(memory)
"""


class Outside:
    """What there is, as variables tell a hostile program, and what came of it."""

    def __init__(self, place: Place, victim: subprocess.Popen[bytes], datagrams: socket.socket) -> None:
        self._place, self._victim, self._datagrams = place, victim, datagrams
        self._priority = os.getpriority(os.PRIO_PROCESS, victim.pid)  # the caller may have lowered it
        self.variables: dict[str, str] = {}
        self.shared: list[str] = []

    def reached(self) -> list[str]:
        """Return what has changed outside of files: processes, and what was received or left."""
        found = [f"left {path}" for path in self.shared if os.path.exists(path)]
        with contextlib.suppress(BlockingIOError):
            found += ["a datagram came"] if self._datagrams.recv(9) else []
        if self._victim.poll() is not None:
            return [*found, "a process was ended"]
        with open(f"/proc/{self._victim.pid}/stat", encoding="ascii") as file:
            state, *facts = file.read().rpartition(")")[2].split()
        return found + [f"a process was stopped ({state})"] * (state not in "SR") + self._slowed(facts)

    def _slowed(self, facts: list[str]) -> list[str]:
        return [] if int(facts[15]) == self._priority else [f"a process has priority {facts[15]}"]


@contextlib.contextmanager
def outside(place: Place) -> Iterator[Outside]:
    """Start all that, as the user; end it afterwards."""
    name = f"clada-{os.getpid()}-{place.top.name}"
    key, memory = 0x0C1ADA00 + os.getpid() % 256, f"/dev/shm/{name}-memory"
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        _listen(stack, place, name)
        with_secret = {**place.environment(), "CONFIDENTIAL": "1"}
        victim = stack.enter_context(_ended(["cat"], place, with_secret))
        owner = stack.enter_context(
            _ended([interpreter(place.user), "-c", OWNER, str(key), memory], place, place.environment())
        )
        if owner.stdout and b"ready" not in owner.stdout.readline():
            raise RuntimeError("what is outside could not be made")
        made = Outside(place, victim, datagrams)
        folders = ("/tmp", "/dev/shm", "/var/tmp", "/usr/local/bin", "/etc")
        made.shared = [f"{folder}/{name}" for folder in folders]
        made.variables = {
            "OUTSIDE": str(place.outside), "REAL_HOME": str(place.home), "VICTIM": str(victim.pid),
            "PORT": str(listener.getsockname()[1]), "DATAGRAMS": str(datagrams.getsockname()[1]),
            "ABSTRACT": name, "SHARED": made.shared[0], "MEMORY": made.shared[1],
            "SHARED_FILE": made.shared[2],
            "PLANTED_PROGRAM": made.shared[3],
            "PLANTED_SETTING": made.shared[4],
            "MEMORY_FILE": memory, "KEY": str(key),
            "MARK": f"98765{os.getpid()}",
        }  # fmt: skip
        try:
            yield made
        finally:
            for path in filter(os.path.exists, made.shared):
                os.unlink(path)


@contextlib.contextmanager
def _ended(argv: list[str], place: Place, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=place.inside,
        **place.identity(),
    )  # fmt: skip
    try:
        yield process
    finally:  # what reads its input ends with that, in order; the rest is killed
        try:
            process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _listen(stack: contextlib.ExitStack, place: Place, name: str) -> None:
    """Listen as services do: at a path, at an abstract name, at a relative path, for datagrams, and late."""
    stream, packets = socket.SOCK_STREAM, socket.SOCK_DGRAM
    folder = os.open(place.outside, os.O_RDONLY)
    stack.callback(os.close, folder)
    here = f"/proc/self/fd/{folder}"
    for address, kind in (
        (f"{place.outside}/socket", stream),
        (f"\0{name}", stream),
        (f"{here}/relative.sock", stream),
        (f"{place.outside}/datagrams.sock", packets),
    ):
        unix = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
        unix.bind(address)
        if kind == stream:
            unix.listen()
    late = stack.enter_context(socket.socket(socket.AF_UNIX))
    over = threading.Event()
    thread = threading.Thread(target=_listen_late, args=(late, place, over))
    thread.start()
    stack.callback(thread.join)
    stack.callback(over.set)


def _listen_late(late: socket.socket, place: Place, over: threading.Event) -> None:
    while not over.is_set() and not (place.inside / "ready").exists():
        time.sleep(0.02)
    if not over.is_set():
        late.bind(f"{place.outside}/late.sock")
        late.listen()
