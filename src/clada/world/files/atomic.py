"""Atomic replacement: a reader, or a crash, sees the old or the new content and never a mix."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from functools import partial

from clada.errors import CladaError, reason
from clada.values import Value
from clada.world.files.content import AS_OWNER, Version, change_error
from clada.world.files.exchange import Name, drop, replace
from clada.world.files.scratch import BESIDE, NOT_HERE, SCRATCH, scratch_name
from clada.world.files.stat import Stamp, errno_error
from clada.world.handles import has_no_xattrs, open_directory, open_file, write_with_holes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from clada.world.files.scratch import Scratch
    from clada.world.files.stat import Save

PROC = "/proc/self/fd"
NAMELESS = getattr(os, "O_TMPFILE", 0) if os.path.exists(PROC) else 0  # its name is given through /proc
WRITE = os.O_WRONLY | os.O_CLOEXEC
NEW, PRIVATE = 0o666, 0o600  # modes; the replacement of a private file starts private
RIGHTS = 0o777  # of a mode
ACL = "system.posix_acl_access"
# Attributes of the system, which few users may set: kept where that is permitted.
PRIVILEGED = ("security.", "trusted.")

Xattrs = dict[str, bytes]
TRIES = 5  # to replace a file that another program keeps saving
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class Ownership(Value):
    """The owner and the extended attributes of a file."""

    owner: tuple[int, int]  # user and group
    xattrs: Xattrs


class Target(Value):
    """A name in a directory to write to, and the status of the file that has this name."""

    parent: int
    name: str
    old: os.stat_result | None  # the existing file
    read: Version | None = None  # the existing file as it was read, if the new content was made from it
    durable: bool = False  # flush new content to the disk before the rename
    given: Ownership | None = None  # overrides the ownership of the existing file
    scratch: Scratch | None = None  # where new content has a name until the rename
    folder: str = ""  # the path of the directory

    @classmethod
    def find(cls, parent: int, name: str, read: Version | None = None) -> Self:
        """Return the target for a name; an existing file must be a regular one."""
        if read:
            return cls(parent, name, read.status, read)
        try:
            old = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return cls(parent, name, None)
        if not stat.S_ISREG(old.st_mode):
            raise _not_replaceable_error(old)
        return cls(parent, name, old)

    def fill(
        self,
        data: bytes,
        mode: int | None = None,
        expect: Callable[[], Version | None] | None = None,
        confirm: Callable[[], None] = lambda: None,
        *,
        named: bool = False,
    ) -> Stamp:
        """Create the file with this content, or replace the existing one; return its stamp as it was written.

        The old file's mode, extended attributes and, if permitted, owner are kept; if that would grant rights
        to others, it is not replaced. Other hard links keep the old content. `expect` returns the version
        that is expected to be replaced, or raises; it is asked again if that is not the one. `confirm` is
        called right before the file gets its name, and may raise.
        """
        fd, waiting = self._open_new(named=named)
        try:
            self._write(fd, waiting, data, mode)
            stamp = Stamp.of(os.fstat(fd))  # as it was written: once it has its name, it may be saved over
            self._put_in_place(fd, waiting, expect or partial(Version.at, self.parent, self.name), confirm)
        except _OutOfReachError:
            os.ftruncate(fd, 0)  # the second attempt may need its space
            return self.fill(data, mode, expect, confirm, named=True)
        finally:
            os.close(fd)
        return stamp

    def _write(self, fd: int, waiting: Name | None, data: bytes, mode: int | None) -> None:
        try:
            if data:
                write_with_holes(fd, data)
            if self.old is not None or mode is not None or self.given:
                _copy_metadata(fd, self, mode)
            if self.durable:
                os.fsync(fd)
        except BaseException:
            if waiting:
                waiting.unlink()
                self._forget(waiting)
            raise

    def _put_in_place(
        self, fd: int, waiting: Name | None, expect: Callable[[], Version | None], confirm: Callable[[], None]
    ) -> None:
        """Give the new file its name, in the place of the expected one."""
        target = Name(self.parent, self.name)
        ours, expected = Stamp.of(os.fstat(fd)).content, None
        try:
            if waiting is None and self.old is not None:
                waiting = self._give_name(fd)
            for _ in range(TRIES):
                expected = expect()
                if expected is None and waiting is None:
                    confirm()
                    if _link(fd, self.parent, self.name):
                        return
                    continue
                if expected and not stat.S_ISREG(expected.status.st_mode):
                    raise _not_replaceable_error(expected.status)
                waiting = waiting or self._give_name(fd)
                self._note(waiting, ours, expected)
                if replace(waiting, target, expected, confirm):
                    waiting.unlink()  # this was the name of the old file
                    return
            raise change_error()
        finally:
            if waiting is not None:
                with suppress(OSError):  # the error that led here is being raised already; the note stays
                    drop(waiting, target, ours, expected.save if expected else None)
                    self._forget(waiting)

    def _open_new(self, *, named: bool) -> tuple[int, Name | None]:
        """Open a new file in the directory, so that it inherits the directory's defaults.

        It has no name if the file system supports that, so that a kill leaves nothing.
        """
        mode = NEW if self.old is None and self.given is None else PRIVATE
        if NAMELESS and not named:
            # No other process can open it yet, so it may start with the rights of the old file. Its owner
            # must be able to write, or attributes could not be set.
            needed = mode if self.old is None or self.given else self.old.st_mode & RIGHTS | PRIVATE
            try:
                return os.open(".", WRITE | NAMELESS, needed, dir_fd=self.parent), None
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    raise
        waiting = Name(self.parent, scratch_name())
        self._note_new(waiting)
        flags = WRITE | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            return os.open(waiting.name, flags, mode, dir_fd=self.parent), waiting
        except OSError:
            self._forget(waiting)
            raise

    def _give_name(self, fd: int) -> Name:
        """Give a nameless file a name: outside the workspace, if that is on the same file system."""
        name = scratch_name()
        if self.scratch and self.scratch.handle >= 0:
            try:
                _link(fd, self.scratch.handle, name)
                return Name(self.scratch.handle, name)
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise
        waiting = Name(self.parent, name)
        self._note_new(waiting)
        _link(fd, self.parent, name)
        return waiting

    def _note_new(self, waiting: Name) -> None:
        """Note a temporary name, so that the next run can remove the file if this one is killed."""
        if self.scratch:
            self.scratch.note_new(waiting.name, os.path.join(self.folder, self.name))

    def _note(self, waiting: Name, ours: Save, expected: Version | None) -> None:
        """Note which files may have a temporary name, before the two are exchanged."""
        if self.scratch:
            where = BESIDE if waiting.folder == self.parent else SCRATCH
            self.scratch.note(waiting.name, os.path.join(self.folder, self.name), where, ours, expected)

    def _forget(self, waiting: Name) -> None:
        if self.scratch:
            self.scratch.forget(waiting.name)


def put(parent: int, name: str, data: bytes) -> None:
    """Write a file in a directory atomically."""
    Target.find(parent, name).fill(data)


def put_at(path: str, data: bytes) -> None:
    """Write a file at an absolute path atomically; make its directory if it is missing."""
    directory, name = os.path.split(path)
    os.makedirs(directory, exist_ok=True)
    folder = open_directory(directory)
    try:
        put(folder, name, data)
    finally:
        os.close(folder)


def _not_replaceable_error(old: os.stat_result) -> CladaError:
    """Return the error of an existing entry that cannot be replaced by a file."""
    if stat.S_ISLNK(old.st_mode):
        return CladaError("symlink_not_allowed", "is a symbolic link")
    if stat.S_ISDIR(old.st_mode):
        return errno_error(errno.EISDIR)
    return CladaError("permission_denied", "not a regular file")


def _copy_metadata(fd: int, target: Target, mode: int | None) -> None:
    """Give the new file the owner, the extended attributes and the mode of the old one; never more rights."""
    if target.given is not None:
        _apply_ownership(fd, target.given, mode)
        return
    old = target.old
    if old is not None:
        new = os.fstat(fd)
        bare = target.read is not None and target.read.bare and has_no_xattrs(fd)
        if bare and mode is None and _rights(new) == _rights(old):
            return
        same_owner, same_group = _set_owner(fd, new, (old.st_uid, old.st_gid))
        if not bare:
            attributes = read_xattrs(target.parent, target.name)
            if ACL in attributes and not same_group:
                message = "its access control list cannot be kept: its group is not ours"
                raise CladaError("permission_denied", message)
            set_xattrs(fd, attributes)
        if mode is None:
            mode = _safe_mode(stat.S_IMODE(old.st_mode), same_owner=same_owner, same_group=same_group)
    if mode is not None:
        os.fchmod(fd, mode)


def _rights(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mode, status.st_uid, status.st_gid


def _safe_mode(mode: int, *, same_owner: bool, same_group: bool) -> int:
    """Return the old file's mode without rights that it would grant to other users than before."""
    if not (same_owner and same_group):
        mode &= ~AS_OWNER
    if not same_group:
        mode &= ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3  # the new group gets what all others have
    return mode


