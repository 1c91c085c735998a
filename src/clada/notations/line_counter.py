"""Places in a document: line numbers of byte offsets, counted once however many are asked for."""

from __future__ import annotations


class LineCounter:
    """Tells the line of one offset after the other; quick as long as each is near the one before."""

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = data
        self._line, self._at = 1, 0

    def line(self, offset: int) -> int:
        """Return the 1-based line of a byte offset."""
        if offset < self._at:
            self._line -= self._data.count(b"\n", offset, self._at)
        elif self._data.find(b"\n", self._at, offset) >= 0:  # to look for the first is quicker than to count
            self._line += self._data.count(b"\n", self._at, offset)
        self._at = offset
        return self._line

    def column(self, offset: int) -> int:
        """Return the 1-based column of a byte offset, in characters."""
        start = self._data.rfind(b"\n", 0, offset) + 1
        return len(self._data[start:offset].decode(errors="replace")) + 1

    def start(self, line: int) -> int:
        """Return where a line starts."""
        if line < self._line:
            self._line, self._at = 1, 0
        at = self._data.rfind(b"\n", 0, self._at) + 1
        for _ in range(line - self._line):
            at = self._data.find(b"\n", at) + 1
        self._line, self._at = line, at
        return at
