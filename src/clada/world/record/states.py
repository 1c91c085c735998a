"""What stands at a place, with everything that is needed to put it back: bytes, mode, owner, attributes."""

from __future__ import annotations

import os
import stat

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.atomic import read_xattrs
from clada.world.handles import NO_FOLLOW, PIECE, open_file, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Stamp = tuple[int, ...]

HANDLES = "/proc/self/fd"
PIN = getattr(os, "O_PATH", 0) | NO_FOLLOW
KINDS = ("absent", "file", "link", "directory", "other")
CHANGED = 4  # where a stamp has the time of the last change
NO_ATTRIBUTES: Mapping[str, bytes] = {}


class State(Value):
    """What stands at a place. A mode of None was not looked at, and is like any other."""

    kind: str  # absent, file, link, directory, or other: a pipe, a socket, a device
    mode: int | None = None
    owner: tuple[int, int] | None = None  # user and group
    content: bytes = b""  # of a file; of a link, where it leads
    attributes: Mapping[str, bytes] = NO_ATTRIBUTES
    digest: str = ""  # of the content, where that is too large to be kept

    def is_like(self, other: State) -> bool:
        """Whether two looks saw the same: kind and content, and the mode where both looked at it."""
        if self.kind != other.kind:
            return False
        if self.digest or other.digest:
            if (self.digest or digest_of(self.content)) != (other.digest or digest_of(other.content)):
                return False
        elif self.content != other.content:
            return False
        return self.kind == "link" or None in {self.mode, other.mode} or self.mode == other.mode

    def is_same_beside(self, other: State) -> bool:
        """Whether the extended attributes are the same; without an owner, nobody has looked at them."""
        return None in {self.owner, other.owner} or self.attributes == other.attributes

    @property
    def can_be_put_back(self) -> bool:
        """Whether it is known well enough: a pipe or a file that was too large is not."""
        return self.kind != "other" and not self.digest


ABSENT = State("absent")


def state_at(parent: int, name: str, limit: int | None = None) -> State:
    """Return what is in a directory under this name; of a file over the limit, only a digest."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return ABSENT
    mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
    if stat.S_ISLNK(status.st_mode):
        return State("link", mode, owner, os.fsencode(os.readlink(name, dir_fd=parent)))
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        return State("other", mode, owner)
    try:
        attributes = read_xattrs(parent, name)
    except CladaError:
        attributes = {}  # nobody may read them: then the file cannot be replaced either
    if stat.S_ISDIR(status.st_mode):
        return State("directory", mode, owner, b"", attributes)
    handle = _opened(parent, name, status)
    try:
        if limit is not None and status.st_size > limit:
            return State("file", mode, owner, b"", attributes, _digest_of_file(handle))
        return State("file", mode, owner, read(handle, status.st_size), attributes)
    finally:
        os.close(handle)


def _opened(parent: int, name: str, status: os.stat_result) -> int:
    """Open a file; one of ours that even we may not read is made readable for that moment."""
    try:
        return open_file(name, parent)
    except PermissionError:
        if status.st_uid != os.geteuid() or not os.path.exists(HANDLES):
            raise
    pin = os.open(name, PIN, dir_fd=parent)
    try:
        mode = stat.S_IMODE(os.fstat(pin).st_mode)
        os.chmod(f"{HANDLES}/{pin}", mode | stat.S_IRUSR)
        try:
            return os.open(f"{HANDLES}/{pin}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.chmod(f"{HANDLES}/{pin}", mode)
    finally:
        os.close(pin)


def size_at(parent: int, name: str) -> int:
    """Return the size of a file; 0 where there is none."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def stamp_at(parent: int, name: str) -> Stamp | None:
    """Return what differs once a file is saved or replaced; None where there is nothing."""
    try:
        return stamp_of(os.stat(name, dir_fd=parent, follow_symlinks=False))
    except OSError:
        return None


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the same of a status. Of a directory, its content does not count."""
    if stat.S_ISDIR(status.st_mode):
        return (status.st_mode, status.st_ino)
    return (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def is_same_save(one: Stamp | None, other: Stamp | None) -> bool:
    """Whether nobody has saved between two stamps, as far as they tell.

    The time of the last change does not count: who links a file or gives it attributes changes that, too, and
    so do we where we look into one that is closed to us.
    """
    return (one or ())[:CHANGED] == (other or ())[:CHANGED]


def digest_of(content: bytes) -> str:
    """Return the digest of a content."""
    from hashlib import blake2b

    return blake2b(content, digest_size=32).hexdigest()


def _digest_of_file(handle: int) -> str:
    from hashlib import blake2b

    found = blake2b(digest_size=32)
    while piece := os.read(handle, PIECE):
        found.update(piece)
    return found.hexdigest()
