"""Putting content in place: a reader, or a crash, sees the old or the new content and never a mix."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import Trouble
from clada.values import Value
from clada.world.files.attributes import ACL, Attributes, attributes_of, give, group_not_kept
from clada.world.files.entries import errno_trouble
from clada.world.handles import write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada.world.files.versions import Version

PROC = "/proc/self/fd"
NAMELESS = getattr(os, "O_TMPFILE", 0) if os.path.exists(PROC) else 0  # a name is given by way of /proc
LEFTOVER = ".clada-tmp-"  # then the process and a random number
CHANCE = 8  # bytes of it
MAX_DIGITS = 9  # of a process
NEW, PRIVATE = 0o666, 0o600  # modes; a file that takes another's place may hold what only its owner may read
AS_OWNER = stat.S_ISUID | stat.S_ISGID  # bits that would mean somebody else where the owner is not kept
UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


def clear(parent: int) -> None:
    """Remove what killed runs left in a directory of the files that they were writing."""
    try:
        names = os.listdir(parent)
    except OSError:
        return  # what was asked is done
    for name in names:
        if name.startswith(LEFTOVER) and _is_abandoned(name):
            _discard(parent, name)


def _is_abandoned(name: str) -> bool:
    """Whether a file has a name that we give, and the process that gave it is gone."""
    pid, _, chance = name.removeprefix(LEFTOVER).partition("-")
    if not (pid.isascii() and pid.isdigit() and len(pid) <= MAX_DIGITS and len(chance) == 2 * CHANCE):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is another user's
    return False


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


def put(parent: int, name: str, data: bytes) -> None:
    """Put a file with this content into a directory, or replace the one that is there."""
    fill(find_target(parent, name), data)


def find_target(parent: int, name: str, read: Version | None = None) -> Target:
    """Return what is known of the file that is to be replaced, if there is one; it must be a regular one."""
    if read:
        return Target(parent, name, read.status, read)
    try:
        old = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return Target(parent, name, None)
    if not stat.S_ISREG(old.st_mode):
        raise _not_replaceable(old)
    return Target(parent, name, old)


def fill(
    target: Target,
    data: bytes,
    mode: int | None = None,
    confirm: Callable[[], None] = lambda: None,
    *,
    named: bool = False,
) -> None:
    """Put a file with this content there, or replace the one that is there.

    The old file's mode, extended attributes and, as far as we may, owner are kept; where that would let
    others in, it is not replaced. Other hard links keep the old content. Where the content was made of the
    one that was `read`, that must still be there. What else must hold then, `confirm` raises about.
    """
    parent, (fd, scratch) = target.parent, _scratch(target, named=named)
    try:
        written = os.write(fd, data) if data else 0
        if written < len(data):
            write(fd, data, written)
        if target.old is not None or mode is not None or target.given or target.durable:
            _prepare(fd, target, mode)
        if scratch is None and target.old is None:
            confirm()
            if _link(fd, parent, target.name):
                return
        if scratch is None:
            scratch = _scratch_name()
            _link(fd, parent, scratch)
        confirm()
        if target.read:
            target.read.confirm(parent, target.name)
        os.rename(scratch, target.name, src_dir_fd=parent, dst_dir_fd=parent)
        scratch = None
    except _OutOfReachError:
        os.ftruncate(fd, 0)  # the other one may need its room
        fill(target, data, mode, confirm, named=True)
    finally:
        os.close(fd)
        if scratch is not None:
            _discard(parent, scratch)


def _prepare(fd: int, target: Target, mode: int | None) -> None:
    """Give a new file what it needs beside its content, before it takes its place."""
    _adopt(fd, target, mode)
    if target.durable:
        os.fsync(fd)


def _not_replaceable(old: os.stat_result) -> Trouble:
    """Return why what stands there cannot be replaced by a file."""
    if stat.S_ISLNK(old.st_mode):
        return Trouble("symlink_not_allowed", "is a symbolic link")
    if stat.S_ISDIR(old.st_mode):
        return errno_trouble(errno.EISDIR)
    return Trouble("permission_denied", "not a regular file")


def _scratch(target: Target, *, named: bool) -> tuple[int, str | None]:
    """Open a new file in the directory: nameless where the file system can, so that a kill leaves nothing."""
    parent, flags = target.parent, os.O_WRONLY | os.O_CLOEXEC
    mode = NEW if target.old is None and target.given is None else PRIVATE
    if NAMELESS and not named:
        try:
            return os.open(".", flags | NAMELESS, mode, dir_fd=parent), None
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
    name = _scratch_name()
    return os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=parent), name


def _scratch_name() -> str:
    return f"{LEFTOVER}{os.getpid()}-{os.urandom(CHANCE).hex()}"


def _adopt(fd: int, target: Target, mode: int | None) -> None:
    """Give the new file the owner, the extended attributes and the mode of the old one: never more rights."""
    if target.given is not None:
        _give(fd, target.given, mode)
        return
    old = target.old
    if old is not None:
        same_owner, same_group = _adopt_owner(fd, (old.st_uid, old.st_gid))
        attributes = attributes_of(target.parent, target.name)
        if ACL in attributes and not same_group:
            raise group_not_kept()
        give(fd, attributes)
        if mode is None:
            mode = _adopted_mode(stat.S_IMODE(old.st_mode), same_owner=same_owner, same_group=same_group)
    if mode is not None:
        os.fchmod(fd, mode)


def _adopted_mode(mode: int, *, same_owner: bool, same_group: bool) -> int:
    """Return the old file's mode without what it would grant to others than it did."""
    if not (same_owner and same_group):
        mode &= ~AS_OWNER
    if not same_group:
        mode &= ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3  # to the new group as to everybody
    return mode


def _give(fd: int, given: Belongings, mode: int | None) -> None:
    """Give the new file what it had once, as far as we may; without its list, nobody else gets in."""
    same_owner, same_group = _adopt_owner(fd, given.owner)
    if same_group or ACL not in given.attributes:
        try:
            give(fd, given.attributes)
        except Trouble:
            same_group = same_group and ACL not in given.attributes
    if mode is not None:
        os.fchmod(fd, _adopted_mode(mode, same_owner=same_owner, same_group=same_group))


def _adopt_owner(fd: int, owner: tuple[int, int]) -> tuple[bool, bool]:
    """Give the new file this owner, or at least the group; return whether it has each."""
    new = os.fstat(fd)
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
