"""Writes to standard output and standard error: unbuffered, as UTF-8, and also if the reader goes away."""

from __future__ import annotations

import errno
import os

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STDOUT, STDERR = 1, 2
HURRIED_WAIT = 2000  # milliseconds that a reader has, once a signal says to end
HURRIED_BYTES = 512  # that a pipe which is ready takes without blocking, on every system (PIPE_BUF)


class Console:
    """Writes text to standard output and standard error. What cannot be written is dropped: the run goes on.

    Lines have a kind, by which a terminal colours them; here it makes no difference.
    """

    def __init__(self, out: int = STDOUT) -> None:
        self._out = out  # standard output, or another handle in its place
        self._closed: set[int] = set()
        self._hurried = False
        self.lost = False  # output was lost although its reader did not close the pipe

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output: each a kind, and a text that is safe to show."""
        self._write(self._out, "".join([f"{text}\n" for _kind, text in lines]))

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def complain(self, text: str, kind: str = "note") -> None:
        """Write one line to standard error, escaped so that it stays one."""
        self.say_aside([(kind, escape_controls(text))])

    def say_aside(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard error."""
        self._write(STDERR, "".join([f"{text}\n" for _kind, text in lines]))

    def working(self, done: int, total: int, what: str) -> None:
        """Note how far the work is: a terminal shows it when it takes long."""

    def pause(self) -> None:
        """Remove the progress line until the next line is written."""

    def close(self) -> None:
        """Remove the progress line for good."""

    def hurry(self) -> None:
        """Stop waiting for slow readers: called by a signal, perhaps in the middle of a write.

        Such a write would go on after the signal and wait for its reader for ever, so its handle is replaced.
        """
        self._hurried = True
        for fd in (self._out, STDERR):
            if not _is_ready(fd):
                self._closed.add(fd)
                devnull = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(devnull, fd)
                os.close(devnull)

    def _write(self, fd: int, text: str) -> None:
        data = memoryview(text.encode(errors="backslashreplace"))  # a slice of it copies nothing
        try:
            while data and fd not in self._closed:
                if self._hurried and not _is_ready(fd):
                    self._closed.add(fd)
                    return
                try:
                    data = data[os.write(fd, data[:HURRIED_BYTES] if self._hurried else data) :]
                except BlockingIOError:  # the other end made the pipe non-blocking
                    from select import select

                    select([], [fd], [])
        except OSError as error:
            self._closed.add(fd)
            if error.errno == errno.EPIPE:
                return  # the reader has seen enough
            self.lost = True
            if fd == self._out:
                self.complain(f"clada: standard output cannot be written: {error.strerror}")


def _is_ready(fd: int) -> bool:
    """Whether the handle can be written to, at the latest after a short wait."""
    import select

    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(HURRIED_WAIT))


def screen(color: str, out: int = STDOUT) -> Console:
    """Return a console: on a terminal, or with `--color=always`, one with colours and progress."""
    if color != "always" and not os.isatty(out):
        return Console(out)
    from clada.cli.terminal import Terminal

    return Terminal(color, out)
