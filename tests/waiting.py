"""Waiting for what is to come: long enough for a busy machine, and no longer than it takes."""

from __future__ import annotations

import os
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 90.0  # seconds


def eventually(condition: Callable[[], object]) -> bool:
    """Return whether the condition comes true before long."""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def read_until(handle: int, text: str) -> str:
    """Read what comes until this text is in it, and return all of it."""
    until = time.monotonic() + PATIENCE
    seen = ""
    while text not in seen:
        assert time.monotonic() < until, seen
        if select.select([handle], [], [], 0.1)[0]:
            seen += os.read(handle, 65536).decode()
    return seen
