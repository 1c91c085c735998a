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
    "check",
    "exchange",
    "get_errno",
    "rename_to_new",
    "renameat2",
]

_NOREPLACE, _EXCHANGE = 1, 2  # flags of renameat2
_HERE = -100  # in place of a handle: paths are relative to the current directory
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL}  # by the system, or by the file system

LIBC = CDLL(None, use_errno=True)
# Keeps the interpreter's lock during a call, as needed between fork and exec.
HOLDING_LIBC = PyDLL(None, use_errno=True)


def check(result: int, path: str | None = None) -> int:
    """Return the result of a system call; raise OSError, which names the path, if it failed."""
    if result < 0:
        code = get_errno()
        raise OSError(code, os.strerror(code), path)
    return result


def rename_to_new(source: str, target: str, old: int | None, new: int | None) -> None:
    """Rename an entry from one open directory to another; raise FileExistsError if the target exists.

    A file system that cannot do both at once replaces the target.
    """
    try:
        renameat2(source, target, old, new, _NOREPLACE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        os.rename(source, target, src_dir_fd=old, dst_dir_fd=new)


def exchange(one: str, other: str, old: int | None, new: int | None) -> bool:
    """Exchange two entries of open directories in one step; return False where that is not supported."""
    try:
        renameat2(one, other, old, new, _EXCHANGE)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    return True


def renameat2(source: str, target: str, old: int | None, new: int | None, flag: int) -> None:
    """Call the system's renameat2; raise OSError."""
    call = getattr(LIBC, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    old, new = (_HERE if folder is None else folder for folder in (old, new))
    check(call(old, os.fsencode(source), new, os.fsencode(target), flag), source)
