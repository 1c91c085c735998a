"""Reasoning blocks: what an LLM thinks before it answers, in tags. Nothing in them counts.

    block = a line that starts with <think> (or another of TAGS), and all up to its closing tag

One that opens in the content of an operation is content.
"""

from __future__ import annotations

# Patterns; the last has an id behind it.
TAGS = (b"think", b"thinking", b"reasoning", b"antThinking", b"lov-thinking", rb"thinking-content-[\w-]+")
NEVER_CLOSED = "<{}> is never closed, and there are operations after it: close it, or leave it out"


def reasoning_over(
    data: bytes | bytearray, start: int, at: int, *, closed: bool = False
) -> tuple[int, int | None] | None:
    """Return the reasoning block that opens in data[start:at] and is not closed before `at`, if there is one.

    That is where it opens and where it ends, which is None where it is never closed. With `closed`, it is the
    first one that opens, closed or not.
    """
    if data.find(b"hink", start, at) < 0 and data.find(b"<reasoning>", start, at) < 0:
        return None
    import re

    opening = re.compile(rb"(?:\A|(?<=\n))<(" + b"|".join(TAGS) + rb")>")
    while found := opening.search(data, start, at):
        tag = found.group(1)
        end = data.find(b"</%b>" % tag, found.end())
        if end < 0:
            return found.start(), None
        start = end + len(tag) + 3
        if start > at or closed:
            return found.start(), start
    return None


def after_reasoning(data: bytes) -> int:
    """Return where a document goes on after the reasoning blocks that it starts with."""
    import re

    at, opening = 0, re.compile(rb"\s*+<(" + b"|".join(TAGS) + rb")>")
    while found := opening.match(data, at):
        tag = found.group(1)
        end = data.find(b"</%b>" % tag, found.end())
        if end < 0:
            break
        at = end + len(tag) + 3
    return at


def without_reasoning(data: bytes) -> bytes:
    """Return a text without operations with blanks in place of the reasoning blocks in it."""
    at, pieces = 0, []
    while reasoning := reasoning_over(data, at, len(data) + 1, closed=True):
        place, end = reasoning
        end = len(data) if end is None else end
        pieces += [data[at:place], b" " * (end - place)]
        at = end
    return b"".join([*pieces, data[at:]]) if pieces else data


def never_closed(data: bytes | bytearray, place: int) -> str:
    """Return what is wrong with a document whose reasoning block, which opens here, has no end."""
    return NEVER_CLOSED.format(data[place + 1 : data.find(b">", place)].decode())
