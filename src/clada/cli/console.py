"""Writing to standard output and standard error: at once, as UTF-8, and never stopped by a closed pipe."""

from __future__ import annotations

import errno
import os

from clada.text.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STDOUT, STDERR = 1, 2


class Console:
    """Where text goes. What cannot be written any more is dropped: the work goes on.

    A line has a kind, which a terminal shows by its colour; here it is one text among others.
    """

    def __init__(self, out: int = STDOUT) -> None:
        self._out = out  # standard output, or what stands in for it
        self._closed: set[int] = set()
        self.lost = False  # output was lost, and not because its reader had seen enough

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output: each a kind, and a text that is safe to show."""
        self.write("".join([f"{text}\n" for _kind, text in lines]))

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def complain(self, text: str, kind: str = "note") -> None:
        """Write one line to standard error; nothing in it can start another."""
        self.say_aside([(kind, shown(text))])

    def say_aside(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard error."""
        self._write(STDERR, "".join([f"{text}\n" for _kind, text in lines]))

    def working(self, done: int, total: int, what: str) -> None:
        """Take in what is being done: a terminal shows it when it takes long."""

    def pause(self) -> None:
        """Leave the screen to somebody else for a moment: until the next line."""

    def close(self) -> None:
        """Leave nothing behind on the screen."""

    def _write(self, fd: int, text: str) -> None:
        if fd in self._closed:
            return
        data = text.encode(errors="backslashreplace")
        try:
            while data:
                data = data[_write_some(fd, data) :]
        except OSError as error:
            self._closed.add(fd)
            if error.errno != errno.EPIPE:
                self._lose(fd, error)

    def _lose(self, fd: int, error: OSError) -> None:
        self.lost = True
        if fd == self._out:
            self.complain(f"clada: standard output cannot be written: {error.strerror}")


def _write_some(fd: int, data: bytes) -> int:
    try:
        return os.write(fd, data)
    except BlockingIOError:  # the other end made the pipe non-blocking
        from select import select

        select([], [fd], [])
        return 0


def screen(color: str, out: int = STDOUT) -> Console:
    """Return where a run is shown: in colour and with its progress on a terminal, plainly elsewhere."""
    if color != "always" and not os.isatty(out):
        return Console(out)
    from clada.cli.terminal import Terminal

    return Terminal(color, out)
