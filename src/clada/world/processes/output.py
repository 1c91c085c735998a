"""What a command prints: bytes from its pipe in, safe lines out, in bounded memory and up to a limit."""

from __future__ import annotations

import os
import time

from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 16
_LONGEST = 1 << 16  # bytes of a line that are kept waiting for its end
_PIPE = 1 << 20  # a flood is read through a larger pipe, with fewer turns
_TAIL, _TAIL_WIDTH = 40, 500  # lines that are remembered, and characters of each
_TURNS = 64  # how long a flood is discarded before the clock is looked at again
_UTF8_LENGTHS = ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0x100, 4))  # by first byte, below this one


class Listener(Value):
    """Who hears what a program prints: at most so many bytes, line by line; and that the rest is left out."""

    most: int
    emit: Callable[[str], None]
    truncated: Callable[[], None]


class Output:
    """Reads a pipe without waiting, and hands on each line without its line break."""

    def __init__(self, source: int, listener: Listener) -> None:
        os.set_blocking(source, False)
        self._truncated = False
        self.tail: list[str] = []
        self.source = source
        self._left = listener.most
        self._emit = listener.emit
        self._tell_truncated = listener.truncated
        self._pending = b""
        self._nowhere = -1
        self._enlarged = False
        self._held_up = 0.0

    def read(self) -> bool:
        """Take in what is there, as far as one turn goes; return whether more can come."""
        try:
            return self._discard() if self._truncated else self._keep(os.read(self.source, _CHUNK))
        except BlockingIOError:
            return True

    def held_up(self) -> float:
        """Return for how many seconds the listener has held us up since this was last asked."""
        seconds, self._held_up = self._held_up, 0.0
        return seconds

    def finish(self) -> None:
        """Take in what is left without waiting for whoever may still hold the pipe, and end the last line."""
        for _turn in range(2 * _PIPE // _CHUNK):
            if not self.read():
                break
        self._end_line()

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self.source)
        if self._nowhere >= 0:
            os.close(self._nowhere)

    def _keep(self, chunk: bytes) -> bool:
        kept = chunk[: self._left]
        self._left -= len(kept)
        self._pass_on(kept)
        if len(kept) < len(chunk):
            self._cut()
        elif len(chunk) == _CHUNK and not self._enlarged:
            self._enlarged = True
            _enlarge(self.source)
        return bool(chunk)

    def _pass_on(self, chunk: bytes) -> None:
        end = chunk.rfind(b"\n")
        if end >= 0:
            self._emit_lines(self._pending + chunk[:end])
            self._pending = chunk[end + 1 :]
        else:
            self._pending += chunk
        if len(self._pending) > _LONGEST:
            end = _whole(self._pending)
            self._emit_lines(self._pending[:end])
            self._pending = self._pending[end:]

    def _emit_lines(self, block: bytes) -> None:
        text = block.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        # One look at the whole block spares one at each line, nearly always.
        safe = text.replace("\n", " ").replace("\t", " ").isprintable()
        lines = lines if safe else list(map(escape_controls, lines))
        self.tail = (self.tail + [line[:_TAIL_WIDTH] for line in lines[-_TAIL:]])[-_TAIL:]
        start = time.monotonic()
        for line in lines:
            self._emit(line)
        self._held_up += time.monotonic() - start

    def _cut(self) -> None:
        """Stop keeping: a character that the limit cut in two is dropped, the line's beginning is shown."""
        self._pending = self._pending[: _whole(self._pending)]
        self._end_line()
        self._truncated = True
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._tell_truncated()

    def _end_line(self) -> None:
        if self._pending:
            self._emit_lines(self._pending)
            self._pending = b""

    def _discard(self) -> bool:
        return all(_discard_some(self.source, self._nowhere) for _turn in range(_TURNS))


def _whole(data: bytes) -> int:
    """Return the length of the data without a last character that is not complete yet."""
    for back in range(1, min(4, len(data)) + 1):
        length = next(length for below, length in _UTF8_LENGTHS if data[-back] < below)
        if length:
            return len(data) - back if length > back else len(data)
    return len(data)


if hasattr(os, "splice"):  # Linux: the bytes never enter this process

    def _discard_some(source: int, nowhere: int) -> bool:
        return os.splice(source, nowhere, _PIPE) > 0

    def _enlarge(source: int) -> None:
        import fcntl

        try:
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, _PIPE)
        except OSError:
            return  # the user's share of pipe memory is used up: the ordinary size works too

else:

    def _discard_some(source: int, nowhere: int) -> bool:
        del nowhere
        return bool(os.read(source, _PIPE))

    def _enlarge(source: int) -> None:
        del source