def _apply_ownership(fd: int, given: Ownership, mode: int | None) -> None:
    """Restore an earlier owner and attributes as far as permitted; without its list, no group gets rights."""
    same_owner, same_group = _set_owner(fd, os.fstat(fd), given.owner)
    if same_group or ACL not in given.xattrs:
        try:
            set_xattrs(fd, given.xattrs)
        except CladaError:
            same_group = same_group and ACL not in given.xattrs
    if mode is not None:
        os.fchmod(fd, _safe_mode(mode, same_owner=same_owner, same_group=same_group))


def _set_owner(fd: int, new: os.stat_result, owner: tuple[int, int]) -> tuple[bool, bool]:
    """Give the new file this owner, or at least the group; return whether it has the owner, and the group."""
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
    """Give a nameless file its name; return False if another program has made a file of that name."""
    try:
        os.link(f"{PROC}/{fd}", name, dst_dir_fd=parent, follow_symlinks=True)
    except FileExistsError:
        return False
    except (PermissionError, FileNotFoundError):
        raise _OutOfReachError from None
    return True


# Extended attributes: the access control list of a file, and other metadata. A file that takes another's
# place gets them, or does not take it: without its list, the permission bits of a file would mean more than
# they did. Systems that have no such calls (macOS) are left as they are.


