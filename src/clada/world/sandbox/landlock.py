"""Landlock: restrictions that a thread puts on itself for good, and so on every program that it starts."""

from __future__ import annotations

import os
import stat
import struct
import sys

from clada.errors import CladaError, system_words
from clada.values import Value
from clada.world.files.walk import skip_error, walk
from clada.world.libc import LIBC, c_size_t, check
from clada.world.processes.run import Launcher
from clada.world.sandbox import seccomp
from clada.world.sandbox.guard import folders_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_GET_VERSION, _PATH_BENEATH = 1, 1
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 38, 47, 4
_CLONE_FS = 0x200
_CAPABILITY_VERSION, _CAPABILITIES = 0x20080522, 64

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
_MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER = 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13
_FILE = _WRITE_FILE | _TRUNCATE
# Device files may never be made: one for the disk would give access to everything.
_DIRECTORY = (
    _FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM | _REFER
)
_HANDLED = _DIRECTORY | _MAKE_CHAR | _MAKE_BLOCK
_READ = _READ_FILE | _READ_DIR
_OF_FILES = _FILE | _READ_FILE | _EXECUTE  # the rights that a rule for a single file can give
_NEW_IN = ((2, _REFER), (3, _TRUNCATE))  # the version that brought a right
SCOPED_SINCE, _TRUNCATE_SINCE = 6, 3
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2

