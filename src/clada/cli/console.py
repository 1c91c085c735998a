"""Standard output and standard error, as all commands write to them; and columns of text."""

from __future__ import annotations

import os
import select

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clada.errors import Error

STDIN, STDOUT, STDERR = 0, 1, 2
FALLBACK = (80, 24)  # columns and lines of a terminal that does not tell
GAP = 2  # blanks between columns
NARROWEST = 20  # columns of the screen below which a field is cut only if no other can be
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
        """Return the failures that are no longer on the screen."""
        return []

    def count_rows(self, text: str) -> None:
        """Count rows that were written to the terminal by other means."""

    def write(self, text: str) -> None:
        """Write to standard output."""
        self._write(self._out, text)

    def write_json(self, value: object, indent: int | None = 2) -> None:
        """Write a value as JSON to standard output."""
        import json  # late: a plain run needs none

        self.write(json.dumps(value, indent=indent) + "\n")

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


def screen_size(handle: int = STDOUT) -> os.terminal_size:
    """Return the columns and lines of a terminal; COLUMNS and LINES in the environment win."""
    try:
        size = os.get_terminal_size(handle)
    except OSError:
        size = os.terminal_size((0, 0))
    given = [os.environ.get(name, "") for name in ("COLUMNS", "LINES")]
    numbers = [int(text) if text.isdecimal() else 0 for text in given]
    return os.terminal_size(
        number or found or usual for number, found, usual in zip(numbers, size, FALLBACK, strict=True)
    )


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], right: int = -1) -> Iterator[str]:
    """Yield a header and rows in columns; on a terminal the last column is cut to fit, then the widest.

    `right` is the column that is aligned to the right, as numbers are.
    """
    shown = [tuple(map(escape_controls, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    if os.isatty(STDOUT):
        width = screen_size().columns
        widest = max(range(len(widths) - 1), key=widths.__getitem__)
        for at, least in ((-1, NARROWEST), (widest, NARROWEST), (-1, 1)):
            excess = max(sum(widths) + GAP * (len(widths) - 1) - width, 0)
            widths[at] = min(widths[at], max(widths[at] - excess, least))
    for row in shown:
        fields = []
        for at, (text, size) in enumerate(zip(row, widths, strict=True)):
            cut = f"{text[: size - 1]}…" if len(text) > size else text
            fields.append(cut.rjust(size) if at == right else cut.ljust(size))
        yield (" " * GAP).join(fields).rstrip()
