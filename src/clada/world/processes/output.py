"""Reads what a command prints: bytes from its pipe in, safe lines out, in bounded memory, up to a limit."""

from __future__ import annotations

import os
import time

from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
_LONGEST_LINE = 1 << 16  # bytes; a longer line is passed on in pieces
_PIPE = 1 << 20  # bytes that a pipe can hold, once there was much output: fewer reads are needed
_TAIL, _TAIL_WIDTH = 40, 500  # lines that are remembered, and characters of each
_DISCARDS = 64  # reads of discarded output before the clock is looked at again
_UTF8_LENGTHS = ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0x100, 4))  # by first byte, below this one


class Listener(Value):
    """Where the output of a program goes: line by line, up to a limit."""

    max_bytes: int
    emit: Callable[[str], None]
    truncated: Callable[[], None]  # called once if there was more


class OutputReader:
    """Reads a pipe without waiting, and passes on each line without its line break."""

    def __init__(self, source: int, listener: Listener) -> None:
        os.set_blocking(source, False)
        self._truncated = False
        self.tail: list[str] = []
        self.source = source
        self._left = listener.max_bytes
        self._emit = listener.emit
        self._tell_truncated = listener.truncated
        self._pending = b""
        self._nowhere = -1
        self._enlarged = False
        self._listener_seconds = 0.0

    def read(self) -> bool:
        """Read some of what is there; return whether more can come."""
        try:
            if not self._truncated:
                return self._keep(os.read(self.source, _CHUNK))
            return all(_discard_some(self.source, self._nowhere) for _ in range(_DISCARDS))
        except BlockingIOError:
            return True

    def listener_seconds(self) -> float:
        """Return how many seconds the listener has taken since this was last called."""
        seconds, self._listener_seconds = self._listener_seconds, 0.0
        return seconds

    def finish(self) -> None:
        """Read what is left, without waiting for others that have the pipe open, and end the last line."""
        for _ in range(2 * _PIPE // _CHUNK):
            if not self.read():
                break
        self._end_line()

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.source)
        if self._nowhere >= 0:
            os.close(self._nowhere)

    def _keep(self, chunk: bytes) -> bool:
        kept = chunk[: self._left]
        self._left -= len(kept)
        self._add(kept)
        if len(kept) < len(chunk):
            self._truncate()
        elif len(chunk) == _CHUNK and not self._enlarged:
            self._enlarged = True
            _enlarge(self.source)
        return bool(chunk)

    def _add(self, chunk: bytes) -> None:
        """Pass on the lines that are complete, and keep the rest."""
        end = chunk.rfind(b"\n")
        if end >= 0:
            self._emit_lines(self._pending + chunk[:end])
            self._pending = chunk[end + 1 :]
        else:
            self._pending += chunk
        if len(self._pending) > _LONGEST_LINE:
            end = _complete_length(self._pending)
            self._emit_lines(self._pending[:end])
            self._pending = self._pending[end:]

    def _emit_lines(self, block: bytes) -> None:
        text = block.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        # Nearly always nothing is to be escaped: one check of the whole block is quicker than one a line.
        safe = text.replace("\n", " ").replace("\t", " ").isprintable()
        lines = lines if safe else list(map(escape_controls, lines))
        self.tail = (self.tail + [line[:_TAIL_WIDTH] for line in lines[-_TAIL:]])[-_TAIL:]
        start = time.monotonic()
        for line in lines:
            self._emit(line)
        self._listener_seconds += time.monotonic() - start

    def _truncate(self) -> None:
        """Pass on what there is of the last line, without a character that was cut; discard the rest."""
        self._pending = self._pending[: _complete_length(self._pending)]
        self._end_line()
        self._truncated = True
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._tell_truncated()

    def _end_line(self) -> None:
        if self._pending:
            self._emit_lines(self._pending)
            self._pending = b""


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


def _enlarge(source: int) -> None:
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):  # Linux
        try:
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:
            return  # the user's share of pipe memory is used up: the ordinary size works too
