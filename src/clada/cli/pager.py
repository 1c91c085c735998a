"""The user's own pager for long texts, and their own editor for texts to change."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile

from clada.cli.terminal import Terminal
from clada.errors import CladaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PAGER, EDITOR = "less", "vi"
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ROOM = 5  # rows of the screen for the closing line and the question
LESS = "FRX"  # what git sets, too: no pager for one page, colours, and the text stays on the screen


def page(text: str, terminal: int) -> bool:
    """Show a text in the pager; return False if there is none, or none is wanted."""
    words = _words(os.environ.get("PAGER", PAGER))
    if not words or words == ["cat"]:
        return False
    return _run(words, terminal, text.encode(errors="backslashreplace"), LESS=LESS) is not None


def edit(data: bytes, terminal: int, name: str = "answer.md") -> bytes:
    """Let the user change a text in their editor, as a file of this name; return the new text."""
    words = _words(os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR)
    with tempfile.TemporaryDirectory(prefix="clada-") as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        code = _run([*words, path], terminal)
        if code is None:
            hint = "export EDITOR=nano"
            raise CladaError("io_error", f"the editor {' '.join(words)} cannot be started", hint)
        if code:
            raise CladaError("io_error", f"the editor ended with exit code {code}: nothing was changed")
        with open(path, "rb") as file:
            return file.read()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return command.split()


def _run(words: Sequence[str], terminal: int, text: bytes | None = None, **extra: str) -> int | None:
    """Run a program on the terminal, with this text as its input; return its exit code, None without it.

    Ctrl-C is for the program: a handler, other than SIG_IGN, is not inherited by it.
    """
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        process = subprocess.Popen(  # noqa: S603 (the user's own choice)
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
    """Collects what is said, to be shown at once."""

    def __init__(self, color: str, terminal: int) -> None:
        super().__init__(color, terminal)
        self.text = ""

    def _write(self, fd: int, text: str) -> None:
        if fd == self._out:
            self.text += text
        else:
            super()._write(fd, text)

    def fits(self, *others: Pages) -> bool:
        """Whether the text of these pages, with a question below it, fits on the screen."""
        text = "".join(pages.text for pages in (self, *others))
        return not self.rows or self._rows_of(COLOUR.sub("", text)) <= self.rows - ROOM

    def show(self) -> None:
        """Show the text."""
        super()._write(self._out, self.text)
