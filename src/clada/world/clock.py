"""The clock: timestamps, and the time spent waiting for a person or a reader, which no limit counts."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")


def seconds_waited(call: Callable[..., Result], *arguments: object, **named: object) -> tuple[Result, float]:
    """Call a function; return its result, and the seconds in which this thread did no work."""
    start, worked = time.monotonic(), time.thread_time()
    result = call(*arguments, **named)
    return result, max(0.0, time.monotonic() - start - (time.thread_time() - worked))


def timestamp() -> str:
    """Return the current time in the form of `date -Iseconds`."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    return f"{text[:-2]}:{text[-2:]}"
