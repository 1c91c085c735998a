"""Writes CSL. Nothing is escaped in content: what has a line that is a marker there cannot be said."""

from __future__ import annotations

from clada.grammar import CSL_VERSIONS, END_DELIMITER, START_DELIMITER
from clada.notations.csl import LITERAL, MAY_BE_LITERAL
from clada.notations.write import CannotSayError, WrittenBlock, quote_word, without_unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clada.model import Operation

MARKER = START_DELIMITER + "{}" + END_DELIMITER + "\n"
# The texts of each operation, in their order, with the marker that opens each.
TEXTS = {
    "write": (("WRITE", "content"),),
    "run": (("RUN", "command"),),
    "edit": (("SEARCH", "search"), ("SEARCH", "search_start"), ("TO", "search_end"), ("REPLACE", "replace")),
}
ATTRIBUTES = {"path": "file"}


def operation(item: Operation) -> str:
    """Return an operation; files are moved and removed by commands."""
    values = without_unset(item.values())
    if item.name == "move":
        if values["to"].endswith("/"):
            raise CannotSayError  # the tree decides whether it is moved into that directory
        folder = values["to"].rpartition("/")[0]
        made = f"mkdir -p {quote_word(folder)}\n" if folder else ""
        moved = f"mv -- {quote_word(values['from'].rstrip('/'))} {quote_word(values['to'])}"
        return _text("run", {"command": made + moved})
    if item.name == "remove":
        return _text("run", {"command": f"rm -r -- {quote_word(values['path'].rstrip('/'))}"})
    if item.name not in TEXTS or "hunks" in values or "insert_line" in values:
        raise CannotSayError
    if item.name == "write" and values["content"] and not values["content"].endswith("\n"):
        values["final_newline"] = False
    return _text(item.name, values)


def _text(name: str, values: Mapping[str, Any]) -> str:
    texts = [(marker, values[field]) for marker, field in TEXTS[name] if field in values]
    fields = {field for _marker, field in TEXTS[name]}
    attributes = "".join(
        f" {ATTRIBUTES.get(key, key)}={_quoted(value)}" for key, value in values.items() if key not in fields
    )
    if texts[0][0] in MAY_BE_LITERAL and f"\n{START_DELIMITER}" in f"\n{texts[0][1]}":
        attributes += f' {LITERAL}="true"'
    written = [
        MARKER.format(marker + ("" if index else attributes)) + (f"{text}\n" if text else "")
        for index, (marker, text) in enumerate(texts)
    ]
    return "".join(written) + MARKER.format("END")


def _quoted(value: object) -> str:
    text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def document(blocks: Sequence[WrittenBlock]) -> str:
    """Return a document of these blocks."""
    return "\n".join(map(_block, blocks))


def _block(block: WrittenBlock) -> str:
    inside = "".join(block.operations)
    if block.implicit:
        return inside
    version = f' version="{block.version}"' if block.version in CSL_VERSIONS else ""
    atomic = ' atomic="true"' if block.atomic else ""
    return MARKER.format(f"TASKS{version}{atomic}") + inside + MARKER.format("END")
