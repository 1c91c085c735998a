"""The C library, for the calls that Python has no function of its own for."""

from __future__ import annotations

import ctypes

LIBC = ctypes.CDLL(None, use_errno=True)
