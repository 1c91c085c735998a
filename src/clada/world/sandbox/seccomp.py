"""A seccomp filter: the kernel refuses system calls that would lead out of the sandbox.

Mounts and Landlock are about files. What reaches other processes, the kernel's own tables or sockets is
refused here, by one table for every layer. The filter is a list of BPF instructions.
"""

from __future__ import annotations

import errno
import os
import struct

from clada.values import Value
from clada.world.libc import LIBC, c_char_p, c_void_p, check, get_errno

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_NUMBER, _ARCHITECTURE = 0, 4  # where the kernel's seccomp_data has them
_LOAD, _JUMP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_GROUP = 12  # calls that the filter jumps over at once
_X32 = 0x40000000  # a second set of numbers on x86_64, for the same calls

_NEW_USER = 0x10000000  # CLONE_NEWUSER
_CREATES = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE: only then is there a mode
_SET_ID = 0o6000
_FAKE_INPUT, _LINUX_CONSOLE = 0x5412, 0x541C  # TIOCSTI, TIOCLINUX
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_INTERNET = (0, 1, 6, 17, 58, 262)  # protocols: any, ICMP, TCP, UDP, ICMPv6, multipath TCP

# What an argument of a call must be like for the call to be refused; all of a row's conditions must hold.
ANY_OF, IS, OTHER_THAN = "any of these bits", "one of these", "other than these"


class Condition(Value):
    """A condition on one argument of a call, of which the lower 32 bits count."""

    argument: int
    relation: str
    values: tuple[int, ...]


class CallRule(Value):
    """Calls that are refused, with which error, and why; `shared`: only without namespaces of their own."""

    calls: str
    reason: str
    conditions: tuple[Condition, ...] = ()
    error: int = errno.EPERM
    shared: bool = False


def _mode(argument: int) -> tuple[Condition, ...]:
    return (Condition(argument, ANY_OF, (_SET_ID,)),)


def _creation_rules(flags: int) -> tuple[Condition, ...]:
    return (Condition(flags, ANY_OF, (_CREATES,)), *_mode(flags + 1))


_NOT_ITSELF = (Condition(0, OTHER_THAN, (0,)),)
_NO_ATTRIBUTES = "extended attributes of files outside, which Landlock does not know"
_NO_SET_ID = "a setuid or setgid program stays behind, and runs with other rights later"
_ALL_PROCESSES = "priorities of all processes of the person"
REFUSALS = (
    CallRule("clone3", "its flags are in memory, where no filter sees them; clone does", error=errno.ENOSYS),
    CallRule("openat2", "its mode is in memory, where no filter sees it; openat does", error=errno.ENOSYS),
    CallRule(
        "io_uring_setup io_uring_enter io_uring_register",
        "opens files and sockets past every filter", error=errno.ENOSYS,
    ),
    CallRule("clone unshare", "in a user namespace it would be root", (Condition(0, ANY_OF, (_NEW_USER,)),)),
    CallRule(
        "setns mount umount2 pivot_root open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick "
        "mount_setattr",
        "changes what the sandbox is made of",
    ),
    CallRule("keyctl add_key request_key", "the kernel's keyrings belong to the person, in no namespace"),
    CallRule("bpf perf_event_open userfaultfd", "deep in the kernel, and often the way into it"),
    CallRule("ptrace", "steers other processes, and makes a parent a tracer, whether it likes it or not"),
    CallRule(
        "process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd",
        "reaches into other processes' memory and files",
    ),
    CallRule(
        "ioctl", "types into a terminal as if the person did",
        (Condition(1, IS, (_FAKE_INPUT, _LINUX_CONSOLE)),),
    ),
    CallRule("chmod fchmod mkdir mknod creat", _NO_SET_ID, _mode(1)),
    CallRule("fchmodat fchmodat2 mkdirat mknodat", _NO_SET_ID, _mode(2)),
    CallRule("open", _NO_SET_ID, _creation_rules(1)),
    CallRule("openat", _NO_SET_ID, _creation_rules(2)),
    CallRule("socketpair", "families that no usual program needs", (Condition(0, OTHER_THAN, (_UNIX,)),)),
    CallRule(
        "socket", "netlink, but for the list of network interfaces",
        (Condition(0, IS, (_NETLINK,)), Condition(2, OTHER_THAN, (0,))),
    ),
    CallRule(
        "socket", "protocols that no usual program needs",
        (Condition(0, IS, (_INET, _INET6)), Condition(2, OTHER_THAN, _INTERNET)),
    ),
    CallRule(
        "prlimit64 sched_setscheduler sched_setparam sched_setattr sched_setaffinity migrate_pages "
        "move_pages",
        "limits, stops or slows other processes, clada and its supervisor among them",
        _NOT_ITSELF, shared=True,
    ),
    CallRule("setpriority ioprio_set", "priorities of other processes",
            (Condition(1, OTHER_THAN, (0,)),), shared=True),
    CallRule("setpriority", _ALL_PROCESSES, (Condition(0, OTHER_THAN, (0,)),), shared=True),
    CallRule("ioprio_set", _ALL_PROCESSES, (Condition(0, OTHER_THAN, (1,)),), shared=True),
    CallRule(
        "shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semtimedop semctl mq_open mq_unlink",
        "memory, queues and semaphores of other programs", shared=True,
    ),
    CallRule(
        "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
        _NO_ATTRIBUTES, error=errno.EOPNOTSUPP, shared=True,
    ),
    CallRule("setxattrat removexattrat file_setattr", _NO_ATTRIBUTES, error=errno.ENOSYS, shared=True),
)  # fmt: skip


