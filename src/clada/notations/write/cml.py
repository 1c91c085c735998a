"""Writes CML. XML has no words for control characters, and CML none for an empty replacement."""

from __future__ import annotations

from clada.grammar import BLOCK_VERSIONS
from clada.notations.write import CannotSayError, WrittenBlock, without_unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.model import Operation

TEXTS = ("search", "search_start", "search_end", "replace")
_SPLIT = "]]]]><![CDATA[&gt;"  # a literal ]]&gt;, over two sections


def operation(item: Operation) -> str:
    """Return an operation."""
    values = without_unset(item.values())
    if "hunks" in values or "insert_line" in values or ("replace" in values and not values["replace"]):
        raise CannotSayError
    inside = ""
    if item.name in ("write", "run"):
        inside = _cdata(values.pop("content" if item.name == "write" else "command"))
    elif item.name == "edit":
        texts = {name: values.pop(name) for name in TEXTS if name in values}
        inside = "".join(
            f"\n<{name.replace('_', '-')}>{_cdata(text)}</{name.replace('_', '-')}>"
            for name, text in texts.items()
        )
        inside += "\n"
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in values.items())
    return f"<{item.name}{attributes}>{inside}</{item.name}>\n" if inside else f"<{item.name}{attributes}/>\n"


def _escaped(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    for char, name in (("&", "amp"), ("<", "lt"), ('"', "quot")):
        text = text.replace(char, f"&{name};")
    return text


def _cdata(text: str) -> str:
    if not text:
        return ""
    pieces = [piece.replace("]]>", "]]&gt;") for piece in text.split("]]&gt;")]
    return f"<![CDATA[{_SPLIT.join(pieces)}]]>"


def document(blocks: Sequence[WrittenBlock]) -> str:
    """Return a document of these blocks."""
    return "\n".join(map(_block, blocks))


def _block(block: WrittenBlock) -> str:
    inside = "".join(block.operations)
    if block.implicit:
        return inside
    version = f' version="{block.version}"' if block.version in BLOCK_VERSIONS else ""
    atomic = ' atomic="true"' if block.atomic else ""
    return f"<tasks{version}{atomic}>\n{inside}</tasks>\n"
