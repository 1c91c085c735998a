"""A program that makes system calls: it prints each call's name and its error, or `ok`, one on a line.

The test puts it into the workspace and runs it there, confined, without packages.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"keyctl": 250, "add_key": 248, "request_key": 249, "ptrace": 101, "bpf": 321, "kcmp": 312}
    | {"perf_event_open": 298, "userfaultfd": 323, "process_vm_readv": 310, "process_vm_writev": 311}
    | {"sched_setattr": 314, "ioprio_set": 251, "mq_open": 240, "setns": 308, "ioctl": 16, "clone": 56},
    "aarch64": {"keyctl": 219, "add_key": 217, "request_key": 218, "ptrace": 117, "bpf": 280, "kcmp": 272}
    | {"perf_event_open": 241, "userfaultfd": 282, "process_vm_readv": 270, "process_vm_writev": 271}
    | {"sched_setattr": 274, "ioprio_set": 30, "mq_open": 180, "setns": 268, "ioctl": 29, "clone": 220},
}[os.uname().machine] | {"io_uring_setup": 425, "pidfd_getfd": 438, "clone3": 435, "openat2": 437}
OTHER = os.getppid()  # a process that is not this one


def _kernel(name: str, *arguments: object) -> Callable[[], None]:
    def call() -> None:
        words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
        if LIBC.syscall(ctypes.c_long(NUMBERS[name]), *words) < 0:
            raise OSError(ctypes.get_errno(), name)

    return call


def _library(name: str, *arguments: object) -> Callable[[], None]:
    def call() -> None:
        if getattr(LIBC, name)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), name)

    return call


def _socket(family: int, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> Callable[[], None]:
    return lambda: socket.socket(family, kind, protocol).close()


def _open(flags: int, mode: int, name: str = "made") -> Callable[[], None]:
    return lambda: os.close(os.open(name, flags, mode))


def _file(mode: int) -> Callable[[], None]:
    def change() -> None:
        handle = os.open("fresh", os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    return change


def _attribute() -> None:
    with open("attribute", "w", encoding="ascii"):
        os.setxattr("attribute", "user.x", b"x")


def _limit(name: str, word: int) -> Callable[[], None]:
    limits = (ctypes.c_ulong * 2)(1 << 20, 1 << 20)
    return _library(name, word, 4, limits, None)  # the size of core files, which is not needed


CREATE = os.O_CREAT | os.O_WRONLY
NOWHERE = ctypes.create_string_buffer(256)
CALLS: dict[str, Callable[[], object]] = {
    # What reaches other processes.
    "ptrace itself": _kernel("ptrace", 0, 0, 0, 0),
    "ptrace another": _kernel("ptrace", 16, OTHER, 0, 0),
    "process_vm_readv": _kernel("process_vm_readv", OTHER, NOWHERE, 0, NOWHERE, 0, 0),
    "process_vm_writev": _kernel("process_vm_writev", OTHER, NOWHERE, 0, NOWHERE, 0, 0),
    "kcmp": _kernel("kcmp", os.getpid(), OTHER, 0, 0, 0),
    "pidfd_getfd": _kernel("pidfd_getfd", 0, 0, 0),
    "prlimit of another": _limit("prlimit", OTHER),
    "prlimit of itself": _limit("prlimit", 0),
    "affinity of another": lambda: os.sched_setaffinity(OTHER, os.sched_getaffinity(0)),
    "affinity of itself": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
    "scheduler of another": lambda: os.sched_setscheduler(OTHER, os.SCHED_BATCH, os.sched_param(0)),
    "scheduler of itself": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "sched_setattr of another": _kernel("sched_setattr", OTHER, NOWHERE, 0),
    "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, OTHER, 19),
    "priority of a group": lambda: os.setpriority(os.PRIO_PGRP, OTHER, 19),
    "priority of the person": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "priority of itself": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "ioprio of another": _kernel("ioprio_set", 1, OTHER, 3 << 13),
    "ioprio of the person": _kernel("ioprio_set", 3, 0, 3 << 13),
    "ioprio of itself": _kernel("ioprio_set", 1, 0, 3 << 13),
    # What reaches into the kernel.
    "keyctl": _kernel("keyctl", 0, -3, 0),
    "add_key": _kernel("add_key", b"user", b"clada", b"x", 1, -3),
    "request_key": _kernel("request_key", b"user", b"clada", 0, -3),
    "io_uring": _kernel("io_uring_setup", 1, NOWHERE),
    "bpf": _kernel("bpf", 0, NOWHERE, 0),
    "perf_event_open": _kernel("perf_event_open", NOWHERE, 0, -1, -1, 0),
    "userfaultfd": _kernel("userfaultfd", 1),
    "setns": _kernel("setns", 0, 0),
    "user namespace": _library("unshare", 0x10000000),
    "user namespace by clone": _kernel("clone", 0x10000000 | 17, 0, 0, 0, 0),
    "clone3": _kernel("clone3", NOWHERE, 0),
    "openat2": _kernel("openat2", -100, b".", NOWHERE, 24),
    "typing on a terminal": _kernel("ioctl", 0, 0x5412, b"x"),
    # Memory and queues of other programs.
    "shared memory": _library("shmget", 0, 4096, 0o1600),
    "message queue": _library("msgget", 0, 0o1600),
    "semaphores": _library("semget", 0, 1, 0o1600),
    "named queue": _kernel("mq_open", b"clada", 0o100, 0o600, 0),
    # Files.
    "extended attribute": _attribute,
    "setuid by chmod": lambda: os.chmod("made", 0o4755),
    "setgid by chmod": lambda: os.chmod("made", 0o2755),
    "setuid by fchmod": _file(0o4755),
    "setuid by open": _open(CREATE, 0o4755, "a"),
    "setuid by creat": _library("creat", b"b", 0o4755),
    "setuid by mknod": lambda: os.mknod("c", 0o104755),
    "setuid by a nameless file": _open(os.O_TMPFILE | os.O_WRONLY, 0o4755, "."),
    "setgid by mkdir": lambda: os.mkdir("d", 0o2755),
    "sticky by chmod": lambda: os.chmod("made", 0o1755),
    "an ordinary mode": lambda: os.chmod("made", 0o755),
    "an ordinary nameless file": _open(os.O_TMPFILE | os.O_WRONLY, 0o600, "."),
    # Sockets.
    "internet": _socket(socket.AF_INET),
    "internet 6": _socket(socket.AF_INET6),
    "datagrams": _socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP),
    "odd protocol": _socket(socket.AF_INET, socket.SOCK_STREAM, 132),
    "local sockets": _socket(socket.AF_UNIX),
    "a pair of sockets": lambda: list(map(socket.socket.close, socket.socketpair())),
    "virtual machines": _socket(40),
    "packets": _socket(17, socket.SOCK_RAW),
    "crypto": _socket(38, socket.SOCK_SEQPACKET),
    "bluetooth": _socket(31, socket.SOCK_RAW),
    "interfaces": _socket(16, socket.SOCK_RAW, 0),
    "audit": _socket(16, socket.SOCK_RAW, 9),
    "uevents": _socket(16, socket.SOCK_RAW, 15),
}


def _tried(call: Callable[[], object]) -> str:
    try:
        call()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")
    return "ok"


if __name__ == "__main__":
    os.umask(0)
    for name in sys.argv[1:] or CALLS:
        sys.stdout.write(f"{name}: {_tried(CALLS[name])}\n")
