"""A console on a terminal: lines in colour, and a progress line while something takes long."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from unicodedata import combining, east_asian_width

from clada.cli.console import STDERR, STDOUT, Console, screen_size
from clada.report import first_line
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DELAY = 0.5  # seconds before progress is shown
INTERVAL = 0.1  # seconds between two updates
ERASE = "\r\x1b[2K"
ENDING = 4  # rows below the last task: counts, the command for the LLM, commits, the cursor
LONGEST = 10_000  # characters of a command beyond which no terminal is wide enough
# Colours by kind of line: status lines are coloured up to the first colon, others whole.
BOLD, DIM, REVERSE, RED, GREEN, YELLOW, CYAN = "1", "2", "1;7", "31", "32", "33", "36"
START_STYLES = {
    "success": f"{BOLD};{GREEN}",
    "planned": f"{BOLD};{CYAN}",
    "error": f"{BOLD};{RED}",
    "fatal": f"{BOLD};37;41",  # white on red
    "skip": f"{BOLD};{YELLOW}",
    "rolled_back": f"{BOLD};{YELLOW}",
}
LINE_STYLES = {
    "closing": BOLD, "exec": DIM, "detail": CYAN, "file": BOLD, "hunk": CYAN, "added": GREEN, "removed": RED,
}  # fmt: skip
WORD_STYLES = {"added": f"{REVERSE};{GREEN}", "removed": f"{REVERSE};{RED}"}  # of words that differ in a line
END = "\x1b[0m"


class Terminal(Console):
    """Shows lines in colour, if colour is wanted, and a progress line, if its output is a terminal."""

    def __init__(self, color: str = "auto", out: int = STDOUT) -> None:
        super().__init__(out)
        self._is_dumb = os.environ.get("TERM") in ("dumb", "unknown")
        is_plain = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
        self._has_color = not is_plain and not self._is_dumb
        self.rows = screen_size(out).lines if os.isatty(out) else 0
        self._passed = 0  # rows that were written, questions included
        self._errors: list[tuple[int, str]] = []  # that were written, each with the rows before it
        self._progress = Progress(self) if self.rows and not self._is_dumb else None

    @property
    def width(self) -> int:
        """How many columns a line has."""
        return screen_size(self._out).columns

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output, in the colours of their kinds."""
        lines = list(lines)
        for kind, text in lines if self.rows else ():
            if kind == "error":
                self._errors.append((self._passed, text))
            self.count_rows(text)
        spans: dict[int, list[tuple[int, int]]] = {}
        if self._has_color and any(kind == "removed" for kind, _text in lines):
            from clada.text.changed_words import changed_words

            spans = changed_words(lines)
        shown = [
            self._with_words(kind, text, spans[number]) if number in spans else self._styled(kind, text)
            for number, (kind, text) in enumerate(lines)
        ]
        self.write("".join([f"{line}\n" for line in shown]))

    def count_rows(self, text: str) -> None:
        """Count the rows of the screen that lines take: by these, failures scroll away."""
        self._passed += self._rows_of(text.removesuffix("\n"))

    def scrolled_away(self) -> list[tuple[str, str]]:
        """Return the failures that will not be on the screen once they and a last line are written."""
        away, below = 0, ENDING
        for at, text in self._errors:  # the topmost come first
            if at >= self._passed + below - self.rows:
                break
            away, below = away + 1, below + self._rows_of(text)
        errors = [("error", text) for _, text in self._errors[:away]]
        most = max(self.rows - 3, 1)
        more = [("error", f"… and {away - most} more failures")] if away > most else []
        return [*errors[:most], *more]

    def _rows_of(self, text: str) -> int:
        """Return how many rows of the screen a text takes."""
        return sum(max(-(-columns_of(line) // self.width), 1) for line in text.split("\n"))

    def working(self, done: int, total: int, what: str) -> None:
        """Note how far the work is; it is shown from half a second on."""
        if self._progress:
            self._progress.update(done, total, what)

    def pause(self) -> None:
        """Remove the progress line until the work goes on."""
        if self._progress:
            self._progress.pause()

    def close(self) -> None:
        """Remove the progress line for good."""
        if self._progress:
            self._progress.close()

    def draw(self, text: str) -> None:
        """Write the progress line, or erase it."""
        super()._write(self._out, text)

    def _write(self, fd: int, text: str) -> None:
        if not text:
            return
        if self._progress and fd in (self._out, STDERR):
            with self._progress.hidden():
                super()._write(fd, text)
        else:
            super()._write(fd, text)

    def _with_words(self, kind: str, text: str, spans: list[tuple[int, int]]) -> str:
        """Return a line of a diff in which the words that differ stand out."""
        pieces, at = [], 0
        for start, end in spans:
            pieces += [self._styled(kind, text[at:start]), _colored(WORD_STYLES[kind], text[start:end])]
            at = end
        return "".join([*pieces, self._styled(kind, text[at:])])

    def _styled(self, kind: str, text: str) -> str:
        """Return a line, or several of one kind, with colour codes around each."""
        if not self._has_color:
            return text
        if kind in LINE_STYLES:
            return "\n".join(_colored(LINE_STYLES[kind], line) for line in text.split("\n"))
        if kind not in START_STYLES:
            return text
        label, _, rest = text.partition(" ")
        head, colon, tail = rest.partition(":")
        return f"{_colored(DIM, label)} {_colored(START_STYLES[kind], head + colon)}{tail}"


def _colored(codes: str, text: str) -> str:
    return f"\x1b[{codes}m{text}{END}"


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 1 + (east_asian_width(each) in "FW") for each in text)


class Progress:
    """The line at the bottom: how far the work is, what is running, and for how long.

    A thread updates it ten times a second; other output hides it first.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = self._since = time.monotonic()  # of the whole work, and of what is under way
        self._state = (0, 0, "")
        self._paused = self._drawn = False

    def update(self, done: int, total: int, what: str) -> None:
        """Note the state of the work."""
        with self._lock:
            self._state, self._since, self._paused = (done, total, what), time.monotonic(), False
        if self._thread is None and not self._over.is_set():
            thread = threading.Thread(target=self._watch, daemon=True)
            try:
                thread.start()
                self._thread = thread
            except RuntimeError:  # the system has no room for one: there is no progress line
                self._over.set()

    def pause(self) -> None:
        """Show nothing until the work goes on."""
        with self.hidden():
            self._paused = True

    def close(self) -> None:
        """Show nothing any more."""
        self._over.set()
        if self._thread:
            self._thread.join()
        self._erase()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Erase the line, and keep it away during other output."""
        with self._lock:
            self._erase()
            yield

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            with self._lock, suppress(MemoryError):  # the next look may find some
                now = time.monotonic()
                if now - self._started >= DELAY and not self._paused:
                    self._terminal.draw(f"{ERASE}{self._line(now)}")
                    self._drawn = True

    def _line(self, now: float) -> str:
        done, total, what = self._state
        running = f", running {escape_controls(first_line(what[:LONGEST]))}" if what else ""
        text = f"{done} of {total} done{running}"
        ending = f" ({int(now - (self._since if what else self._started))} s)"
        room = max(self._terminal.width - 1 - len(ending), 1)
        text = text[:room]
        while columns_of(text) > room:  # letters of two columns
            text = text[:-1]
        return text + ending

    def _erase(self) -> None:
        if self._drawn:
            self._terminal.draw(ERASE)
            self._drawn = False
