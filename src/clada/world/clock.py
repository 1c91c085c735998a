"""Time that is spent on waiting for somebody else, which no limit counts: a person, or a slow reader."""

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
