"""Extended attributes: the access control list of a file, and what else is noted beside its content.

A file that takes another's place gets them, or does not take it: without its list, the permission bits of a
file would mean more than they did. Systems that have no such calls (macOS) are left as they are.
"""

from __future__ import annotations

import errno
import os
import sys

from clada.errors import CladaError
from clada.world.files.entries import reason
from clada.world.handles import open_file

PROC = "/proc/self/fd"
ACL = "system.posix_acl_access"
# What the system keeps for itself, and lets few set: kept where it is permitted.
PRIVILEGED = ("security.", "trusted.")

Attributes = dict[str, bytes]


def attributes_of(parent: int, name: str) -> Attributes:
    """Return the extended attributes of a file in a directory."""
    if sys.platform != "linux":
        return {}
    try:
        return _read(f"{PROC}/{parent}/{name}")
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.EACCES):
            raise
    try:
        handle = open_file(name, parent)  # for who has changed users may not look into /proc
    except FileNotFoundError:
        return {}  # it is gone, and lets nobody in
    try:
        return _read(handle)
    finally:
        os.close(handle)


def _read(file: str | int) -> Attributes:
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
                raise _not_kept(name, error) from None
    return found


def give(handle: int, attributes: Attributes) -> None:
    """Give an open new file these attributes, and no others that let somebody in."""
    if sys.platform != "linux":
        return
    present = _read(handle)
    for name in present.keys() - attributes.keys():
        if name.startswith("system."):  # what its directory hands down to new files
            os.removexattr(handle, name)
    for name, value in attributes.items():
        if present.get(name) != value:
            try:
                os.setxattr(handle, name, value)
            except OSError as error:
                if not name.startswith(PRIVILEGED):
                    raise _not_kept(name, error) from None


def _not_kept(name: str, error: OSError) -> CladaError:
    what = "access control list" if name == ACL else f"extended attribute {name}"
    return CladaError("permission_denied", f"its {what} cannot be kept: {reason(error)}")


def group_not_kept() -> CladaError:
    """Return the trouble of a list that would mean another group than it does."""
    return CladaError("permission_denied", "its access control list cannot be kept: its group is not ours")
