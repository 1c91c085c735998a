"""Signals that end a run in order."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

from clada.world.world import Stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_on_signals(on_stop: Callable[[], None]) -> Iterator[Stop]:
    """Yield a Stop that the first signal sets; the second one ends the process at once.

    Signals that the parent process ignores stay ignored, such as SIGHUP under nohup. With threads the system
    may hand a signal to another thread than the main one, so the signal itself also makes `handle` readable:
    otherwise the main thread would wait on without calling `catch`.
    """

    def catch(number: int, _frame: FrameType | None) -> None:
        if stop.signal is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        stop.set(number)

    with Stop(on_stop) as stop:
        os.set_blocking(stop.writer, False)
        woken_before = signal.set_wakeup_fd(stop.writer, warn_on_full_buffer=False)
        caught = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, catch) for number in caught}
        try:
            yield stop
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(woken_before)
