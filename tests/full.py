"""How much is tried of what is only more of the same: all with CLADA_FULL, which `make prove` sets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")
FULL = bool(os.environ.get("CLADA_FULL"))
STEP = 7  # of the places in a text, every so many is tried


def cuts(text: str | bytes, first: int, step: int = STEP) -> list[int]:
    """Return where to cut a text: at every place, or at the end of every line and at every `step`th place.

    From `first` on, which differs from text to text: together they are cut at every kind of place. Of very
    many texts, each needs fewer cuts: a longer `step`.
    """
    if FULL:
        return list(range(len(text) + 1))
    ends = (at for at in range(len(text)) if text[at] in ("\n", 0x0A))
    around = (cut for end in ends for cut in (end, end + 1))
    return sorted({0, len(text), *around, *range(first % step, len(text), step)})


def some(items: Sequence[Item], first: int) -> Sequence[Item]:
    """Return all items, or every second from `first` on, which differs from case to case."""
    return items if FULL else items[first % 2 :: 2]


def examples(number: int) -> int:
    """Return how many random examples are tried, of so many: a quarter, for each run has others."""
    return number if FULL else max(number // 4, 20)


def many(number: int) -> int:
    """Return how often something is repeated that is to be read in one go: a third, unless all is tried."""
    return number if FULL else number // 3
