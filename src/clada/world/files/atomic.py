"""Putting content in place: a reader, or a crash, sees the old or the new content and never a mix."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.attributes import ACL, Attributes, attributes_of, give, group_not_kept
from clada.world.files.entries import errno_trouble
from clada.world.files.scratch import scratch_name
from clada.world.handles import is_bare, write_with_holes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from clada.world.files.scratch import Scratch
    from clada.world.files.versions import Version

PROC = "/proc/self/fd"
NAMELESS = getattr(os, "O_TMPFILE", 0) if os.path.exists(PROC) else 0  # a name is given by way of /proc
WRITE = os.O_WRONLY | os.O_CLOEXEC
NEW, PRIVATE = 0o666, 0o600  # modes; a file that takes another's place may hold what only its owner may read
RIGHTS = 0o777  # of a mode
AS_OWNER = stat.S_ISUID | stat.S_ISGID  # bits that would mean somebody else where the owner is not kept
ELSEWHERE = (errno.EXDEV, errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class Belongings(Value):
    """What a file has beside content and mode."""

    owner: tuple[int, int]  # user and group
    attributes: Attributes


class Target(Value):
    """Where content is put: a name in a directory, and what is known of the file that has this name."""

    parent: int
    name: str
    old: os.stat_result | None  # the file that is there
    read: Version | None = None  # the same, where what is put there was made of its content
    durable: bool = False  # new content reaches the disk before it takes the place
    given: Belongings | None = None  # what the file gets, rather than what the old one has
    scratch: Scratch | None = None  # where it has a name until then
    folder: str = ""  # the path of the directory

    @classmethod
    def find(cls, parent: int, name: str, read: Version | None = None) -> Self:
        """Return what is known of the file that is to be replaced, if there is one; it must be regular."""
        if read:
            return cls(parent, name, read.status, read)
        try:
            old = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return cls(parent, name, None)
        if not stat.S_ISREG(old.st_mode):
            raise _not_replaceable(old)
        return cls(parent, name, old)

    def fill(
        self,
        data: bytes,
        mode: int | None = None,
        confirm: Callable[[], None] = lambda: None,
        *,
        named: bool = False,
    ) -> None:
        """Put a file with this content there, or replace the one that is there.

        The old file's mode, extended attributes and, as far as we may, owner are kept; where that would let
        others in, it is not replaced. Other hard links keep the old content. Where the content was made of
        the one that was `read`, that must still be there. What else must hold then, `confirm` raises about.
        """
        parent, (fd, waiting) = self.parent, self._opened(named=named)
        try:
            if data:
                write_with_holes(fd, data)
            if self.old is not None or mode is not None or self.given:
                _adopt(fd, self, mode)
            if self.durable:
                os.fsync(fd)
            if waiting is None and self.old is None:
                confirm()
                if _link(fd, parent, self.name):
                    return
            if waiting is None:
                waiting = self._named(fd)
            confirm()
            if self.read:
                self.read.confirm(parent, self.name)
            os.rename(waiting.name, self.name, src_dir_fd=waiting.folder, dst_dir_fd=parent)
            self._forget(waiting)
            waiting = None
        except _OutOfReachError:
            os.ftruncate(fd, 0)  # the other one may need its room
            self.fill(data, mode, confirm, named=True)
        finally:
            os.close(fd)
            if waiting is not None:
                _discard(waiting.folder, waiting.name)
                self._forget(waiting)

    def _opened(self, *, named: bool) -> tuple[int, _Name | None]:
        """Open a new file in the directory, so that it gets what that hands down to new files.

        It has no name, where the file system can do that, so that a kill leaves nothing.
        """
        mode = NEW if self.old is None and self.given is None else PRIVATE
        if NAMELESS and not named:
            # Nobody else can open it yet: it may begin with the rights of the old one. Without ours to write,
            # it would take no attributes.
            needed = mode if self.old is None or self.given else self.old.st_mode & RIGHTS | PRIVATE
            try:
                return os.open(".", WRITE | NAMELESS, needed, dir_fd=self.parent), None
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise
        name = self._noted(scratch_name())
        flags = WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            return os.open(name, flags, mode, dir_fd=self.parent), _Name(self.parent, name)
        except OSError:
            self._forget(_Name(self.parent, name))
            raise

    def _named(self, fd: int) -> _Name:
        """Give a nameless file a name: outside of the workspace, if that is on the same file system."""
        name = scratch_name()
        if self.scratch and self.scratch.handle >= 0:
            try:
                _link(fd, self.scratch.handle, name)
                return _Name(self.scratch.handle, name)
            except OSError as error:
                if error.errno not in ELSEWHERE:
                    raise
        _link(fd, self.parent, self._noted(name))
        return _Name(self.parent, name)

    def _noted(self, name: str) -> str:
        if self.scratch:
            self.scratch.note(name, self.folder)
        return name

    def _forget(self, waiting: _Name) -> None:
        """Remove the note of a name, if it is in the workspace."""
        if self.scratch and waiting.folder == self.parent:
            self.scratch.forget(waiting.name)


class _Name(Value):
    """A name that a new file has until it takes its place."""

    folder: int
    name: str


def put(parent: int, name: str, data: bytes) -> None:
    """Put a file with this content into a directory, or replace the one that is there."""
    Target.find(parent, name).fill(data)


def _not_replaceable(old: os.stat_result) -> CladaError:
    """Return why what stands there cannot be replaced by a file."""
    if stat.S_ISLNK(old.st_mode):
        return CladaError("symlink_not_allowed", "is a symbolic link")
    if stat.S_ISDIR(old.st_mode):
        return errno_trouble(errno.EISDIR)
    return CladaError("permission_denied", "not a regular file")


def _adopt(fd: int, target: Target, mode: int | None) -> None:
    """Give the new file the owner, the extended attributes and the mode of the old one: never more rights."""
    if target.given is not None:
        _give(fd, target.given, mode)
        return
    old = target.old
    if old is not None:
        new = os.fstat(fd)
        bare = target.read is not None and target.read.bare and is_bare(fd)
        if bare and mode is None and _rights(new) == _rights(old):
            return
        same_owner, same_group = _adopt_owner(fd, new, (old.st_uid, old.st_gid))
        if not bare:
            attributes = attributes_of(target.parent, target.name)
            if ACL in attributes and not same_group:
                raise group_not_kept()
            give(fd, attributes)
        if mode is None:
            mode = _adopted_mode(stat.S_IMODE(old.st_mode), same_owner=same_owner, same_group=same_group)
    if mode is not None:
        os.fchmod(fd, mode)


def _rights(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mode, status.st_uid, status.st_gid


def _adopted_mode(mode: int, *, same_owner: bool, same_group: bool) -> int:
    """Return the old file's mode without what it would grant to others than it did."""
    if not (same_owner and same_group):
        mode &= ~AS_OWNER
    if not same_group:
        mode &= ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3  # to the new group as to everybody
    return mode


