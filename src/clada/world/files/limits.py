"""How much one document may create: without a limit, a few lines of `cp -r` double a tree without end."""

from __future__ import annotations

from clada.errors import Trouble
from clada.values import Value


class Limits(Value):
    """What one document may create at most."""

    max_files: int = 200_000  # and directories
    max_bytes: int = 10 << 30  # of all that it writes


class Created:
    """What a document has created so far."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._files = self._bytes = 0

    def add(self, files: int, size: int) -> None:
        """Count so many files and directories, and bytes that are written; raise where that is too much."""
        self.check(files, size)
        self._files += files
        self._bytes += size

    def check(self, files: int, size: int) -> None:
        """Raise where so many more would be too much."""
        limits = self.limits
        if self._files + files > limits.max_files:
            more, most = f"{self._files + files:,} files and directories", f"{limits.max_files:,}"
            raise _too_much(more, most, "max_files")
        if self._bytes + size > limits.max_bytes:
            raise _too_much(f"{self._bytes + size:,} bytes", f"{limits.max_bytes:,}", "max_bytes")


def _too_much(more: str, most: str, setting: str) -> Trouble:
    message = f"this document would create {more}, and {most} are allowed"
    return Trouble("io_error", message, f"the setting {setting} allows more")
