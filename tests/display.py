"""A display with a clipboard of its own, for tests of what a desktop offers."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.programs import skip_without
from tests.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


class Display:
    """An X server without a screen, and its clipboard."""

    def __init__(self, name: str, server: subprocess.Popen[bytes]) -> None:
        self.name, self._server = name, server

    def close(self) -> None:
        """End it."""
        self._server.terminate()
        self._server.wait(PATIENCE)

    def copy(self, text: str) -> None:
        """Copy a text, as another program would."""
        self._xclip(text, out=subprocess.DEVNULL)  # a part of it stays, to hand the text out
        assert eventually(lambda: self.paste() == text)  # xclip returns before it is there

    def paste(self) -> str:
        """Return what is on the clipboard; nothing if nothing is."""
        return self._xclip("", "-o", out=subprocess.PIPE).stdout or ""

    def _xclip(self, text: str, *words: str, out: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["xclip", "-selection", "clipboard", *words],
            input=text,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "DISPLAY": self.name},
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@contextmanager
def display() -> Iterator[Display]:
    """Start a display; skip the test where the programs for that are missing."""
    skip_without("Xvfb", "xclip")
    reading, writing = os.pipe()
    argv = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "64x64x8", "-nolisten", "tcp"]
    server = subprocess.Popen(
        argv, pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    os.close(writing)
    with os.fdopen(reading) as file:
        shown = Display(f":{file.readline().strip()}", server)
    try:
        assert shown.name != ":", "Xvfb did not start"
        yield shown
    finally:
        shown.close()