# Resolved once here, rather than in every forked supervisor.
_capset = getattr(LIBC, "capset", lambda *_words: -1)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class LandlockRules(Value):
    """The rights of a program, by the paths below which it has them; and whether it has the network.

    With `read`, only those paths and the writable and executable ones can be read; None: everything,
    and every program can be executed. Below `listed`, the names of files can be read. `capabilities`: root
    keeps those that Landlock does not make worthless.
    `umask`: with which the program makes files; None: with that of this process.
    """

    write: tuple[str, ...] = ()
    network: bool = False
    read: tuple[str, ...] | None = None
    execute: tuple[str, ...] = ()
    capabilities: bool = False
    umask: int | None = None
    listed: tuple[str, ...] = ()

    def open_files(self) -> KeptRules:
        """Return the rules with all files resolved, as they are now; raise CladaError if that fails."""
        kept = KeptRules(self)
        kept.open()
        return kept

    def open_ruleset(self) -> int:
        """Return a handle of the rights on files, as they are now; raise CladaError if that fails."""
        handled = _HANDLED if self.read is None else _HANDLED | _READ | _EXECUTE  # only by a rule
        try:
            return _open_ruleset(version(), handled, self._rights())
        except OSError as error:
            raise sandbox_error(error) from error

    def apply_opened(self, ruleset: int) -> None:
        """Restrict this thread for good to the rights of such a handle; raise CladaError if that fails."""
        try:
            if self.umask is not None:
                check(LIBC.unshare(_CLONE_FS))  # a umask of this thread's own
                os.umask(self.umask)
            check(LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
            check(LIBC.syscall(_RESTRICT_SELF, ruleset, 0))
            if not self.capabilities and os.geteuid() == 0:  # others have nothing to drop
                drop_capabilities()
            seccomp.install(self.filter_program())
        except OSError as error:
            raise sandbox_error(error) from error

    def _rights(self) -> dict[str, int]:
        """Return which rights are given below which path; each is resolved once."""
        given = dict.fromkeys(_DEVICES, _FILE | _READ)
        wanted = (
            (self.write, _DIRECTORY | _READ),
            (self.read or (), _READ),
            (self.listed, _READ_DIR),
            (self.execute, _READ | _EXECUTE),
        )
        for paths, rights in wanted:
            given |= {path: given.get(path, 0) | rights for path in paths}
        return given

    def filter_program(self) -> bytes:
        """Return the filter of system calls; made before a fork, it is there after it."""
        refused = () if version() >= _TRUNCATE_SINCE else ("truncate",)
        return seccomp.filter_program(network=self.network, shared=True, refused=refused)


class KeptRules:
    """Rules for several programs, one after the other: files are resolved once, for the first of them."""

    def __init__(self, rules: LandlockRules) -> None:
        self._rules = rules
        self.handle = -1  # of the rights on files

    def open(self) -> None:
        """Look up the files, if that was not done yet; raise CladaError if that fails."""
        if self.handle < 0:
            self.handle = self._rules.open_ruleset()

    def open_files(self) -> KeptRules:
        """Return these rules for one program, with a handle of its own: these stay open for the next one."""
        self.open()
        copy = KeptRules(self._rules)
        copy.handle = os.dup(self.handle)
        return copy

    def apply(self) -> None:
        """Restrict this thread for good; raise CladaError if that fails, so that nothing is started."""
        self.open()
        self._rules.apply_opened(self.handle)

    def close(self) -> None:
        """Forget the files."""
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1

    __del__ = close


def version() -> int:
    """Return the version of the kernel's Landlock, 0 if it has none."""
    found: int = LIBC.syscall(_CREATE_RULESET, None, c_size_t(0), _GET_VERSION)
    return max(0, found)


def sandbox_error(error: OSError) -> CladaError:
    """Return the error for a sandbox that cannot be set up."""
    message = f"the sandbox could not be set up: {system_words(error)}"
    return CladaError("command_not_allowed", message, "--sandbox=off runs without it")


def _open_ruleset(known: int, handled: int, given: dict[str, int]) -> int:
    for since, right in _NEW_IN:
        if known < since:
            handled &= ~right
    scoped = _ABSTRACT_SOCKETS | _SIGNALS if known >= SCOPED_SINCE else 0
    attributes = struct.pack("=QQQ", handled, 0, scoped) if scoped else struct.pack("=Q", handled)
    ruleset = check(LIBC.syscall(_CREATE_RULESET, attributes, c_size_t(len(attributes)), 0))
    try:
        for path, rights in given.items():
            _allow(ruleset, path, rights & handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # a path that does not exist gets no right, even if it is made later
    except (NotADirectoryError, PermissionError):
        if rights & _WRITE_FILE:
            raise
        return  # the program cannot read it, either
    try:
        is_directory = stat.S_ISDIR(os.fstat(place).st_mode)
        rule = struct.pack("=Qi", rights if is_directory else rights & _OF_FILES, place)
        check(LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
    finally:
        os.close(place)


def drop_capabilities() -> None:
    """Give up all that a root may do: one who has no capabilities only owns root's files."""
    LIBC.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    for capability in range(_CAPABILITIES):
        if LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            check(-1 if capability == 0 else 0)  # others fail where the kernel knows fewer of them
            break
    check(_capset(struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)))


# Read by programs as they start, and for the names of users, groups, time zones, kinds of files.
SYSTEM = (
    # libraries, their data, translations
    *"/lib /lib32 /lib64 /libx32 /usr/lib /usr/lib32 /usr/lib64 /usr/libx32 /usr/share".split(),
    *"/usr/local/lib /usr/local/lib64 /usr/local/share".split(),
    # of /etc only what these programs read: it holds keys, too
    *"/etc/ld.so.cache /etc/ld.so.preload /etc/nsswitch.conf /etc/passwd /etc/group".split(),
    *"/etc/localtime /etc/timezone /etc/locale.alias /etc/magic /etc/magic.mime".split(),
    "/var/lib/sss/mc",  # names of users, where another machine knows them
    "/sys/devices/system/cpu",  # how many there are: git has as many threads
    "/proc/filesystems",  # read by the library of SELinux, which ls has
)
# The loader of programs; and the directories where some systems keep all programs and libraries.
LOADERS = (
    *"/lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1".split(),
    *"/lib/ld-musl-x86_64.so.1 /lib/ld-musl-aarch64.so.1 /nix/store /gnu/store".split(),
)


class ReadOnly(Value):
    """How a reader is confined: it writes nothing, and reads below these paths, and the system's own.

    Without paths it may read everything. Of hidden files, it sees the names only.
    """

    read: tuple[str, ...] | None = None
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()  # programs that it may start, or directories of them
    capabilities: bool = False  # root keeps some, to work in a repository of another user
    layer: str = "landlock"
    hidden: tuple[str, ...] = ()  # files below the paths that it cannot read


def has_landlock() -> bool:
    """Return whether the kernel has Landlock and takes seccomp filters."""
    if sys.platform != "linux":
        return False
    return version() > 0 and seccomp.is_supported()


def rules(confinement: ReadOnly, program: str) -> LandlockRules:
    """Return the rules under which a program is started."""
    given = LandlockRules(confinement.write, capabilities=confinement.capabilities)
    if confinement.read is None:
        return given
    execute = (program, *LOADERS, *confinement.execute)
    hidden = confinement.hidden
    above = set(folders_above(hidden))
    listed = tuple(path for path in confinement.read if path in above)
    read = [path for path in confinement.read if path not in listed]
    for path in listed:
        read += _except_hidden(path, hidden, above)
    return given.replace(read=(*SYSTEM, *read), listed=listed, execute=execute)


def _except_hidden(folder: str, hidden: Sequence[str], above: Collection[str]) -> Iterator[str]:
    """Yield the entries of a directory that are not hidden, in as few paths as possible.

    Landlock can allow a directory with everything in it, but not without one file: so next to a hidden file
    each file is allowed by itself. `above` are the directories in which something is hidden. Links are left
    out: their targets are allowed, or not, by their own paths.
    """
    files = set(hidden)
    for directory in walk(folder, skip_error):
        paths = {entry.name: f"{folder}/{directory.join(entry.name)}" for entry in directory.entries}
        directory.enter = [name for name in directory.enter if paths[name] in above]
        for entry in directory.entries:
            if (
                entry.name not in directory.enter
                and paths[entry.name] not in files
                and not entry.is_symlink()
            ):
                yield paths[entry.name]


def reader_launcher(confinement: ReadOnly, environment: Mapping[str, str]) -> Launcher:
    """Return what starts a reader under these rules. It starts no others, so it needs no supervisor."""
    return Launcher(environment, supervised=False, rules=lambda program: rules(confinement, program))
