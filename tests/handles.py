"""Handles of this process: which are open, and what happens where few can be."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def few_handles(left: int) -> Iterator[None]:
    """Let this process open no more than so many files."""
    old, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, open_handles())) + 1 + left, most))
    try:
        with contextlib.suppress(OSError):
            while True:
                fillers.append(os.dup(0))
        for _ in range(left):
            os.close(fillers.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (old, most))
        for filler in fillers:
            os.close(filler)


def open_handles() -> list[str]:
    """Return the handles that this process holds, without those that an earlier test has left in a cycle.

    Where there is no /proc, nothing is known of them.
    """
    gc.collect()
    if not os.path.isdir("/proc/self/fd"):
        return []
    return sorted(os.listdir("/proc/self/fd"))
