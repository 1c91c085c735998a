"""Where tests cut a text: what is read of a part of it must hold as for the whole."""

from __future__ import annotations

STEP = 7  # characters or bytes between two cuts, besides those at the ends of lines


def cuts(text: str | bytes, first: int, step: int = STEP) -> list[int]:
    """Return where to cut a text: at the ends of lines, and at every `step`th place from `first` on.

    `first` differs from text to text: together, they are cut at every kind of place.
    """
    ends = (at for at in range(len(text)) if text[at] in ("\n", 0x0A))
    around = (cut for end in ends for cut in (end, end + 1))
    return sorted({0, len(text), *around, *range(first % step, len(text), step)})
