"""What readers need of the system, so that they can be kept from all the rest: a table, with reasons.

No home is in it, nor anything that a service keeps. Landlock goes by the file, not by the name: a link leads
to what is allowed, or not.
"""

from __future__ import annotations

import os
import sys

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from clada.world.processes.run import Launcher
    from clada.world.sandbox.landlock import LandlockRules

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
# What the system starts a program by; and where whole systems keep all of their programs and libraries.
LOADERS = (
    *"/lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1".split(),
    *"/lib/ld-musl-x86_64.so.1 /lib/ld-musl-aarch64.so.1 /nix/store /gnu/store".split(),
)


class ReadOnly(Value):
    """How a reader is confined: it writes nothing, and reads what is below these paths, or the system's own.

    Without paths it may read everything. Of what is hidden, it sees the names only.
    """

    read: tuple[str, ...] | None = None
    write: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()  # programs that it may start, or directories of them
    capabilities: bool = False  # of root, who works in a repository of somebody else's
    layer: str = "landlock"
    hidden: tuple[str, ...] = ()  # files below the paths that it cannot read


def has_landlock() -> bool:
    """Return whether the kernel has Landlock and takes seccomp filters."""
    if sys.platform != "linux":
        return False
    from clada.world.sandbox import landlock, seccomp

    return landlock.version() > 0 and seccomp.is_supported()


def rules(confinement: ReadOnly, program: str) -> LandlockRules:
    """Return the rules under which a program is started."""
    from clada.world.sandbox.landlock import LandlockRules

    given = LandlockRules(confinement.write, capabilities=confinement.capabilities)
    if confinement.read is None:
        return given
    execute = (program, *LOADERS, *confinement.execute)
    hidden = confinement.hidden
    above = {parent for path in hidden for parent in _parents(path)}
    listed = tuple(path for path in confinement.read if path in above)
    read = [path for path in confinement.read if path not in listed]
    for path in listed:
        read += _all_but(path, hidden, above)
    return given.replace(read=(*SYSTEM, *read), listed=listed, execute=execute)


def _all_but(folder: str, hidden: Sequence[str], above: Collection[str]) -> Iterator[str]:
    """Yield what is in a directory but not hidden, in as few paths as possible.

    Landlock can allow what is below a directory, and cannot take a file out of that: so next to a hidden file
    each file is allowed by itself. `above` are the directories in which something is hidden. Links are left
    out: what they lead to is allowed, or not, by its own path.
    """
    files, waiting = set(hidden), [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.path in above and entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.path not in files and not entry.is_symlink():
                yield entry.path


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # gone, or closed to this user: then a reader cannot read it either


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def reader_launcher(confinement: ReadOnly, environment: Mapping[str, str]) -> Launcher:
    """Return what starts a reader under these rules. It starts no others, so it needs no supervisor."""
    from clada.world.processes.run import Launcher

    return Launcher(environment, supervised=False, rules=lambda program: rules(confinement, program))
