"""Strings as JSON and TOML quote them: their escapes undone, quickly and in little memory."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

LARGE = 1 << 16  # a slice that is worth decoding without a copy, and undoing piece by piece

# \uXXXX of what is no surrogate; JSON's pairs of surrogates; TOML's \UXXXXXXXX and continued lines.
SHORT = rb"\\u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
LONG = (
    rb"\\U(?:0000(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
    rb"|000[1-9a-fA-F][0-9a-fA-F]{4}|0010[0-9a-fA-F]{4})"
)
CONTINUED = rb"\\[ \t]*+\n[ \t\n]*+"

_ESCAPES = {
    rb"\\": rb"\u005c",  # first, and so that what follows it is not taken for an escape
    rb"\"": b'"',
    rb"\/": b"/",
    rb"\n": b"\n",
    rb"\t": b"\t",
    rb"\r": b"\r",
    rb"\b": b"\b",
    rb"\f": b"\f",
}
_CONTINUED = re.compile(CONTINUED)


def pieces(plain: bytes, *escapes: bytes) -> Pattern[bytes]:
    """Return a pattern that matches a string's inside a piece at a time.

    A piece ends between characters and escapes, and is small: at most a megabyte, continued lines aside.
    The group is not possessive: before Python 3.11.5, one keeps what its last, failed round had gone over.
    As nothing comes after it, it does not go back all the same.
    """
    run = plain + rb"{1,1024}+[\x80-\xbf]{0,3}+"
    return re.compile(rb"(?:" + b"|".join([run, *escapes]) + rb"){1,1000}")


def decoded(data: bytes, start: int, end: int) -> str:
    """Return a slice as text, without the copy that slicing makes where that is worth it."""
    if end - start < LARGE:
        return data[start:end].decode()
    with memoryview(data) as view:
        return str(view[start:end], "utf-8")


def unescaped(data: bytes, start: int, end: int, piece: Pattern[bytes]) -> str:
    """Return the text of a string that is known to consist of such pieces."""
    if data.find(b"\\", start, end) < 0:
        return decoded(data, start, end)
    if end - start < LARGE:
        return _unescaped(data[start:end]).decode()
    text = bytearray()
    while start < end and (match := piece.match(data, start, end)):
        text += _unescaped(match.group())
        start = match.end()
    return text.decode()


def _unescaped(raw: bytes) -> bytes:
    if b"\\" not in raw:
        return raw
    for escape, character in _ESCAPES.items():
        raw = raw.replace(escape, character)
    return _numbers_undone(_CONTINUED.sub(b"", raw)) if b"\\" in raw else raw


def _numbers_undone(raw: bytes) -> bytes:
    r"""Undo \uXXXX and \UXXXXXXXX, the only escapes left, by the codecs that know just these."""
    text = raw.decode().encode("raw_unicode_escape").decode("raw_unicode_escape")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le").encode()
