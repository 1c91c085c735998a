"""Answers that are copied to the clipboard, one after the other, for `clada watch --clipboard`."""

from __future__ import annotations

import time

from clada.cli.clipboard import check, paste
from clada.errors import CladaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNREACHABLE = ("display", "connect")  # what is in the words of programs that find no desktop
INTERVAL = 0.5  # seconds between two looks at the clipboard


class Copied:
    """What was copied since we began to look."""

    def __init__(self) -> None:
        check()
        self._known = _text()

    def ticks(self) -> Iterator[bytes]:
        """Yield what was copied last, if that is new; else nothing."""
        while True:
            time.sleep(INTERVAL)
            text = _text()
            yield b"" if text == self._known else text
            self._known = text


def _text() -> bytes:
    try:
        return paste()
    except CladaError as trouble:
        if any(word in trouble.error.message.lower() for word in UNREACHABLE):
            raise
        return b""  # nothing was copied, or a picture
