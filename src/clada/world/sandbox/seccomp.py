"""A seccomp filter: the kernel refuses system calls that would lead out of the sandbox.

Landlock knows no sockets but TCP's, no namespaces, and no io_uring, which could open sockets past the filter;
these are refused here. The filter is a list of BPF instructions.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from clada.world.libc import LIBC

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_NUMBER, _ARCHITECTURE = 0, 4  # where the kernel's seccomp_data has them
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # a second set of numbers on x86_64, for the same calls
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_INET, _INET6, _NETLINK = 2, 10, 16

# Refused with EPERM: no build or test needs them, and they reach out of the sandbox or deep into the kernel.
_REFUSED = "setns keyctl add_key request_key bpf perf_event_open userfaultfd mount umount2 pivot_root".split()
_REFUSED += "open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr".split()
# Refused with ENOSYS: programs then use older calls, whose arguments the filter can look at.
_MISSING = "clone3 io_uring_setup io_uring_enter io_uring_register".split()

_COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
}
_X86_64 = dict(
    zip(
        "socket clone truncate pivot_root mount umount2 add_key request_key keyctl unshare perf_event_open "
        "setns bpf userfaultfd".split(),
        (41, 56, 76, 155, 165, 166, 248, 249, 250, 272, 298, 308, 321, 323),
        strict=True,
    )
)
_AARCH64 = dict(
    zip(
        "umount2 mount pivot_root truncate unshare socket add_key request_key keyctl clone perf_event_open "
        "setns bpf userfaultfd".split(),
        (39, 40, 41, 45, 97, 198, 217, 218, 219, 220, 241, 268, 280, 282),
        strict=True,
    )
)
# By the name in uname: the number of the architecture, and the numbers of its system calls.
_MACHINES = {"x86_64": (0xC000003E, _X86_64 | _COMMON), "aarch64": (0xC00000B7, _AARCH64 | _COMMON)}


def is_supported() -> bool:
    """Return whether this kernel takes filters, and we know the numbers of this machine's system calls."""
    LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return os.uname().machine in _MACHINES and ctypes.get_errno() == errno.EFAULT


def socket_filter(*, network: bool, refused: tuple[str, ...] = ()) -> bytes:
    """Return the filter: with network, internet sockets are allowed; `refused` names more calls to refuse."""
    architecture, numbers = _MACHINES[os.uname().machine]
    domains = [_INET, _INET6] * network
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, no=0, yes=1),
        _refuse(errno.ENOSYS),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, no=1),
        _refuse(errno.ENOSYS),
    ]
    for name in _MISSING:
        program += [_step(_EQUAL, numbers[name], no=1), _refuse(errno.ENOSYS)]
    for name in (*_REFUSED, *refused):
        program += [_step(_EQUAL, numbers[name], no=1), _refuse(errno.EPERM)]
    program += _no_user_namespace(numbers["clone"]) + _no_user_namespace(numbers["unshare"])
    program += _only_domains(numbers["socket"], domains)
    return b"".join([*program, _step(_RETURN, _ALLOW)])


def _no_user_namespace(number: int) -> list[bytes]:
    """Refuse this call, clone or unshare, where it would make a user namespace."""
    return [
        _step(_EQUAL, number, no=4),
        _step(_LOAD, _argument(0)),
        _step(_ANY_BIT, _NEW_USER, no=1),
        _refuse(errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]


def _only_domains(number: int, domains: list[int]) -> list[bytes]:
    """Allow sockets of these domains only, and netlink sockets that list the network interfaces."""
    checks = [part for domain in domains for part in (_step(_EQUAL, domain, no=1), _step(_RETURN, _ALLOW))]
    interfaces = [
        _step(_EQUAL, _NETLINK, no=3),
        _step(_LOAD, _argument(2)),
        _step(_EQUAL, 0, no=1),
        _step(_RETURN, _ALLOW),
    ]
    body = [_step(_LOAD, _argument(0)), *checks, *interfaces, _refuse(errno.EPERM)]
    return [_step(_EQUAL, number, no=len(body)), *body]


def _argument(index: int) -> int:
    return 16 + 8 * index


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def install(program: bytes) -> None:
    """Apply the filter to this thread and all that it starts."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    if LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
