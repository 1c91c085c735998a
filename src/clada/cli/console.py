"""Writing to standard output and standard error: at once, as UTF-8, and never stopped by a closed pipe."""

from __future__ import annotations

import errno
import os

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STDOUT, STDERR = 1, 2
PATIENCE = 2000  # milliseconds that a reader has, once we have to end
AT_ONCE = 512  # bytes that whatever can be written takes without waiting, everywhere


class Console:
    """Where text goes. What cannot be written any more is dropped: the work goes on.

    A line has a kind, which a terminal shows by its colour; here it is one text among others.
    """

    def __init__(self, out: int = STDOUT) -> None:
        self._out = out  # standard output, or what stands in for it
        self._closed: set[int] = set()
        self._hurried = False
        self.lost = False  # output was lost, and not because its reader had seen enough

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output: each a kind, and a text that is safe to show."""
        self.write("".join([f"{text}\n" for _kind, text in lines]))

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def complain(self, text: str, kind: str = "note") -> None:
        """Write one line to standard error; nothing in it can start another."""
        self.say_aside([(kind, escape_controls(text))])

    def say_aside(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard error."""
        self._write(STDERR, "".join([f"{text}\n" for _kind, text in lines]))

    def working(self, done: int, total: int, what: str) -> None:
        """Take in what is being done: a terminal shows it when it takes long."""

    def pause(self) -> None:
        """Leave the screen to somebody else for a moment: until the next line."""

    def close(self) -> None:
        """Leave nothing behind on the screen."""

    def hurry(self) -> None:
        """Wait for nobody any more but for a moment: a signal says so, maybe in the middle of a write.

        Such a write would go on when the signal has been dealt with, and wait for its reader for ever.
        """
        self._hurried = True
        for fd in (self._out, STDERR):
            if not _is_ready(fd):
                self._closed.add(fd)
                _lead_nowhere(fd)

    def _write(self, fd: int, text: str) -> None:
        data = memoryview(
            text.encode(errors="backslashreplace")
        )  # cutting off what was written copies nothing
        try:
            while data and fd not in self._closed:
                data = data[self._write_some(fd, data) :]
        except OSError as error:
            self._closed.add(fd)
            if error.errno != errno.EPIPE:
                self._lose(fd, error)

    def _lose(self, fd: int, error: OSError) -> None:
        self.lost = True
        if fd == self._out:
            self.complain(f"clada: standard output cannot be written: {error.strerror}")

    def _write_some(self, fd: int, data: memoryview) -> int:
        if self._hurried:
            if not _is_ready(fd):
                self._closed.add(fd)
                return 0
            data = data[:AT_ONCE]
        try:
            return os.write(fd, data)
        except BlockingIOError:  # the other end made the pipe non-blocking
            from select import select

            select([], [fd], [])
            return 0


def _is_ready(fd: int) -> bool:
    """Whether something can be written, if need be after a moment."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(PATIENCE))


def _lead_nowhere(fd: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def screen(color: str, out: int = STDOUT) -> Console:
    """Return where a run is shown: in colour and with its progress on a terminal, plainly elsewhere."""
    if color != "always" and not os.isatty(out):
        return Console(out)
    from clada.cli.terminal import Terminal

    return Terminal(color, out)
