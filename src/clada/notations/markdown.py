"""The Markdown of answers: fences, indented code, and the lines above a block.

    fence line = [blanks] [list marker] (``` | ~~~, or longer) info     no backticks in the info after ```
               | tag [language] | closing tag             tag: <source> <code> <pre> <codeblock> <sourcecode>

A fence is closed by a line with the same character, at least as often, and nothing after it; a tag by its
closing tag. All notations find fences here: `fence_lines` yields the lines, `fence_at` and `fences` return
whole fences.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match, Pattern

MAX_INDENT = 3  # blanks by which the line that closes a fence may be further in than the one that opens it
SHORTEST_UNDERLINE = 6  # tildes: fences have three to five
TAB = 4  # columns
MARKDOWN = (".md", ".mdx", ".rst", ".markdown")  # extensions of files that may contain fences
MOST_ITEMS_ABOVE = 100  # list items that are searched for the parent of a line
GLUED = 6  # backticks: a closing and an opening fence line without a line break between them
LONGEST_LINE = 1000  # upper limit of bytes of a line that could be a path or a fence line

# All patterns are possessive, so that no input makes them backtrack.
_ITEM = rb"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?"
FENCE = rb"[ \t]*+" + _ITEM + rb"(?:(`{3,}+)([^`\n]*+)|(~{3,}+)([^\n]*+))"
# Tags that open a fence in place of backticks, as aider asks for them; a language may follow.
OPENING_TAG = rb"<(?:source|code|pre|codeblock|sourcecode)>"
_TAG = rb"[ \t]*+(%b(?=[ \t]*+([\w+#.-]*+)[ \t]*+\Z)|</%b(?=\s*+\Z)).*+" % (OPENING_TAG, OPENING_TAG[1:])
_MARK = rb"`{3,}+|~{3,}+"
_BEFORE_MARK = rb"[ \t]*+" + _ITEM
_OUTLINE_LINE = rb"(?m)^(?:([ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)|[^ \t\n])"
_FIRST_FENCE = rb"\s*+((?:`{3,}+|~{3,}+)[^\n]{0,100}+)\n"
_WRAPPING = ("", "md", "markdown", "text")  # infos of a fence around a whole answer
_LANGUAGE_END = r"[\s:{,]"


class LinePattern:
    """A pattern that is searched at the start of lines: from line break to line break, which is quick."""

    def __init__(self, pattern: bytes) -> None:
        self._here, self._later = re.compile(pattern), re.compile(rb"\n(?:%b)" % pattern)

    def next(self, data: bytes, at: int, end: int) -> Match[bytes] | None:
        """Return the first match at or after an offset; it may include the line break before it."""
        if not at or data[at - 1 : at] == b"\n":
            found = self._here.match(data, at, end)
            if found:
                return found
        return self._later.search(data, at, end)

    def match(self, data: bytes, at: int, end: int) -> Match[bytes] | None:
        """Return the match at the line that starts here."""
        return self._here.match(data, at, end)

    def start(self, data: bytes, at: int, end: int) -> int | None:
        """Return the start of the first line that matches."""
        found = self.next(data, at, end)
        return found and found.start() + (data[found.start() : found.start() + 1] == b"\n")


class FenceLine(Value):
    """A line that opens or closes a fence, and its extent in the document."""

    mark: bytes
    info: str
    start: int = 0
    end: int = 0
    before: bytes = b""  # blanks, or a list marker

    def closes(self, mark: bytes) -> bool:
        """Whether this line closes a fence that was opened by this mark."""
        return self.mark.startswith(mark) and not self.info and not self.before.strip()


def fence_line(line: bytes) -> FenceLine | None:
    """Return the fence that a line opens or closes, if it is a fence line."""
    if b"`" not in line and b"~" not in line and b"<" not in line:
        return None
    match = re.fullmatch(FENCE, line)
    if match:
        mark, info = match.group(1) or match.group(3), match.group(2) or match.group(4) or b""
        return FenceLine(mark, info.decode(errors="replace").strip())
    tag = re.fullmatch(_TAG, line)
    return FenceLine(tag.group(1), (tag.group(2) or b"").decode()) if tag else None


def fence_lines(data: bytes, start: int, end: int) -> Iterator[FenceLine]:
    """Yield the lines with backticks or tildes that open or close a fence between two offsets."""
    at, find = start, re.compile(_MARK).search
    while mark := find(data, at, end):
        at = line_end(data, mark.end(), end)
        line = data.rfind(b"\n", max(start - 1, 0), mark.start()) + 1
        if line < start and start and data[start - 1 : start] != b"\n":
            continue  # it starts before the first offset
        line = max(line, start)
        before, info = data[line : mark.start()], data[mark.end() : at]
        if re.fullmatch(_BEFORE_MARK, before) and (mark[0][:1] == b"~" or b"`" not in info):
            yield FenceLine(mark[0], info.decode(errors="replace").strip(), line, at, before)


class Fence(Value):
    """A fence and its content, as offsets in the document."""

    start: int
    inside: int
    inside_end: int
    end: int
    info: str
    language: str  # the first word of the info, in lower case
    indent: int  # blanks before its first line, which are removed from the others
    closed: bool
    mark: bytes = b""
    unclear: bool = False  # a line in it opens another fence, so its end is ambiguous
    further_in: bool = False  # the line that closes it is further in than the one that opens it

    def content(self, data: bytes) -> bytes:
        """Return its lines, without the indentation of the fence itself."""
        text = data[self.inside : self.inside_end]
        if not self.indent:
            return text
        return re.sub(rb"(?m)^[ \t]{1,%d}" % self.indent, b"", text)


def _language(info: str) -> str:
    return re.split(_LANGUAGE_END, info, maxsplit=1)[0].lower()


def closing_line(mark: bytes, indent: bytes | None = None) -> Pattern[bytes]:
    """Return the pattern of a line that closes a fence, with the line break before it.

    Without `indent`, it may be indented in any way.
    """
    blanks = rb"[ \t]*+" if indent is None else re.escape(indent)
    if mark[:1] == b"<":
        return re.compile(rb"\n[ \t]*+</%b[ \t]*+(?=\n|\Z)" % mark[1:])
    return re.compile(rb"\n%b%b%b*+[ \t]*+(?=\n|\Z)" % (blanks, mark, mark[:1]))


def fence_at(data: bytes, at: int, limit: int, *, nests: bool = False) -> Fence | None:
    """Return the fence that is opened by the line that starts here, if it opens one.

    If it `nests`, as in Markdown, a line with an info opens another fence in it, which is closed first.
    """
    first = line_end(data, at, limit)
    line = data[at:first]
    opened = fence_line(line)
    if not opened or opened.mark.startswith(b"</"):
        return None
    mark, info = opened.mark, opened.info
    is_tag = mark[:1] == b"<"
    indent, language = 0 if is_tag else line.find(mark), info.lower() if is_tag else _language(info)
    fence = Fence(at, min(first + 1, limit), limit, limit, info, language, indent, False, mark)
    if not is_tag:
        return _with_end(data, fence, nests=nests)
    found = closing_line(mark).search(data, fence.inside - 1, limit)
    return fence.replace(inside_end=found.start() + 1, end=found.end(), closed=True) if found else fence


def _with_end(data: bytes, fence: Fence, *, nests: bool) -> Fence:
    """Return a fence with its end: the first line that closes it, and no other in it."""
    mark, depth, unclear = fence.mark, 0, False
    inner = re.compile(rb"\n([ \t]*+)(%b{%d,}+)([^\n]*+)" % (mark[:1], len(mark)))
    for found in inner.finditer(data, fence.inside - 1, fence.end):
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


def fences(
    data: bytes, start: int, end: int, opens: Callable[[FenceLine], bool] = lambda _line: True
) -> Iterator[Fence]:
    """Yield the fences that are opened by such lines, one after the other; the last may not be closed.

    The fences around them do not count.
    """
    fence: Fence | None = None
    for line in fence_lines(data, start, end):
        if fence and line.closes(fence.mark):
            yield fence.replace(inside_end=line.start, end=line.end, closed=True)
            fence = None
        elif not fence and opens(line):
            inside, indent = min(line.end + 1, end), len(line.before)
            language = _language(line.info)
            fence = Fence(line.start, inside, end, end, line.info, language, indent, False, line.mark)
    if fence:
        yield fence


def tagged_fences(data: bytes, tag: str, start: int, end: int) -> Iterator[Fence]:
    """Yield the fences with this tag, one after the other."""
    return fences(
        data, start, end, lambda line: line.info.partition(" ")[0].partition("\t")[0].lower() == tag
    )


def open_fence(data: bytes, start: int, at: int, mark: bytes = b"") -> FenceLine | None:
    """Return the line of the fence that is open at an offset; `mark` is that of the fence around `start`."""
    opened = FenceLine(mark, "", start) if mark else None
    for line in fence_lines(data, start, at):
        if opened is None:
            opened = line if not line.before.strip() else None
        elif line.closes(opened.mark):
            opened = None
    return opened


def answer_span(data: bytes) -> tuple[int, int]:
    """Return the extent of the answer: the whole document, or the content of the one fence around it."""
    found = re.match(_FIRST_FENCE, data)
    opening = fence_line(found.group(1)) if found else None
    if not found or opening is None or opening.info.lower() not in _WRAPPING:
        return 0, len(data)
    first, mark = found.end(), opening.mark
    last = data.rstrip()
    close = last.rfind(b"\n", first - 1) + 1
    if close < first or last[close:].strip() != mark or not _is_one_fence(data, first, close, mark):
        return 0, len(data)
    return first, close


def _is_one_fence(data: bytes, start: int, end: int, mark: bytes) -> bool:
    """Whether the fence lines between these offsets are balanced: the outer fence is not closed between."""
    depth = 0
    for line in fence_lines(data, start, end):
        if line.mark[:1] != mark[:1] or line.before.strip():
            continue
        if line.info:
            depth += 1
        elif depth:
            depth -= 1
        elif len(line.mark) >= len(mark):
            return False
    return not depth


def lines_above(data: bytes, floor: int, at: int, most: int) -> Iterator[bytes]:
    """Yield the lines above the one that starts at `at`, the nearest first, down to `floor`."""
    for _ in range(most):
        if at <= floor:
            return
        start = max(data.rfind(b"\n", floor, at - 1) + 1, floor)
        yield data[start : at - 1] if at - 1 - start <= LONGEST_LINE else b"?" * LONGEST_LINE
        at = start


def line_end(data: bytes | bytearray, at: int, end: int) -> int:
    """Return the end of the line that `at` is in: its line break, or the end."""
    found = data.find(b"\n", at, end)
    return end if found < 0 else found


def is_indented_code(data: bytes, start: int) -> bool:
    """Whether the line that starts here is indented further than Markdown allows for a fence.

    In a list item, that is counted from the item's text.
    """
    line = data[start : line_end(data, start, start + LONGEST_LINE)].expandtabs(TAB)
    indent = len(line) - len(line.lstrip(b" "))
    if indent <= MAX_INDENT:
        return False
    starts, texts = _outline(data)
    above = bisect_left(starts, start)
    for text in reversed(texts[max(0, above - MOST_ITEMS_ABOVE) : above]):
        if text <= indent:
            return text == 0 or indent - text > MAX_INDENT
    return False


@lru_cache(maxsize=1)  # it is asked about many fences of one document
def _outline(data: bytes) -> tuple[list[int], list[int]]:
    """Return the starts of the lines that open a list item or are not indented.

    The second list has the column of each item's text, or 0 for a line that is not an item.
    """
    found = list(re.finditer(_OUTLINE_LINE, data))
    return [each.start() for each in found], [len((each.group(1) or b"").expandtabs(TAB)) for each in found]


def is_heading_underline(data: bytes, start: int) -> bool:
    """Whether the line that starts here underlines a heading of reStructuredText, and opens no fence.

    It consists of more tildes than fences have, directly below a text that is not longer.
    """
    line = data[start : line_end(data, start, start + LONGEST_LINE)].strip()
    above = next(iter(lines_above(data, 0, start, 1)), b"").strip()
    is_ruler = len(line) >= SHORTEST_UNDERLINE and not line.strip(b"~")
    return is_ruler and bool(above) and len(line) >= len(above.decode(errors="replace"))
