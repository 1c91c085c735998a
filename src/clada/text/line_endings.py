"""Line endings: LF, CRLF and CR each end a line; texts are compared with LF only."""

from __future__ import annotations

from io import IncrementalNewlineDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LF, CRLF, CR = ENDINGS = b"\n", b"\r\n", b"\r"
# A byte is searched for by its number: Python tries each text as a number first, and makes an error of that.
LF_BYTE, CR_BYTE = LF[0], CR[0]


def to_lf(text: bytes) -> bytes:
    """Return the text with every line ending as LF."""
    return text.replace(CRLF, LF).replace(CR, LF) if CR_BYTE in text else text


def end_with_line_break(text: str) -> str:
    """Return a text with a line break at its end; an empty one stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def single_ending(data: bytes) -> bytes | None:
    """Return the line ending that all lines have, LF if there is none yet; None if they are mixed."""
    if CR_BYTE not in data:
        return LF
    if LF_BYTE not in data:
        return CR
    kinds = IncrementalNewlineDecoder(None, translate=False)  # three times as fast as to count each
    kinds.decode(str(data, "latin-1"), final=True)
    return CRLF if kinds.newlines == "\r\n" else None


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
    """Return the line ending in use at each offset: the next one, else the last of all.

    The offsets must be in order.
    """
    last = _ending_at(data, max(data.rfind(LF), data.rfind(CR)))
    found = []
    lf = cr = -1
    for offset in offsets:
        lf, cr = _next(data, LF, lf, offset), _next(data, CR, cr, offset)
        nearest = min(lf, cr)
        found.append(_ending_at(data, nearest) if nearest < len(data) else last)
    return found


def _next(data: bytes, byte: bytes, known: int, offset: int) -> int:
    """Return where the byte is next, or the length; `known`, the last answer, saves scanning twice."""
    if known >= offset:
        return known
    found = data.find(byte, offset)
    return found if found >= 0 else len(data)


def _ending_at(data: bytes, position: int) -> bytes:
    """Return the line ending at this position, also if it is the LF of a CRLF; LF if there is none."""
    if position < 0:
        return LF
    if data[position : position + 1] == CR:
        return CRLF if data[position + 1 : position + 2] == LF else CR
    return CRLF if position and data[position - 1 : position] == CR else LF