def _numbers(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


_COMMON = _numbers("""
    io_uring_setup 425 io_uring_enter 426 io_uring_register 427 open_tree 428 move_mount 429 fsopen 430
    fsconfig 431 fsmount 432 fspick 433 clone3 435 openat2 437 pidfd_getfd 438 process_madvise 440
    mount_setattr 442 fchmodat2 452 setxattrat 463 removexattrat 466 open_tree_attr 467 file_setattr 469
""")
_X86_64 = _numbers("""
    open 2 ioctl 16 shmget 29 shmat 30 shmctl 31 socket 41 socketpair 53 clone 56 semget 64 semop 65
    semctl 66 msgget 68 msgsnd 69 msgrcv 70 msgctl 71 truncate 76 mkdir 83 creat 85 chmod 90 fchmod 91
    ptrace 101 mknod 133 setpriority 141 sched_setparam 142 sched_setscheduler 144 pivot_root 155
    mount 165 umount2 166 setxattr 188 lsetxattr 189 fsetxattr 190 removexattr 197 lremovexattr 198
    fremovexattr 199 sched_setaffinity 203 semtimedop 220 mq_open 240 mq_unlink 241 add_key 248
    request_key 249 keyctl 250 ioprio_set 251 migrate_pages 256 openat 257 mkdirat 258 mknodat 259
    fchmodat 268 unshare 272 move_pages 279 perf_event_open 298 prlimit64 302 setns 308
    process_vm_readv 310 process_vm_writev 311 kcmp 312 sched_setattr 314 bpf 321 userfaultfd 323
""")
_AARCH64 = _numbers("""
    setxattr 5 lsetxattr 6 fsetxattr 7 removexattr 14 lremovexattr 15 fremovexattr 16 ioctl 29
    ioprio_set 30 mknodat 33 mkdirat 34 umount2 39 mount 40 pivot_root 41 truncate 45 fchmod 52
    fchmodat 53 openat 56 unshare 97 ptrace 117 sched_setparam 118 sched_setscheduler 119
    sched_setaffinity 122 setpriority 140 mq_open 180 mq_unlink 181 msgget 186 msgctl 187 msgrcv 188
    msgsnd 189 semget 190 semctl 191 semtimedop 192 semop 193 shmget 194 shmctl 195 shmat 196 socket 198
    socketpair 199 add_key 217 request_key 218 keyctl 219 clone 220 migrate_pages 238 move_pages 239
    perf_event_open 241 prlimit64 261 setns 268 process_vm_readv 270 process_vm_writev 271 kcmp 272
    sched_setattr 274 bpf 280 userfaultfd 282
""")
# By the name in uname: the number of the architecture, and the numbers of its system calls. A call that is
# not among them does not exist there.
_MACHINES = {"x86_64": (0xC000003E, _X86_64 | _COMMON), "aarch64": (0xC00000B7, _AARCH64 | _COMMON)}


def is_supported() -> bool:
    """Return whether this kernel takes filters, and we know the numbers of this machine's system calls."""
    LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, None, 0, 0)
    return os.uname().machine in _MACHINES and get_errno() == errno.EFAULT


