"""Standard output and standard error, as all commands write to them."""

from __future__ import annotations

import os
import select

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.errors import Error

STDIN, STDOUT, STDERR = 0, 1, 2
HURRIED_WAIT = 2000  # milliseconds to wait for a slow reader after a signal
HURRIED_BYTES = 512  # a pipe that is ready takes this much without blocking on every system (PIPE_BUF)


def color_is_forced() -> bool:
    """Return whether FORCE_COLOR asks for colour in a pipe too; NO_COLOR wins over it."""
    return os.environ.get("FORCE_COLOR", "") not in ("", "0") and not os.environ.get("NO_COLOR")


class Console:
    """Writes text to standard output and standard error. What cannot be written is dropped: the run goes on.

    Lines have a kind, by which a terminal colours them; here it makes no difference.
    """

    def __init__(self, out: int = STDOUT, name: str = "standard output") -> None:
        self._out, self._name = out, name  # standard output, or another handle in its place
        self._closed: set[int] = set()
        self._hurried = False
        self.rows = 0  # of the terminal, if it is one
        self.lost = False  # output was lost although its reader did not close the pipe

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output: each a kind, and a text that is safe to show."""
        self._write(self._out, "".join([f"{text}\n" for _kind, text in lines]))

    def scrolled_away(self) -> list[tuple[str, str]]:
        """Return the failures that were written, and are on the screen no more."""
        return []

    def count_rows(self, text: str) -> None:
        """Take note of lines that another has written to the terminal."""

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def note(self, text: str, *commands: str) -> None:
        """Write a line about the work to standard error, and below it commands to copy, each on its line."""
        lines = (f"clada: {text}", *(f"  {command}" for command in commands))
        self.say_aside([("note", escape_controls(line)) for line in lines])

    def note_error(self, error: Error) -> None:
        """Write an error, and below it what to do."""
        self.note(error.message, *error.advice)

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
                    select.select([], [fd], [])
        except BrokenPipeError:
            self._closed.add(fd)  # the reader has seen enough
        except OSError as error:
            self._closed.add(fd)
            self.lost = True
            if fd == self._out:
                self.note(f"{self._name} cannot be written: {error.strerror}")


def _is_ready(fd: int) -> bool:
    """Whether the handle can be written to, at the latest after a short wait."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(HURRIED_WAIT))
