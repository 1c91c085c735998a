"""A terminal: the same lines in colour, and a progress line while something takes long. Loads rich."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.console import COLOR_SYSTEMS
from rich.console import Console as Rich
from rich.style import Style

from clada.cli.console import STDERR, STDOUT, Console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATIENCE = 0.5  # seconds before progress is shown
TURN = 0.1  # seconds between two looks at it
ERASE = "\r\x1b[2K"
# How a line of each kind looks; of a status line only its start, up to the first colon.
HEADS = {"success": "bold green", "error": "bold red", "fatal": "bold white on red", "skip": "bold yellow"}
WHOLES = {
    "exec": "dim", "detail": "cyan", "file": "bold", "hunk": "cyan", "added": "green", "removed": "red",
}  # fmt: skip


class Terminal(Console):
    """Shows lines in colour, if colour is wanted, and progress, if somebody is looking at it."""

    def __init__(self, color: str = "auto", out: int = STDOUT) -> None:
        super().__init__(out)
        self._rich = Rich(force_terminal=True if color == "always" or out != STDOUT else None)
        self._colors = COLOR_SYSTEMS[self._rich.color_system or "standard"]
        plain = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
        kinds = {} if plain or not self._rich.color_system else {**HEADS, **WHOLES}
        self._styles = {kind: self._codes(words) for kind, words in kinds.items()}
        self._progress = Progress(self) if os.isatty(out) and not self._rich.is_dumb_terminal else None

    @property
    def width(self) -> int:
        """Return how many cells a line has."""
        return self._rich.width

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Write lines to standard output, in the colours of their kinds."""
        self.write("".join([f"{self._dressed(kind, text)}\n" for kind, text in lines]))

    def working(self, done: int, total: int, what: str) -> None:
        """Take in what is being done; it is shown from half a second on."""
        if self._progress:
            self._progress.take(done, total, what)

    def pause(self) -> None:
        """Take the progress line away until the work goes on."""
        if self._progress:
            self._progress.pause()

    def close(self) -> None:
        """Take the progress line away for good."""
        if self._progress:
            self._progress.close()

    def draw(self, text: str) -> None:
        """Write the progress line, or over it."""
        super()._write(self._out, text)

    def _write(self, fd: int, text: str) -> None:
        if not text:
            return
        if self._progress and fd in (self._out, STDERR):
            with self._progress.hidden():
                super()._write(fd, text)
        else:
            super()._write(fd, text)

    def _codes(self, words: str) -> tuple[str, str]:
        """Return what a terminal is sent before and after a text of this style."""
        before, _, after = Style.parse(words).render("x", color_system=self._colors).partition("x")
        return before, after

    def _dressed(self, kind: str, text: str) -> str:
        """Return a line, or several of one kind, in its colours; each line by itself."""
        if kind not in self._styles:
            return text
        before, after = self._styles[kind]
        if kind in WHOLES:
            return before + text.replace("\n", f"{after}\n{before}") + after
        label, _, rest = text.partition(" ")
        head, colon, tail = rest.partition(":")
        return f"{self._dressed('exec', label)} {before}{head}{colon}{after}{tail}"


class Progress:
    """The line at the bottom: how far the work is, what is running, and since when.

    A thread looks at it ten times a second; whoever else writes takes the line away first.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = self._since = time.monotonic()  # of the whole work, and of what is under way
        self._state = (0, 0, "")
        self._paused = self._drawn = False

    def take(self, done: int, total: int, what: str) -> None:
        """Take in the state of the work."""
        with self._lock:
            self._state, self._since, self._paused = (done, total, what), time.monotonic(), False
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

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
        """Take the line away, and keep it away while somebody else writes."""
        with self._lock:
            self._erase()
            yield

    def _watch(self) -> None:
        while not self._over.wait(TURN):
            with self._lock:
                now = time.monotonic()
                if now - self._started >= PATIENCE and not self._paused:
                    self._terminal.draw(f"{ERASE}{self._line(now)}")
                    self._drawn = True

    def _line(self, now: float) -> str:
        done, total, what = self._state
        text = f"{done} of {total} done{f', running {what}' if what else ''}"
        ending = f" ({int(now - (self._since if what else self._started))} s)"
        room = max(self._terminal.width - 1 - len(ending), 1)
        return (text if cell_len(text) <= room else set_cell_size(text, room)) + ending

    def _erase(self) -> None:
        if self._drawn:
            self._terminal.draw(ERASE)
            self._drawn = False
