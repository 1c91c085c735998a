"""What all measurements share: a row of the table, and the least times of several ways, taken in turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARED = float("inf")  # the goal of a row that has none: it is there to compare
NOT_YET = float("nan")  # the figure of a row that is on the page before it was measured

ENOUGH = 60  # seconds of rounds

# What else the machine does stretches the longer way more. Where all the work is our own, this is fairer.
PROCESSOR = time.process_time


class Row(NamedTuple):
    """What was measured, and the most that it may be."""

    name: str
    measured: float
    goal: float = COMPARED


class Times(NamedTuple):
    """The seconds that each of several programs takes for the same work."""

    work: str
    seconds: dict[str, float]


def least(
    rounds: int, *ways: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the least seconds of each way; they take turns, so that other load meets all of them.

    After a minute no further round begins: what is so slow is told well enough by those that were.
    """
    end = time.monotonic() + ENOUGH
    taken = [_round(ways, clock)]
    while len(taken) < rounds and time.monotonic() < end:
        taken.append(_round(ways, clock))
    return [min(times) for times in zip(*taken, strict=True)]


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
