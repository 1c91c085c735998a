"""What all measurements share: a row of the table, and the least times of several ways, taken in turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARED = float("inf")  # the goal of a row that has none: it is there to compare

# What else the machine does stretches the longer way more. Where all the work is our own, this is fairer.
PROCESSOR = time.process_time


class Row(NamedTuple):
    """What was measured, and the most that it may be."""

    name: str
    measured: float
    goal: float = COMPARED


def least(
    rounds: int, *ways: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the least seconds of each way; they take turns, so that other load meets all of them."""
    return [min(times) for times in zip(*(_round(ways, clock) for _ in range(rounds)), strict=True)]


def _round(ways: tuple[Callable[[], object], ...], clock: Callable[[], float]) -> list[float]:
    taken = []
    for way in ways:
        start = clock()
        way()
        taken.append(clock() - start)
    return taken


def ratio(
    rounds: int,
    one: Callable[[], object],
    other: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return how many times as long the one takes as the other."""
    first, second = least(rounds, one, other, clock=clock)
    return first / second
