"""Ends a review some time after its last page was closed."""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

GRACE = 3.0  # seconds that a page has to come back after everything was carried out: it may be loaded again
PATIENCE = 600.0  # the same while there is something to choose


class Presence:
    """Counts open pages. `ended` becomes readable when the review is to end; never without patience."""

    def __init__(
        self,
        patience: float | None,
        on_alone: Callable[[], None],
        *,
        is_busy: Callable[[], bool],
        is_over: Callable[[], bool],
    ) -> None:
        self._patience, self._on_alone = patience, on_alone
        self._is_busy, self._is_over = is_busy, is_over  # something is under way; nothing is left to choose
        self._pages = 0
        self._alone_since: float | None = None  # no page was there before
        self._lock = threading.Lock()
        self.ended, self._end = os.pipe()

    def open(self) -> None:
        """Count a page that was opened."""
        with self._lock:
            self._pages += 1

    def leave(self) -> None:
        """Count a page that was closed; if it was the last, and does not come back, the review ends."""
        with self._lock:
            self._pages -= 1
            self._alone_since = monotonic()
        self.check_soon()

    def end(self) -> None:
        """End the review."""
        os.write(self._end, b"!")

    def check_soon(self) -> None:
        """End the review later unless a page connects again, for example after a reload."""
        _call_later(GRACE, self._check)

    def _check(self) -> None:
        """End a review in which nothing is left to choose; otherwise say that it stays for a while."""
        if not self._is_alone(GRACE):
            return
        patience = self._patience
        if patience is not None and self._is_over():
            self.end()
            return
        self._on_alone()
        if patience is not None:
            wait = max(0.0, patience - GRACE)
            _call_later(wait, lambda: self.end() if self._is_alone(patience) else None)

    def _is_alone(self, seconds: float) -> bool:
        """Whether no page was there for so long, and nothing is under way."""
        if self._is_busy():
            return False
        with self._lock:
            since = self._alone_since
            return since is not None and not self._pages and monotonic() - since >= seconds - 0.1


def _call_later(seconds: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
