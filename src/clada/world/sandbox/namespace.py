"""Namespaces of our own, for machines without bubblewrap, and for the overlays of atomic runs.

Few versions of bubblewrap can make overlays. The table of mounts is the same (mounts.py); this module makes
them by system calls. The supervisor of the command forks the first process of the new namespaces. It makes
the mounts, gives up all rights, and starts the command. When it ends, so does everything in the namespaces.
"""

from __future__ import annotations

import ctypes
import os
import select
import stat
import struct

from clada.errors import CladaError, system_words
from clada.values import Value
from clada.world.libc import HOLDING_LIBC, LIBC, check
from clada.world.processes.children import SIGKILL, shell_code
from clada.world.processes.run import Launcher, RunOptions, find_program, run
from clada.world.processes.supervise import leave_host
from clada.world.sandbox import seccomp
from clada.world.sandbox.landlock import drop_capabilities
from clada.world.sandbox.mounts import bare_mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from clada.world.processes.children import Child
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.mounts import Mount

_NEW_NS, _NEW_UTS, _NEW_IPC = 0x20000, 0x4000000, 0x8000000
_NEW_USER, _NEW_PID, _NEW_NET = 0x10000000, 0x20000000, 0x40000000
_NO_SUID, _NO_DEV, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 4096, 16384, 1 << 18
_DETACH = 2
_MOUNT_SETATTR, _PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}
_HERE, _ALL_BELOW = -100, 0x8000
_READ_ONLY = 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGCHLD = 17
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_INET, _DATAGRAMS, _SET_FLAGS, _IS_UP = 2, 2, 0x8914, 0x1 | 0x40
_OLD, _NEW = "/old", "/new"
_LOWER, _SCRATCH = "/lower", "/scratch"
# As users may mount it. No sync, because all is thrown away after a crash; each file is whole in `upper`.
_OVERLAY = "userxattr,volatile,index=off,metacopy=off,redirect_dir=nofollow,xino=off"
_NO_HOST_PATH = ("--symlink", "--bind-inside")  # options whose first argument is not a path of the host


