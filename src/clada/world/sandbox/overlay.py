"""An overlay for a command: it sees the workspace, and its writes go to another directory.

overlayfs shows the workspace with the directory `upper` on top, in the command's own mount namespace. So the
writes of the command are exactly known, even if others change the workspace meanwhile: they are put in place
if it succeeds (record/overlay_writes.py), or removed. After a kill, none of them is in the workspace.
"""

from __future__ import annotations

import os
import time

from clada.errors import CladaError, system_words
from clada.world.handles import OWNER_ALL, remove_tree
from clada.world.sandbox import namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "overlay-"  # of the names of such directories in a store
_ACLS = ("system.posix_acl_access", "system.posix_acl_default")
_TICK = 0.001  # seconds between two looks at the clock of the file system
_LONGEST_TICK = 2.5  # seconds that such a clock may stand still
MOUNTS = "/proc/self/mountinfo"
_MOUNT_POINT = 4  # the field of mountinfo that has it
_ESCAPES = {r"\040": " ", r"\011": "\t", r"\012": "\n", r"\134": "\\"}

_refused: dict[tuple[int, int], str | None] = {}  # why the kernel refuses, by file systems; None: it does not


class CommandOverlay:
    """The directories that one command writes to in place of the workspace."""

    def __init__(self, store: str, workspace: str) -> None:
        self.workspace = workspace
        self.directory = os.path.join(store, f"{PREFIX}{os.urandom(8).hex()}")
        self.upper = os.path.join(self.directory, "upper")
        self.started = 0  # by the clock of the file system; later changes may be those of others

    def make(self) -> None:
        """Make the directories; `upper` becomes the workspace's own directory, and so looks like that."""
        status = os.stat(self.workspace)
        for path in (self.directory, self.upper, os.path.join(self.directory, "work")):
            os.mkdir(path, OWNER_ALL)
        if os.stat(self.upper).st_gid != status.st_gid:
            os.chown(self.upper, -1, status.st_gid)
        names = os.listxattr(self.workspace)
        for name in (name for name in _ACLS if name in names):
            os.setxattr(self.upper, name, os.getxattr(self.workspace, name))
        os.chmod(self.upper, status.st_mode & 0o7777)

    def begin(self) -> None:
        """Wait until the clock of the file system has advanced, so that later changes have another time."""
        self.started = os.stat(self.directory).st_ctime_ns
        end = time.monotonic() + _LONGEST_TICK
        while time.monotonic() < end:
            os.utime(self.directory)
            if os.stat(self.directory).st_ctime_ns > self.started:
                return
            time.sleep(_TICK)

    def remove(self) -> None:
        """Remove the directories, with files that were not put in place."""
        try:
            remove_tree(self.directory)
        except OSError:
            return  # the next run tries again


def remove_stale(store: str) -> None:
    """Remove what killed runs have left of such directories; the store's lock must be held."""
    for name in os.listdir(store):
        if name.startswith(PREFIX):
            try:
                remove_tree(os.path.join(store, name))
            except OSError:
                continue


def problem(store: str, workspace: str) -> str | None:
    """Return why a command cannot have a layer of its own here; None if it can."""
    status, of_store = os.stat(workspace), os.stat(store)
    if status.st_dev != of_store.st_dev:
        return "the record is on another file system"
    if status.st_uid != os.geteuid() or status.st_gid not in (os.getegid(), *os.getgroups()):
        return "the workspace has another owner"
    if next(_mounts_below(workspace), None) is not None:
        return "something is mounted in the workspace"
    key = (status.st_dev, of_store.st_dev)
    if key not in _refused:
        _refused[key] = _try(store, workspace)
    return _refused[key]


def _mounts_below(workspace: str) -> Iterator[str]:
    """Yield the mounts below the workspace, which an overlay would not show."""
    with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            point = line.split(" ")[_MOUNT_POINT]
            for code, char in _ESCAPES.items():
                point = point.replace(code, char)
            if point.startswith(f"{workspace.rstrip('/')}/"):
                yield point


def _try(store: str, workspace: str) -> str | None:
    """Return why the kernel refuses such a mount, by asking for one."""
    probe = CommandOverlay(store, workspace)
    try:
        probe.make()
        return namespace.problem(("--overlay", probe.directory, os.path.realpath(workspace)))
    except OSError as error:
        return system_words(error)
    except CladaError as error:
        return str(error)
    finally:
        probe.remove()
