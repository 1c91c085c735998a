"""Reads the output of a command: bytes from its pipe in, safe lines out, in bounded memory."""

from __future__ import annotations

import fcntl
import os

from clada.text.escape import escape_lines
from clada.world.clock import seconds_waited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    # Takes lines, as many as came at once; true once it has enough: further lines are discarded.
    Emit = Callable[[list[str]], bool | None]

    class OutputMask(Protocol):
        """Replaces secrets in a text."""

        @property
        def longest(self) -> int:
            """How many bytes it can have, at most."""

        def __call__(self, text: str) -> str:
            """Return the text without it."""


_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 16  # bytes; a longer line is passed on in pieces
_PIPE = 1 << 20  # bytes that a pipe can hold, once there was much output: fewer reads are needed
_TAIL, _TAIL_WIDTH = 40, 500  # lines that are remembered, and characters of each
_DISCARDS = 64  # reads of discarded output before the clock is examined again
_UTF8_LENGTHS = ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0x100, 4))  # by first byte, below this one


class OutputReader:
    """Reads a pipe without waiting, and passes on its lines without their line breaks."""

    def __init__(self, source: int, emit: Emit, mask: OutputMask | None = None) -> None:
        os.set_blocking(source, False)
        self.source, self._emit, self._mask = source, emit, mask
        self.tail: list[str] = []
        self._pending = b""
        self._nowhere = -1  # /dev/null, once the caller has enough output
        self._enlarged = False
        self._seconds_waited = 0.0

    def read(self) -> bool:
        """Read available output; return whether more can come."""
        try:
            if self._nowhere >= 0:
                return all(_discard_some(self.source, self._nowhere) for _ in range(_DISCARDS))
            chunk = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return True
        self._add(chunk)
        if len(chunk) == _CHUNK and not self._enlarged:
            self._enlarged = True
            _enlarge_pipe(self.source)
        return bool(chunk)

    def seconds_waited(self) -> float:
        """Return how many seconds the receiver of the lines took, since this was last called."""
        seconds, self._seconds_waited = self._seconds_waited, 0.0
        return seconds

    def finish(self) -> None:
        """Read the rest, without waiting for others that have the pipe open, and end the last line."""
        for _ in range(2 * _PIPE // _CHUNK):
            if not self.read():
                break
        if self._pending:
            self._pass_on(self._pending)
            self._pending = b""

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.source)
        if self._nowhere >= 0:
            os.close(self._nowhere)

    def _add(self, chunk: bytes) -> None:
        """Pass on the lines that are complete, and keep the rest."""
        end = chunk.rfind(b"\n")
        if end >= 0:
            self._pass_on(self._pending + chunk[:end])
            self._pending = chunk[end + 1 :]
        else:
            self._pending += chunk
        if len(self._pending) > _LONGEST_LINE:
            self._pass_on_piece()

    def _pass_on_piece(self) -> None:
        """Pass on the start of a long line; secrets are masked first, or kept for later."""
        rest = 0
        if self._mask:
            self._pending = self._mask(self._pending.decode("utf-8", "surrogateescape")).encode(
                "utf-8", "surrogateescape"
            )
            rest = min(self._mask.longest, len(self._pending) // 2)
        end = _complete_length(self._pending[: len(self._pending) - rest])
        self._pass_on(self._pending[:end])
        self._pending = self._pending[end:]

    def _pass_on(self, block: bytes) -> None:
        """Pass on a block of lines; all that is done to them is done to the whole block, which is quick."""
        if self._nowhere >= 0:
            return
        text = block.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\r")
        lines = (self._mask(escape_lines(text)) if self._mask else escape_lines(text)).split("\n")
        self.tail = (self.tail + [line[:_TAIL_WIDTH] for line in lines[-_TAIL:]])[-_TAIL:]
        enough, waited = seconds_waited(self._emit, lines)
        self._seconds_waited += waited
        if enough:
            self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def _complete_length(data: bytes) -> int:
    """Return the length of the data without a last UTF-8 character that is incomplete."""
    for back in range(1, min(4, len(data)) + 1):
        length = next(length for below, length in _UTF8_LENGTHS if data[-back] < below)
        if length:
            return len(data) - back if length > back else len(data)
    return len(data)


def _discard_some(source: int, nowhere: int) -> bool:
    """Throw away some output; return whether there was any."""
    if hasattr(os, "splice"):  # Linux: the bytes never enter this process
        return os.splice(source, nowhere, _PIPE) > 0
    return bool(os.read(source, _PIPE))


def _enlarge_pipe(source: int) -> None:
    if hasattr(fcntl, "F_SETPIPE_SZ"):  # Linux
        try:
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:
            return  # the user's share of pipe memory is used up: the ordinary size works too
