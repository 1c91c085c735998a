"""Fenced blocks of Markdown: where one with a certain tag opens, and where it closes.

    opening = [blanks | list item] (``` | ~~~, or longer) [blanks] tag [blanks anything] line break
    closing = [blanks] the same characters, at least as many [blanks] line break

What encloses a fence does not matter, as it does not for the other signs of operations.
"""

from __future__ import annotations

import re
from heapq import merge

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern

MARKS = (b"```", b"~~~")
# All possessive, so that no input makes them go back.
_OPENING = rb"(`{3,}+|~{3,}+)[ \t]*+(?i:%s)(?:[ \t][^\n]*+)?(?:\n|\Z)"
_CLOSING = rb"%s%s*+[ \t]*+(?=\n|\Z)"
_BLANKS = re.compile(rb"[ \t]*+")
_BLANKS_OR_ITEM = re.compile(rb"[ \t]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?")


class LineStart(Value):
    """What may stand at the start of a line."""

    head: bytes  # its first bytes, which lead the search
    pattern: Pattern[bytes]
    before: Pattern[bytes] = _BLANKS  # what may come before it

    def lines(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, Match[bytes]]]:
        """Yield the places of the lines that start so, from the line at `start` on."""
        while (at := data.find(self.head, start, end)) >= 0:
            line = max(data.rfind(b"\n", start, at) + 1, start)
            match = self.pattern.match(data, at, end) if self.before.fullmatch(data, line, at) else None
            if match:
                yield line, match
            start = data.find(b"\n", at, end) + 1 or end


class TaggedFence(Value):
    """A fenced block."""

    start: int  # where its content starts
    close: int | None  # where the line starts that closes it
    mark: bytes  # what closes it, or more of the same
    indent: bytes  # what each of its lines starts with


def fences(data: bytes, tag: str, start: int, end: int) -> Iterator[TaggedFence]:
    """Yield the fenced blocks with this tag, one after the other."""
    pattern = re.compile(_OPENING % tag.encode())
    openings = (LineStart(mark, pattern, _BLANKS_OR_ITEM).lines(data, start, end) for mark in MARKS)
    for line, match in merge(*openings, key=lambda found: found[0]):
        if line < start:
            continue  # inside of the one before
        mark = match.group(1)
        close = next((at for at, _ in closing(mark).lines(data, match.end(), end)), None)
        before = data[line : match.start()]
        indent = b" " * len(before) if before.strip() else before  # the text of a list item is indented
        yield TaggedFence(match.end(), close, mark, indent)
        if close is None:
            return
        start = close + 1


def closing(mark: bytes) -> LineStart:
    """Return what closes a fence that this mark opened."""
    return LineStart(mark, re.compile(_CLOSING % (mark, mark[:1])))
