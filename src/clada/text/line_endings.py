"""Line endings: LF, CRLF and CR each end a line; texts are compared with LF only."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LF, CRLF, CR = ENDINGS = b"\n", b"\r\n", b"\r"
_ENDING = re.compile(rb"\r\n?|\n")


def to_lf(text: bytes) -> bytes:
    """Return the text with every line ending as LF."""
    return text.replace(CRLF, LF).replace(CR, LF) if CR in text else text


def end_with_line_break(text: str) -> str:
    """Return a text with a line break at its end; an empty one stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def single_ending(data: bytes) -> bytes | None:
    """Return the line ending that all lines have, LF if there is none yet; None if they are mixed."""
    if CR not in data:
        return LF
    if LF not in data:
        return CR
    return CRLF if data.count(CRLF) == data.count(LF) == data.count(CR) else None


def count_breaks(data: bytes, start: int, end: int, ending: bytes | None) -> int:
    """Count the line breaks that end in data[start:end], so that the counts of neighbouring parts add up.

    A CR counts only if no LF follows it, even where that LF is beyond the end. `ending` is the single one in
    use, or None.
    """
    if ending is not None:
        return data.count(ending[-1:], start, end)
    pairs = data.count(CRLF, start, end + 1)
    return data.count(LF, start, end) + data.count(CR, start, end) - pairs


def endings_at(data: bytes, offsets: Sequence[int]) -> list[bytes]:
    """Return the line ending in use at each offset: the next one, else the last of all, else LF.

    The offsets must be in order.
    """
    end = max(data.rfind(LF), data.rfind(CR)) + 1
    last = CRLF if data.endswith(CRLF, 0, end) else data[max(end - 1, 0) : end] or LF
    found, at, ending = [], -1, last  # the last answer holds up to its place
    for offset in offsets:
        is_inside = data[max(offset - 1, 0) : offset + 1] == CRLF
        if at < offset < end and (following := _ENDING.search(data, offset - is_inside)):
            at, ending = following.end() - 1, following[0]
        found.append(ending if offset <= at else last)
    return found
