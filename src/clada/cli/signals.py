"""Interrupts: the first one ends the run in order, the second one at once."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without its enums, a third of our start
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Catches what asks the run to end, while it is open; its handle becomes readable when that came.

    A signal that whoever started us ignores, such as SIGHUP under nohup, stays ignored. `hurry` is called
    when the first one comes, whatever is under way: it may have to make an end of that.
    """

    def __init__(self, hurry: Callable[[], None]) -> None:
        self._hurry = hurry
        self.signal: int | None = None
        self.handle, self._sink = os.pipe()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.handle)
        os.close(self._sink)

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.signal = number
        os.write(self._sink, b"!")
        self._hurry()
