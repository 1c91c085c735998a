"""The C library, for system calls without a Python function."""

from __future__ import annotations

import errno
import os
from ctypes import CDLL, PyDLL, byref, c_char_p, c_int, c_short, c_size_t, c_uint64, c_void_p, get_errno

__all__ = [
    "HOLDING_LIBC",
    "LIBC",
    "byref",
    "c_char_p",
    "c_int",
    "c_short",
    "c_size_t",
    "c_uint64",
    "c_void_p",
    "get_errno",
    "rename_to_new",
]

_RENAME_NOREPLACE = 1

LIBC = CDLL(None, use_errno=True)
# Keeps the interpreter's lock during a call, as needed between fork and exec.
HOLDING_LIBC = PyDLL(None, use_errno=True)


def rename_to_new(source: str, target: str, old: int, new: int) -> None:
    """Rename an entry from one open directory to another; raise FileExistsError if the target exists.

    A file system that cannot do both at once replaces the target.
    """
    renameat2 = getattr(LIBC, "renameat2", None)
    names = os.fsencode(source), os.fsencode(target)
    if renameat2 and not renameat2(old, names[0], new, names[1], _RENAME_NOREPLACE):
        return
    error = get_errno() if renameat2 else errno.ENOSYS
    if error not in {errno.ENOSYS, errno.EINVAL}:
        raise OSError(error, os.strerror(error), source, None, target)
    os.rename(source, target, src_dir_fd=old, dst_dir_fd=new)