def filter_program(*, network: bool, shared: bool, refused: tuple[str, ...] = ()) -> bytes:
    """Return the filter; `shared`: without namespaces of its own; `refused` names more calls to refuse.

    Sockets of the machine itself are allowed only in a network of the command's own, where abstract names are
    its own too; those of the internet there, and where the command has the network.
    """
    wanted = (network, shared, refused)
    if wanted not in _made:
        _made[wanted] = _compile(network=network, shared=shared, refused=refused)
    return _made[wanted]


_made: dict[tuple[bool, bool, tuple[str, ...]], bytes] = {}  # functools.cache would cost start-up


def _compile(*, network: bool, shared: bool, refused: tuple[str, ...]) -> bytes:
    architecture, numbers = _MACHINES[os.uname().machine]
    families = (
        _NETLINK,
        *(() if shared or network else (_UNIX,)),
        *((_INET, _INET6) if network or not shared else ()),
    )
    rows = (
        *(row for row in REFUSALS if shared or not row.shared),
        CallRule("socket", "other families", (Condition(0, OTHER_THAN, families),)),
        *(CallRule(name, "an older kernel cannot confine it") for name in refused),
    )
    return b"".join(
        (
            _step(_LOAD, _ARCHITECTURE),
            _step(_EQUAL, architecture, no=0, yes=1),
            _refuse(errno.ENOSYS),
            _step(_LOAD, _NUMBER),
            _step(_AT_LEAST, _X32, no=1),
            _refuse(errno.ENOSYS),
            *_groups(_checked_calls(rows, numbers)),
        )
    )


def _checked_calls(rows: Iterable[CallRule], numbers: dict[str, int]) -> dict[int, list[bytes]]:
    """Return the instructions for each call that a row names; its number is loaded before and after them."""
    checked: dict[int, list[bytes]] = {}
    for row in rows:
        body = _body(row)
        for number in (numbers[name] for name in row.calls.split() if name in numbers):
            checked.setdefault(number, []).extend((_step(_EQUAL, number, no=len(body)), *body))
    return checked


def _groups(checked: dict[int, list[bytes]]) -> Iterator[bytes]:
    """Yield the instructions for all calls; a call that no row refuses is allowed.

    A call passes through one group of them only: the kernel tries the filter with every number that there is,
    each time that it is installed.
    """
    ordered = sorted(checked)
    for at in range(0, len(ordered), _GROUP):
        steps = [step for number in ordered[at : at + _GROUP] for step in checked[number]]
        for following in ordered[at + _GROUP : at + _GROUP + 1]:
            yield _step(_AT_LEAST, following, no=1)
            yield _step(_JUMP, len(steps) + 1)
        yield from steps
        yield _step(_RETURN, _ALLOW)


def _body(row: CallRule) -> list[bytes]:
    """Return what happens to a call: it is refused, if all conditions hold."""
    body = [_refuse(row.error)]
    if row.conditions:
        body.append(_step(_LOAD, _NUMBER))
    for condition in reversed(row.conditions):
        body = [_step(_LOAD, 16 + 8 * condition.argument), *_checks(condition, len(body) - 1), *body]
    return body


def _checks(condition: Condition, rest: int) -> list[bytes]:
    """Return the instructions that go on where it holds, and else jump over `rest` instructions."""
    if condition.relation == ANY_OF:
        return [_step(_ANY_BIT, condition.values[0], no=rest)]
    left = range(len(condition.values) - 1, -1, -1)  # checks that follow one
    is_other = condition.relation == OTHER_THAN
    over = rest if is_other else 1  # besides the checks that follow: all the rest, or the jump at the end
    pairs = zip(condition.values, left, strict=True)
    checks = [_step(_EQUAL, value, yes=more + over) for value, more in pairs]
    return checks if is_other else [*checks, _step(_JUMP, rest)]


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def install(program: bytes) -> None:
    """Apply the filter to this thread and all that it starts."""
    where = c_void_p.from_buffer(c_char_p(program)).value
    header = struct.pack("@HP", len(program) // 8, where)
    check(LIBC.prctl(_PR_SET_SECCOMP, _MODE_FILTER, header, 0, 0))
