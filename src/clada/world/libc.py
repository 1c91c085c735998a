"""The C library, for the calls that Python has no function of its own for.

It is made of `_ctypes`, as `ctypes` is, and has the same names: to import that one takes 1.5 to 2 ms, a tenth
of a start with one reader. What needs more than there is here imports it.
"""

from __future__ import annotations

from _ctypes import (
    FUNCFLAG_CDECL,
    FUNCFLAG_PYTHONAPI,
    FUNCFLAG_USE_ERRNO,
    CFuncPtr,
    _SimpleCData,
    byref,
    dlopen,
    get_errno,
)

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ctypes import CDLL, PyDLL, c_char_p, c_int, c_short, c_size_t, c_uint64, c_void_p
    from typing import Any

    LIBC = CDLL(None, use_errno=True)
    HOLDING_LIBC = PyDLL(None, use_errno=True)
else:
    c_int, c_short, c_size_t, c_uint64, c_char_p, c_void_p = (
        type(_SimpleCData)(f"type_{letter}", (_SimpleCData,), {"_type_": letter}) for letter in "ihLQzP"
    )

    class _Library:
        """All functions that are loaded, each looked up when it is first named."""

        def __init__(self, flags: int) -> None:
            function = {"_flags_": flags | FUNCFLAG_USE_ERRNO, "_restype_": c_int}
            self._function = type(CFuncPtr)("Function", (CFuncPtr,), function)
            self._handle = dlopen(None, 0)

        def __getattr__(self, name: str) -> Any:
            setattr(self, name, self._function((name, self)))
            return getattr(self, name)

    LIBC = _Library(FUNCFLAG_CDECL)
    HOLDING_LIBC = _Library(FUNCFLAG_CDECL | FUNCFLAG_PYTHONAPI)  # other threads of Python wait meanwhile
