"""Long texts on a terminal, by the person's own pager, and texts to change, by their own editor."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile

from rich.cells import cell_len

from clada.cli.terminal import Terminal
from clada.errors import CladaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.report import Line

PAGER, EDITOR = "less", "vi"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ROOM = 3  # rows of the screen that the question takes
LESS = "FRX"  # what git sets, too: no pager for one page, colours, and the text stays on the screen


def page(text: str, terminal: int) -> bool:
    """Show a text in the pager; return False where there is none, or none is wanted."""
    words = _words(os.environ.get("PAGER", PAGER))
    if not words or words == ["cat"]:
        return False
    return _run(words, terminal, text.encode(errors="backslashreplace"), LESS=LESS) is not None


def edit(data: bytes, terminal: int) -> bytes:
    """Let the person change a text in their editor; return what it is then."""
    words = _words(os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR)
    with tempfile.TemporaryDirectory(prefix="clada-") as folder:
        path = os.path.join(folder, "answer.md")
        with open(path, "wb") as file:
            file.write(data)
        code = _run([*words, path], terminal)
        if code is None:
            hint = "set EDITOR to one that is installed"
            raise CladaError("io_error", f"the editor {' '.join(words)} cannot be started", hint)
        if code:
            raise CladaError("io_error", f"the editor ended with exit code {code}: nothing is changed")
        with open(path, "rb") as file:
            return file.read()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return command.split()


def _run(words: Sequence[str], terminal: int, text: bytes | None = None, **extra: str) -> int | None:
    """Run a program on the terminal, with this text as its input; return its exit code, None without it.

    Keys that interrupt are for the program: a handler, other than SIG_IGN, is not handed on to it.
    """
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        process = subprocess.Popen(  # noqa: S603 (the person's own choice)
            words,
            stdin=terminal if text is None else subprocess.PIPE,
            stdout=terminal,
            stderr=terminal,
            env={**extra, **os.environ},
        )
        process.communicate(text)
    except OSError:
        return None
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode


class Pages(Terminal):
    """Keeps what is said, and shows it at once: in a pager, if it is more than the screen has room for."""

    def __init__(self, color: str, terminal: int) -> None:
        super().__init__(color, terminal)
        self._text: list[str] = []

    def _write(self, fd: int, text: str) -> None:
        if fd == self._out:
            self._text.append(text)
        else:
            super()._write(fd, text)

    def explain(self, lines: Iterable[Line]) -> None:
        """Show lines at once."""
        super()._write(self._out, "".join(f"{text}\n" for _kind, text in lines))

    def show(self) -> None:
        """Show what was said."""
        text = "".join(self._text)
        if not self._is_long(text) or not page(text, self._out):
            super()._write(self._out, text)

    def _is_long(self, text: str) -> bool:
        """Whether a text, and a question below it, do not fit on the screen."""
        room, lines = self.rows - ROOM, text.split("\n")
        if not self.rows or len(lines) > room:
            return bool(self.rows)
        return sum(max(1, -(-cell_len(COLOUR.sub("", line)) // self.width)) for line in lines) > room
