"""Writing to standard output and standard error: at once, as UTF-8, and never stopped by a closed pipe."""

from __future__ import annotations

import os

STDOUT, STDERR = 1, 2


class Console:
    """Where text goes. What cannot be written any more is dropped: the work goes on."""

    def __init__(self) -> None:
        self._closed: set[int] = set()

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(STDOUT, text)

    def complain(self, text: str) -> None:
        """Write a line to standard error."""
        self._write(STDERR, f"{text}\n")

    def _write(self, fd: int, text: str) -> None:
        if fd in self._closed:
            return
        data = text.encode(errors="backslashreplace")
        try:
            while data:
                data = data[_write_some(fd, data) :]
        except OSError:
            self._closed.add(fd)


def _write_some(fd: int, data: bytes) -> int:
    try:
        return os.write(fd, data)
    except BlockingIOError:  # the other end made the pipe non-blocking
        from select import select

        select([], [fd], [])
        return 0