class NamespaceRules(Value):
    """The mounts of a command, and whether it has the network."""

    mounts: tuple[Mount, ...]
    network: bool = False

    def enter(self, start: Callable[[], int], spec: SpawnSpec, status_pipe: int) -> int:
        """Start the command in the namespaces; return the process that ends with it, the first one in them.

        To `status_pipe` goes `started`, or `failed ERRNO` or `refused TEXT`.
        """
        inside = os.readlink(f"/proc/self/fd/{spec.directory}")
        spaces = _NEW_USER | _NEW_NS | _NEW_PID | _NEW_IPC | _NEW_UTS | (0 if self.network else _NEW_NET)
        who = os.geteuid(), os.getegid()
        # Fork into new namespaces by one system call: os.fork knows no flags, and a second process would take
        # Python a millisecond to make. There is only one thread, so the child needs nothing put in order.
        number, flags = ctypes.c_long(_CLONE[os.uname().machine]), ctypes.c_ulong(spaces | _SIGCHLD)
        pid = check(HOLDING_LIBC.syscall(number, flags, None, None, None, None))
        if not pid:
            self._run_first_process(start, spec, inside, status_pipe, who)
        return pid

    def _run_first_process(
        self, start: Callable[[], int], spec: SpawnSpec, inside: str, status_pipe: int, who: tuple[int, int]
    ) -> NoReturn:
        code = 1
        try:
            leave_host(keep={spec.directory, spec.output, status_pipe})
            _map_user(*who)
            _end_with_parent(status_pipe)
            self._build(spec.directory, inside)
            _end_with_parent(status_pipe)  # once more: to give up rights undoes that
            code = _run_command(start, status_pipe)
        except OSError as error:
            os.write(status_pipe, f"refused {system_words(error)}".encode())
        finally:
            os._exit(code)

    def _build(self, directory: int, inside: str) -> None:
        """Make the mounts and the new root, and give up all rights."""
        if not self.network:
            _raise_loopback()
        made = [_resolve_source(mount) for mount in self.mounts]
        _pivot_to_empty_root()
        for option, *words in made:
            _ACTIONS[option](*words)
        os.chdir(_NEW)
        check(LIBC.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."))
        check(LIBC.umount2(b".", _DETACH))
        os.chdir(inside)
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.dup2(here, directory, inheritable=False)  # the old one would lead past the mounts
        os.close(here)
        check(LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        drop_capabilities()
        seccomp.install(self.filter_program())

    def filter_program(self) -> bytes:
        """Return the filter of system calls; made before a fork, it is there after it."""
        return seccomp.filter_program(network=self.network, shared=False)


class _Probe(Launcher):
    """Starts a program in namespaces with nothing in them but the system and these mounts."""

    def __init__(self, mounts: tuple[Mount, ...]) -> None:
        super().__init__({})
        self._mounts = mounts

    def start(self, spec: SpawnSpec) -> Child:
        """Start it."""
        return super().start(spec.replace(namespaces=NamespaceRules((*self._mounts, *bare_mounts()))))


def problem(*mounts: Mount) -> str | None:
    """Return why such namespaces do not work here, with these mounts, by trying them; None if they do."""
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        result = run([find_program("true")], _Probe(mounts), RunOptions(root, 5.0, lambda _lines: None))
    except CladaError as error:
        return str(error)
    finally:
        os.close(root)
    return None if result.exit_code == 0 else f"exit code {result.exit_code}"


def _map_user(user: int, group: int) -> None:
    """Be the same user as before, without any rights outside."""
    # Else the system would let only root say who we are.
    check(LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        file = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        os.write(file, text.encode())
        os.close(file)
    check(LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))


def _end_with_parent(status_pipe: int) -> None:
    """Have the system kill this process when the one that started it is gone; end, if it is gone already."""
    check(LIBC.prctl(_PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
    poll = select.poll()
    poll.register(status_pipe, 0)
    if poll.poll(0):  # the parent, which reads it, is gone
        os._exit(1)


def _run_command(start: Callable[[], int], status_pipe: int) -> int:
    """Start the command, wait for all that dies, and return the command's exit code."""
    try:
        command = start()
    except OSError as error:
        os.write(status_pipe, f"failed {error.errno}".encode())
        return 1
    os.write(status_pipe, b"started")
    os.close(status_pipe)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == command:
            return shell_code(status)


def _pivot_to_empty_root() -> None:
    """Make an empty root, with the host's files in one folder and a place for the new ones in another."""
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    base = "/tmp"  # noqa: S108 (only covered, in a namespace of this process alone)
    _mount("tmpfs", base, "tmpfs", _NO_SUID | _NO_DEV)
    for name in (_OLD, _NEW):
        os.mkdir(base + name)
    check(LIBC.syscall(_PIVOT_ROOT[os.uname().machine], base.encode(), (base + _OLD).encode()))
    os.chdir("/")
    _mount("tmpfs", _NEW, "tmpfs", _NO_SUID | _NO_DEV, "mode=755")


def _resolve_source(mount: Mount) -> Mount:
    """Return a mount whose source has no links: with another root, they would lead elsewhere."""
    option, *source, target = mount
    return mount if option in _NO_HOST_PATH else (option, *map(os.path.realpath, source), target)


def _bind(source: str, target: str, attributes: int = _NO_SUID | _NO_DEV) -> None:
    """Let a path of the host be seen, with all that is mounted below it, with these attributes."""
    real, place = _OLD + source, _NEW + target
    _make_mount_point(place, is_directory=stat.S_ISDIR(os.stat(real).st_mode))
    _mount(real, place, "", _BIND | _RECURSIVE)
    if attributes:
        _set_attributes(place, attributes, _ALL_BELOW)


def _bind_if_there(source: str, target: str, attributes: int = _NO_SUID | _NO_DEV) -> None:
    try:
        os.lstat(_OLD + source)
    except FileNotFoundError:
        return
    _bind(source, target, attributes)


_LOCKED = _NO_SUID | _NO_DEV | _READ_ONLY


def _overlay(scratch: str, target: str) -> None:
    """Show a directory of the host under a layer that takes all writes: `upper` of the scratch directory."""
    for name, source in ((_LOWER, target), (_SCRATCH, scratch)):
        os.mkdir(name)  # options cannot hold every path, and so get short ones
        _mount(_OLD + source, name, "", _BIND)
    _make_mount_point(_NEW + target, is_directory=True)
    layers = f"lowerdir={_LOWER},upperdir={_SCRATCH}/upper,workdir={_SCRATCH}/work"
    _mount("overlay", _NEW + target, "overlay", _NO_SUID | _NO_DEV, f"{_OVERLAY},{layers}")


def _bind_inside(source: str, target: str) -> None:
    """Make a directory that the command sees a mount of its own."""
    _mount(_NEW + source, _NEW + target, "", _BIND | _RECURSIVE)


def _tmpfs(target: str) -> None:
    _make_mount_point(_NEW + target, is_directory=True)
    _mount("tmpfs", _NEW + target, "tmpfs", _NO_SUID | _NO_DEV, "mode=755")


def _devices(target: str) -> None:
    """Make the few devices that every program may use, terminals of its own, and shared memory."""
    _tmpfs(target)
    for name in _DEVICES:
        _bind(f"/dev/{name}", f"{target}/{name}", 0)  # none of these can be executed
    for name, link in _LINKS.items():
        os.symlink(link, f"{_NEW}{target}/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"{_NEW}{target}/{name}")
    _mount("devpts", f"{_NEW}{target}/pts", "devpts", _NO_SUID, "newinstance,ptmxmode=0666,mode=620")


def _processes(target: str) -> None:
    _make_mount_point(_NEW + target, is_directory=True)
    _mount("proc", _NEW + target, "proc", _NO_SUID | _NO_DEV)


def _link(text: str, target: str) -> None:
    os.makedirs(os.path.dirname(_NEW + target), exist_ok=True)
    os.symlink(text, _NEW + target)


def _remount_read_only(target: str) -> None:
    _set_attributes(_NEW + target.rstrip("/"), _LOCKED, 0)


_ACTIONS: dict[str, Callable[..., None]] = {
    "--dev": _devices,
    "--proc": _processes,
    "--tmpfs": _tmpfs,
    "--symlink": _link,
    "--bind": _bind,
    "--bind-try": _bind_if_there,
    "--ro-bind": lambda source, target: _bind(source, target, _LOCKED),
    "--ro-bind-try": lambda source, target: _bind_if_there(source, target, _LOCKED),
    "--remount-ro": _remount_read_only,
    # Not bubblewrap's:
    "--overlay": _overlay,
    "--bind-inside": _bind_inside,
}


def _make_mount_point(place: str, *, is_directory: bool) -> None:
    """Make a mount point if it is missing."""
    if os.path.lexists(place):
        return
    os.makedirs(place if is_directory else os.path.dirname(place), exist_ok=True)
    if not is_directory:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    words = (os.fsencode(source), os.fsencode(target), os.fsencode(kind) or None)
    check(LIBC.mount(*words, ctypes.c_ulong(flags), data.encode() or None), target)


def _set_attributes(place: str, attributes: int, below: int) -> None:
    """Set attributes of a mount; those that are set already stay."""
    value = struct.pack("=QQQQ", attributes, 0, 0, 0)
    words = (_HERE, os.fsencode(place), below, value, ctypes.c_size_t(len(value)))
    check(LIBC.syscall(_MOUNT_SETATTR, *words), place)


def _raise_loopback() -> None:
    """Let the command talk to itself: the only interface of its network is down at first."""
    channel = LIBC.socket(_INET, _DATAGRAMS, 0)  # importing Python's own would take longer than all the rest
    check(channel)
    request = ctypes.create_string_buffer(struct.pack("=16sH22x", b"lo", _IS_UP))
    done = LIBC.ioctl(channel, ctypes.c_ulong(_SET_FLAGS), request)
    os.close(channel)
    check(done)
