"""The state of a path, with everything that is needed to put it back: bytes, mode, owner, attributes."""

from __future__ import annotations

import os
import stat

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.atomic import read_xattrs
from clada.world.files.content import Version, now
from clada.world.files.directories import Directories
from clada.world.files.stat import Stamp
from clada.world.handles import NO_FOLLOW, PIECE, open_directory, open_file, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

HANDLES = "/proc/self/fd"
PIN = getattr(os, "O_PATH", 0) | NO_FOLLOW
KINDS = ("absent", "file", "link", "directory", "other")
NO_ATTRIBUTES: Mapping[str, bytes] = {}


class State(Value):
    """The state of a path. A mode of None is unknown, and is like any other."""

    kind: str  # absent, file, link, directory, or other: a pipe, a socket, a device
    mode: int | None = None
    owner: tuple[int, int] | None = None  # user and group
    content: bytes = b""  # of a file; of a link, its target
    attributes: Mapping[str, bytes] = NO_ATTRIBUTES
    digest: str = ""  # of the content, where that is too large to be kept

    def is_like(self, other: State) -> bool:
        """Whether kind and content are the same, and the mode where both are known."""
        if self.kind != other.kind:
            return False
        if self.digest or other.digest:
            if (self.digest or digest_of(self.content)) != (other.digest or digest_of(other.content)):
                return False
        elif self.content != other.content:
            return False
        return self.kind == "link" or None in {self.mode, other.mode} or self.mode == other.mode

    def same_xattrs(self, other: State) -> bool:
        """Whether the extended attributes are the same; without an owner, they are unknown."""
        return None in {self.owner, other.owner} or self.attributes == other.attributes

    @property
    def can_be_put_back(self) -> bool:
        """Whether it can be restored: a pipe, or a file that was too large to save, cannot."""
        return self.kind != "other" and not self.digest


ABSENT = State("absent")


def state_at(parent: int, name: str, limit: int | None = None) -> State:
    """Return the state of a name in a directory; of a file over the limit, only a digest."""
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
        attributes = {}  # they cannot be read: then the file cannot be replaced either
    if stat.S_ISDIR(status.st_mode):
        return State("directory", mode, owner, b"", attributes)
    handle = _open(parent, name, status)
    try:
        if limit is not None and status.st_size > limit:
            return State("file", mode, owner, b"", attributes, _digest_of_file(handle))
        return State("file", mode, owner, read(handle, status.st_size), attributes)
    finally:
        os.close(handle)


def state_and_version(parent: int, name: str) -> tuple[State, Version | None]:
    """Return the state of a name in a directory, and its version, from which later saves differ."""
    started, version = now(), Version.at(parent, name)
    state = state_at(parent, name)
    if version and state.kind == "file":
        version = Version(version.status, state.content, started)
    return state, version


def _open(parent: int, name: str, status: os.stat_result) -> int:
    """Open a file; if its owner is the user and may not read it, make it readable for that moment."""
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


def stamp_at(parent: int | None, name: str) -> Stamp | None:
    """Return the stamp of a file; None where there is none, or it cannot be read."""
    try:
        return Stamp.at(name, parent)
    except OSError:
        return None


def states_of(workspace: str, paths: Iterable[str], limit: int) -> Iterator[tuple[str, State]]:
    """Yield each of these paths below the workspace with its state; symbolic links are not followed."""
    try:
        root = open_directory(workspace)
    except OSError:
        yield from ((path, ABSENT) for path in paths)
        return
    directories = Directories(root)
    try:
        for path in paths:
            yield path, _state_below(directories, path, limit)
    finally:
        directories.forget_all()
        os.close(root)


def _state_below(directories: Directories, path: str, limit: int) -> State:
    *above, name = path.split("/")
    try:
        parent = directories.handle(tuple(above))
    except (OSError, CladaError):
        return ABSENT
    try:
        return state_at(parent, name, limit)
    except OSError:
        return State("other")  # it cannot be read


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
