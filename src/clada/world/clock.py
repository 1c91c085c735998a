"""The clock: the time as it is written down, and time spent on waiting for others, which no limit counts."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")


def seconds_waited(call: Callable[..., Result], *arguments: object, **named: object) -> tuple[Result, float]:
    """Call, and return the result and how many seconds passed in which this thread did no work of its own."""
    start, worked = time.monotonic(), time.thread_time()
    result = call(*arguments, **named)
    return result, max(0.0, time.monotonic() - start - (time.thread_time() - worked))


def timestamp() -> str:
    """Return the time in the form of `date -Iseconds`."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return f"{text[:-2]}:{text[-2:]}"