def read_xattrs(parent: int, name: str) -> Xattrs:
    """Return the extended attributes of a file in a directory."""
    if sys.platform != "linux":
        return {}
    try:
        return _list_xattrs(f"{PROC}/{parent}/{name}")
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EACCES):
            raise
    try:
        handle = open_file(name, parent)  # a process that has changed users may not read /proc
    except FileNotFoundError:
        return {}  # it is gone
    try:
        return _list_xattrs(handle)
    finally:
        os.close(handle)


def _list_xattrs(file: str | int) -> Xattrs:
    if sys.platform != "linux":
        return {}
    by_path = {"follow_symlinks": False} if isinstance(file, str) else {}
    try:
        names = os.listxattr(file, **by_path)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return {}
        raise
    found = {}
    for name in names:
        try:
            found[name] = os.getxattr(file, name, **by_path)
        except OSError as error:
            if not name.startswith(PRIVILEGED):
                raise _xattr_error(name, error) from None
    return found


def set_xattrs(handle: int, xattrs: Xattrs) -> None:
    """Give an open new file these attributes, and no others that grant rights."""
    if sys.platform != "linux":
        return
    present = _list_xattrs(handle)
    for name in present.keys() - xattrs.keys():
        if name.startswith("system."):  # inherited from the directory
            os.removexattr(handle, name)
    for name, value in xattrs.items():
        if present.get(name) != value:
            try:
                os.setxattr(handle, name, value)
            except OSError as error:
                if not name.startswith(PRIVILEGED):
                    raise _xattr_error(name, error) from None


def _xattr_error(name: str, error: OSError) -> CladaError:
    what = "access control list" if name == ACL else f"extended attribute {name}"
    return CladaError("permission_denied", f"its {what} cannot be kept: {reason(error)}")