def _give(fd: int, given: Belongings, mode: int | None) -> None:
    """Give the new file what it had once, as far as we may; without its list, nobody else gets in."""
    same_owner, same_group = _adopt_owner(fd, os.fstat(fd), given.owner)
    if same_group or ACL not in given.attributes:
        try:
            give(fd, given.attributes)
        except CladaError:
            same_group = same_group and ACL not in given.attributes
    if mode is not None:
        os.fchmod(fd, _adopted_mode(mode, same_owner=same_owner, same_group=same_group))


def _adopt_owner(fd: int, new: os.stat_result, owner: tuple[int, int]) -> tuple[bool, bool]:
    """Give the new file this owner, or at least the group; return whether it has each."""
    if (new.st_uid, new.st_gid) == owner:
        return True, True
    for uid, gid in (owner, (-1, owner[1])):
        try:
            os.fchown(fd, uid, gid)
        except PermissionError:
            continue
        return uid >= 0, True
    return new.st_uid == owner[0], new.st_gid == owner[1]


class _OutOfReachError(Exception):
    """A process that has changed users may not look into its own /proc."""


def _link(fd: int, parent: int, name: str) -> bool:
    """Give a nameless file its name; False where somebody made a file of that name meanwhile."""
    try:
        os.link(f"{PROC}/{fd}", name, dst_dir_fd=parent, follow_symlinks=True)
    except FileExistsError:
        return False
    except (PermissionError, FileNotFoundError):
        raise _OutOfReachError from None
    return True


def _discard(parent: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        return  # what was wrong is being told already
