"""Texts between tags, as the dialects with tags have them: no XML, but the text between two literal words.

Search/replace blocks in a tag, which names the file, are those of `sr`. Markers in their content may have a
backslash before them; an empty SEARCH may mean the whole file.
"""

from __future__ import annotations

import re

from clada.model import Invalid
from clada.notations.dialects import sr
from clada.notations.markdown import MARKDOWN, fence_line
from clada.notations.reading import Reading, UnreadableError
from clada.notations.toolcalls.arguments import RefusedCallError
from clada.operations.edit import Hunk
from clada.text.elision import elision_complaint
from clada.text.line_endings import end_with_line_break
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from clada.model import Operation
    from clada.notations.reading import Span

MARKUP = (".html", ".htm", ".xml", ".svg", ".xhtml", ".vue", ".svelte")
ESCAPED = "the text has &lt; and &gt; in place of < and >: write the signs themselves"
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&"))
NO_BLOCK = "there is no SEARCH block in it"
_ESCAPED_MARKER = re.compile(r"^\\(?=<<<<<<<|=======|>>>>>>>|-------|:start_line:)", re.MULTILINE)
_CDATA = re.compile(rb"\s*+<!\[CDATA\[(.*)\]\]>\s*+", re.DOTALL)
_ATTRIBUTE = re.compile(rb"""\s++([\w:.-]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'))?+""")
_ESCAPED_TAG = re.compile(r"&lt;[/!?]?[A-Za-z]")
_TAG_END = re.compile(rb"\s*+(/?)>")


def without_tag_lines(data: bytes, span: Span) -> Span:
    """Return a text without the lines of its tags: the rest of those lines, and one break at both ends."""
    start, end = span
    head = data.find(b"\n", start, end)
    if head >= 0 and not data[start:head].strip(b" \t"):
        start = head + 1
    tail = data.rfind(b"\n", start, end)
    if tail >= 0 and not data[tail:end].strip(b" \t\n"):
        end = tail
    return start, end


def strip_blanks(data: bytes, span: Span) -> str:
    """Return a text without blanks around it."""
    return data[slice(*span)].decode().strip()


def content(data: bytes, span: Span, path: str) -> Span:
    """Return where the content of a file is: without the fence, or the CDATA section, around it."""
    start, end = span
    wrapped = _CDATA.fullmatch(data, start, end) if data.find(b"<![CDATA[", start, end) >= 0 else None
    if wrapped:
        return without_tag_lines(data, wrapped.span(1))
    start, end = without_tag_lines(data, span)
    if path.lower().endswith(MARKDOWN) or data[start : start + 3] not in (b"```", b"~~~"):
        return start, end
    first, last = data.find(b"\n", start, end), data.rfind(b"\n", start, end)
    opening = fence_line(data[start:first]) if first >= 0 else None
    closing = fence_line(data[last + 1 : end])
    if opening and closing and not closing.info and closing.mark == opening.mark and first < last + 1:
        return first + 1, max(last, first + 1)
    return start, end


def without_entities(text: str) -> str:
    """Return a text with the signs that the common entities stand for."""
    for entity, sign in ENTITIES:
        text = text.replace(entity, sign)
    return text


def complaint(text: str, path: str = "", known: str = "") -> str | None:
    """Return why a text cannot replace another: it stands for other code, or is escaped."""
    return elision_complaint(text, known) or escape_complaint(text, path, known)


def escape_complaint(text: str, path: str = "", known: str = "") -> str | None:
    """Return why a text cannot be the content of a file, if it is escaped."""
    path = path.lower()
    if path.endswith(MARKDOWN) or not is_escaped(text):
        return None
    # A part of a page may show signs; a page has tags.
    return None if path.endswith(MARKUP) and (known or not _ESCAPED_TAG.search(text)) else ESCAPED


def file_text(text: str, path: str) -> str:
    """Return the content of a file, which ends in a line break; refuse one that is escaped."""
    wrong = escape_complaint(text, path)
    if wrong:
        raise RefusedCallError(wrong)
    return end_with_line_break(text)


def replacement(old: str, new: str, path: str, field: str) -> Hunk:
    """Return the replacement of a text; refuse one that is empty, escaped or stands for other code."""
    wrong = complaint(new, path, old) if old else "Empty search text not allowed"
    if wrong:
        raise RefusedCallError(wrong, field)
    return Hunk(old, new)


def is_escaped(text: str) -> bool:
    """Whether all signs of a text that HTML has for its own are escaped."""
    return ("&lt;" in text or "&gt;" in text or "&amp;&amp;" in text) and "<" not in text and ">" not in text


class Opening(Value):
    """An opening tag: its attributes, where it ends, and whether it has a slash there."""

    attributes: Mapping[str, str]
    end: int
    is_empty: bool


def opening(data: bytes, at: int, end: int) -> Opening | None:
    """Return the tag whose attributes start here; None if it is not one, or not all of it."""
    found: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(data, at, end):
        name, one, other = attribute.groups()
        found[name.decode()] = (one or other or b"").decode()
        at = attribute.end()
    close = _TAG_END.match(data, at, end)
    return Opening(found, close.end(), bool(close.group(1))) if close else None


class BlockOptions(Value):
    """Options for reading the blocks in one kind of tag."""

    overwrites: bool = False  # an empty SEARCH stands for the whole file
    escaped: bool = False  # markers in the content have a backslash before them
    entities: bool = False  # < > & " may be written as in HTML
    near: int | None = None  # the line that the tag names


class _Blocks(sr.Blocks):
    """The blocks in one tag: their file is the tag's."""

    def __init__(self, reading: Reading, path: str, manner: BlockOptions, *, chosen: bool) -> None:
        super().__init__(reading)
        self._chosen = chosen
        self._file, self._manner = path, manner

    def _path_above(self, _at: int, _floor: int) -> str | None:
        return self._file

    def _operation(
        self, span: Span, path: str | None, old: str, new: str, near: int | None = None
    ) -> Operation | Invalid:
        if self._manner.entities:
            old, new = without_entities(old), without_entities(new)
        if self._manner.escaped:
            old, new = _ESCAPED_MARKER.sub("", old), _ESCAPED_MARKER.sub("", new)
        made = super()._operation(span, path, old, new, near or self._manner.near)
        if not old and self._manner.overwrites and not isinstance(made, Invalid):
            return made.replace(if_exists="overwrite" if self._chosen else "guard")
        return made


def search_blocks(
    reading: Reading, whole: Span, span: Span, path: str, manner: BlockOptions
) -> list[Operation | Invalid]:
    """Return the edits of the blocks in a span of a tag, which is from `whole` to its end."""
    inner = Reading(reading.data, *span, roots=reading.roots)
    inner.lines, inner.dialect = reading.lines, reading.dialect
    blocks, at = _Blocks(inner, path, manner, chosen=reading.chosen), span[0]
    wrong: tuple[int, str] | None = None
    try:
        while (place := blocks.next(at)) is not None:
            at = blocks.read(place, at)
    except UnreadableError as error:
        wrong = error.offset, error.message
    items = inner.operations
    if wrong or not items:
        at, message = wrong or (whole[0], NO_BLOCK)
        items.append(reading.invalid("edit", at, whole, message, path=path))
    return [item.replace(span=whole) for item in items]
