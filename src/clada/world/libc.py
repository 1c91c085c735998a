"""The C library, for system calls without a Python function."""

from __future__ import annotations

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
]

LIBC = CDLL(None, use_errno=True)
# Keeps the interpreter's lock during a call, as needed between fork and exec.
HOLDING_LIBC = PyDLL(None, use_errno=True)
