"""What the dialects of answers in Markdown share: lines above a place, fence lines, a fence around it all.

    fence line = [blanks] (``` | ~~~, or longer) info        info without backticks after backticks
               | tag [language] | closing tag             tag: <source> <code> <pre> <codeblock> <sourcecode>

A fence is closed by the same character, at least as often, with nothing after it; a tag by its closing tag.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern

MAX_INDENT = 3  # blanks by which the line that closes a fence may be further in than the one that opens it
SHORTEST_UNDERLINE = 6  # tildes: fences have three to five
TAB = 4  # columns
MARKDOWN = (".md", ".mdx", ".rst", ".markdown")  # ends of files that may have fences in them
MOST_ITEMS_ABOVE = 100  # that are looked through for the one that a line belongs to
GLUED = 6  # backticks: a line that closes a fence, and the next that opens one, without a line break
LONGEST_LINE = 1000  # bytes of a line that could be a path, or a fence
_FENCE = re.compile(rb"[ \t]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?:(`{3,}+)([^`\n]*+)|(~{3,}+)([^\n]*+))")
_OUTLINE_LINE = re.compile(rb"^(?:([ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)|[^ \t\n])", re.MULTILINE)
# What opens a fence in place of backticks, with a language behind it or not; as aider has models write it.
OPENING_TAG = rb"<(?:source|code|pre|codeblock|sourcecode)>"
_TAG = re.compile(
    rb"[ \t]*+("
    + OPENING_TAG
    + rb"(?=[ \t]*+([\w+#.-]*+)[ \t]*+\Z)|</"
    + OPENING_TAG[1:]
    + rb"(?=\s*+\Z)).*+"
)
_FENCE_LINE = re.compile(rb"(?:\A|(?<=\n))[ \t]*+(`{3,}+|~{3,}+)([^\n]*+)")
_FIRST_FENCE = re.compile(rb"\s*+((?:`{3,}+|~{3,}+)[^\n]{0,100}+)\n")
_WRAPPING = (b"", b"md", b"markdown", b"text")


class LinePattern:
    """A pattern that is looked for at the start of lines: from line break to line break, which is quick."""

    def __init__(self, pattern: bytes) -> None:
        self._here, self._later = re.compile(pattern), re.compile(rb"\n(?:%b)" % pattern)

    def next(self, data: bytes, at: int, end: int) -> Match[bytes] | None:
        """Return the first match at or after a place; it may have the line break before it in it."""
        if not at or data[at - 1 : at] == b"\n":
            found = self._here.match(data, at, end)
            if found:
                return found
        return self._later.search(data, at, end)

    def match(self, data: bytes, at: int, end: int) -> Match[bytes] | None:
        """Return the match at the line that starts here."""
        return self._here.match(data, at, end)

    def start(self, data: bytes, at: int, end: int) -> int | None:
        """Return where the first line starts that matches."""
        found = self.next(data, at, end)
        return found and found.start() + (data[found.start() : found.start() + 1] == b"\n")


class FenceLine(Value):
    """A line that opens a fence, or closes one: what it consists of."""

    mark: bytes
    info: str


def fence_line(line: bytes) -> FenceLine | None:
    """Return the fence that a line opens or closes, if it is such a line."""
    if b"`" not in line and b"~" not in line and b"<" not in line:
        return None
    match = _FENCE.fullmatch(line)
    if match:
        mark, info = match.group(1) or match.group(3), match.group(2) or match.group(4) or b""
        return FenceLine(mark, info.decode().strip())
    tag = _TAG.fullmatch(line)
    return FenceLine(tag.group(1), (tag.group(2) or b"").decode()) if tag else None


class Fence(Value):
    """A fence and what is in it: places in the document, of its first line, its content and its end."""

    start: int
    inside: int
    inside_end: int
    end: int
    info: str
    language: str  # the first word of the info, in lower case
    indent: int  # blanks before its first line, which do not count in the others
    closed: bool
    unclear: bool = False  # a line in it opens another, so that nobody can tell which one closes it
    further_in: bool = False  # the line that closes it is further in than the one that opens it

    def content(self, data: bytes) -> bytes:
        """Return its lines, without the indentation of the fence itself."""
        text = data[self.inside : self.inside_end]
        if not self.indent:
            return text
        return re.sub(rb"(?m)^[ \t]{1,%d}" % self.indent, b"", text)


_LANGUAGE_END = re.compile(r"[\s:{,]")
_inner_lines: dict[bytes, Pattern[bytes]] = {}


def fence_at(data: bytes, at: int, limit: int, *, nests: bool = False) -> Fence | None:
    """Return the fence that is opened by the line that starts here, if it opens one.

    Where it `nests`, as in Markdown, a line with an info opens another fence in it, which is closed first.
    """
    first = line_end(data, at, limit)
    line = data[at:first]
    opened = fence_line(line)
    if not opened:
        return None
    inside, mark = min(first + 1, limit), opened.mark
    if mark[:1] == b"<":
        return _tag_fence(data, at, inside, limit, opened) if mark[1:2] != b"/" else None
    indent, language = line.find(mark), _LANGUAGE_END.split(opened.info, 1)[0].lower()
    close = data.find(mark, first, limit)
    end = close + len(mark)
    if close < 0:
        return Fence(at, inside, limit, limit, opened.info, language, indent, False)
    if data[close - 1 : close] == b"\n" and data[end : end + 1] in (b"\n", b"") and end <= limit:  # as usual
        return Fence(at, inside, close, end, opened.info, language, indent, True)
    fence = Fence(at, inside, limit, limit, opened.info, language, indent, False)
    return _closed(data, fence, mark, nests=nests)


def _closed(data: bytes, fence: Fence, mark: bytes, *, nests: bool) -> Fence:
    """Return a fence with its end: the first line that closes it, and no other in it."""
    pattern = _inner_lines.get(mark)
    if not pattern:
        sign = re.escape(mark[:1])
        pattern = re.compile(rb"\n([ \t]*+)(%b{%d,}+)([^\n]*+)" % (sign, len(mark)))
        _inner_lines[mark] = pattern
    depth, unclear = 0, False
    for found in pattern.finditer(data, fence.inside - 1, fence.end):
        blanks, signs, rest = found.groups()
        rest = rest.strip()
        if len(blanks) > fence.indent + MAX_INDENT or (rest and mark[:1] == b"`" and b"`" in rest):
            continue
        glued = (len(signs) == 2 * len(mark) == GLUED and rest[:1].isalpha()) or rest.startswith(b"<think>")
        if rest and not glued:
            depth, unclear = (depth + 1, unclear) if nests else (depth, True)
        elif depth:
            depth -= 1
        else:
            end = found.start(2) + len(mark) if glued else found.end()
            further_in = len(blanks) > fence.indent
            return fence.replace(
                inside_end=found.start() + 1, end=end, closed=True, unclear=unclear, further_in=further_in
            )
    return fence.replace(unclear=unclear)


def _tag_fence(data: bytes, at: int, inside: int, limit: int, opened: FenceLine) -> Fence:
    """Return what is between a tag and its closing one, which is alone on a line."""
    info, language = opened.info, opened.info.lower()
    found = closing_tag(opened.mark).search(data, inside - 1, limit)
    if not found:
        return Fence(at, inside, limit, limit, info, language, 0, False)
    return Fence(at, inside, found.start() + 1, found.end(), info, language, 0, True)


def closing_tag(tag: bytes) -> Pattern[bytes]:
    """Return what closes a fence that this tag opened: a line, with the line break before it."""
    return re.compile(rb"\n[ \t]*+</%b[ \t]*+(?=\n|\Z)" % tag[1:])


def lines_above(data: bytes, floor: int, at: int, most: int) -> Iterator[bytes]:
    """Yield the lines above the one that starts at `at`, the nearest first, down to `floor`."""
    for _ in range(most):
        if at <= floor:
            return
        start = max(data.rfind(b"\n", floor, at - 1) + 1, floor)
        yield data[start : at - 1] if at - 1 - start <= LONGEST_LINE else b"?" * LONGEST_LINE
        at = start


def is_indented_code(data: bytes, start: int) -> bool:
    """Whether a fence on the line that starts here is none: it is further in than Markdown allows.

    In an item of a list, that is counted from the item's text.
    """
    indent = _columns(data[start : line_end(data, start, start + LONGEST_LINE)])
    if indent <= MAX_INDENT:
        return False
    starts, texts = _outline(data)
    above = bisect_left(starts, start)
    for text in reversed(texts[max(0, above - MOST_ITEMS_ABOVE) : above]):
        if text <= indent:
            return text == 0 or indent - text > MAX_INDENT
    return False


@lru_cache(maxsize=1)  # many fences of one document are asked about
def _outline(data: bytes) -> tuple[list[int], list[int]]:
    """Return the lines that items of lists start with or that are not indented, by where they start.

    Each has the column at which its item's text starts, or 0 if it is none.
    """
    found = list(_OUTLINE_LINE.finditer(data))
    return [each.start() for each in found], [len((each.group(1) or b"").expandtabs(TAB)) for each in found]


def is_heading_underline(data: bytes, start: int) -> bool:
    """Whether the line that starts here underlines a heading of reStructuredText, and opens no fence.

    It consists of tildes, more than fences have, directly below a text that is not longer.
    """
    line = data[start : line_end(data, start, start + LONGEST_LINE)].strip()
    above = next(iter(lines_above(data, 0, start, 1)), b"").strip()
    is_ruler = len(line) >= SHORTEST_UNDERLINE and not line.strip(b"~")
    return is_ruler and bool(above) and len(line) >= len(above.decode(errors="replace"))


def _columns(line: bytes) -> int:
    """Return how far in the text of a line is."""
    line = line.expandtabs(TAB)
    return len(line) - len(line.lstrip(b" "))


def open_fence(data: bytes, floor: int, at: int) -> int | None:
    """Return where the line starts of the fence that was opened after `floor` and is still open at `at`."""
    opened, mark = None, b""
    for match in _FENCE_LINE.finditer(data, floor, at):
        fence, info = match.group(1), match.group(2).strip()
        if opened is None:
            if b"`" not in info or fence[:1] == b"~":
                opened, mark = match.start(), fence
        elif fence[:1] == mark[:1] and len(fence) >= len(mark) and not info:
            opened = None
    return opened


def fence_open_at(data: bytes, start: int, at: int, opened: bytes = b"") -> bytes:
    """Return the mark of the fence that is open at a place, if this one, or none, is open at the start."""
    for match in _FENCE_LINE.finditer(data, start, at):
        fence, info = match.group(1), match.group(2).strip()
        if not opened:
            opened = fence if b"`" not in info or fence[:1] == b"~" else b""
        elif fence[:1] == opened[:1] and len(fence) >= len(opened) and not info:
            opened = b""
    return opened


class OnlyFence(Value):
    """The one fence of a text: where its line, its content, the end of that and the end of it all are."""

    opening: int
    start: int
    end: int
    close: int
    info: str


def only_fence(data: bytes, start: int, end: int) -> OnlyFence | None:
    """Return the fence of a text, if it has one and no other; one that is not closed goes to the end."""
    found: OnlyFence | None = None
    mark = b""
    for match in _FENCE_LINE.finditer(data, start, end):
        fence, info = match.group(1), match.group(2).strip()
        if mark:
            if fence[:1] == mark[:1] and len(fence) >= len(mark) and not info and found:
                found, mark = found.replace(end=match.start(), close=match.end()), b""
        elif found:
            return None
        elif b"`" not in info:
            first = min(match.end() + 1, end)
            found, mark = OnlyFence(match.start(), first, end, end, info.decode()), fence
    return found


def line_end(data: bytes, at: int, end: int) -> int:
    """Return where the line ends that `at` is in: at its line break, or at the end."""
    found = data.find(b"\n", at, end)
    return end if found < 0 else found


def unwrapped(data: bytes) -> tuple[int, int]:
    """Return the part of a document that counts: all of it, or what is in the one fence around it."""
    found = _FIRST_FENCE.match(data)
    opening = fence_line(found.group(1)) if found else None
    if not found or opening is None or opening.info.encode().lower() not in _WRAPPING:
        return 0, len(data)
    first, mark = found.end(), opening.mark
    last = data.rstrip()
    close = last.rfind(b"\n", first - 1) + 1
    if close < first or last[close:].strip() != mark or not _is_one_fence(data, first, close, mark):
        return 0, len(data)
    return first, close


def _is_one_fence(data: bytes, start: int, end: int, mark: bytes) -> bool:
    """Whether the fence lines between these places go in pairs: the outer fence is not closed between."""
    depth = 0
    for match in _FENCE_LINE.finditer(data, start, end):
        inner, info = match.group(1), match.group(2).strip()
        if inner[:1] != mark[:1]:
            continue
        if info:
            depth += 1
        elif depth:
            depth -= 1
        elif len(inner) >= len(mark):
            return False
    return not depth
