"""Search/replace blocks in the tag of a tool, which names the file: those of `sr`, with what such tools add.

In a tag, markers in the content may have a backslash before them; an empty SEARCH may mean the whole file.
"""

from __future__ import annotations

import re

from clada.model import Invalid
from clada.notations import sr
from clada.notations.reading import Reading, Unreadable
from clada.notations.tag_text import without_entities
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.model import Operation
    from clada.notations.reading import Span

NO_BLOCK = "there is no SEARCH block in it"
_ESCAPED = re.compile(r"^\\(?=<<<<<<<|=======|>>>>>>>|-------|:start_line:)", re.MULTILINE)


class Manner(Value):
    """How the blocks in one kind of tag are read."""

    overwrites: bool = False  # an empty SEARCH stands for the whole file
    escaped: bool = False  # markers in the content have a backslash before them
    entities: bool = False  # < > & " may be written as in HTML
    near: int | None = None  # the line that the tag names


class _Blocks(sr.Blocks):
    """The blocks in one tag: their file is the tag's."""

    def __init__(self, reading: Reading, path: str, manner: Manner, *, chosen: bool) -> None:
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
            old, new = _ESCAPED.sub("", old), _ESCAPED.sub("", new)
        made = super()._operation(span, path, old, new, near or self._manner.near)
        if not old and self._manner.overwrites and not isinstance(made, Invalid):
            return made.replace(if_exists="overwrite" if self._chosen else "guard")
        return made


def search_blocks(
    reading: Reading, whole: Span, span: Span, path: str, manner: Manner
) -> list[Operation | Invalid]:
    """Return the edits of the blocks in a span of a tag, which is from `whole` to its end."""
    inner = Reading(reading.data, *span, roots=reading.roots)
    inner.lines, inner.dialect = reading.lines, reading.dialect
    blocks, at = _Blocks(inner, path, manner, chosen=reading.chosen), span[0]
    wrong: tuple[int, str] | None = None
    try:
        while (place := blocks.next(at)) is not None:
            at = blocks.read(place, at)
    except Unreadable as trouble:
        wrong = trouble.offset, trouble.message
    items = [item for block in inner.blocks for item in block.operations]
    if wrong or not items:
        at, message = wrong or (whole[0], NO_BLOCK)
        items.append(reading.refused("edit", at, whole, message, path=path))
    return [item.replace(span=whole) for item in items]
