"""Writes TOML, which can say all that a plan can: texts of several lines in literal quotes, if possible."""

from __future__ import annotations

import json

from clada.grammar import BLOCK_VERSIONS
from clada.notations.write import WrittenBlock
from clada.notations.write.json import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.model import Operation

LITERAL = "'''"
LONG = ("text", "lines", "objects")  # kinds of fields that come last


def operation(item: Operation) -> str:
    """Return the keys of an operation; its head is written with its block."""
    texts = {field.name for field in item.fields if field.kind in LONG}
    # Where a document without a fence is cut off, what changes the meaning of a text must come before it.
    fields = sorted(fields_of(item).items(), key=lambda field: field[0] in texts)
    return "".join(f"{name} = {_value(value)}\n" for name, value in fields)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name} = {_basic(each)}' for name, each in value.items())}}}"
    if isinstance(value, str) and "\n" in value and _is_literal(value):
        return f"{LITERAL}\n{value}{LITERAL}"
    return _basic(value)


def _basic(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_literal(text: str) -> bool:
    printable = all(char in "\n\t" or (char >= " " and char != "\x7f") for char in text)
    return printable and LITERAL not in text and not text.endswith("'")


def document(blocks: Sequence[WrittenBlock]) -> str:
    """Return a document of these blocks: each operation stands for itself, or all are in blocks."""
    if all(block.implicit for block in blocks):
        written = [f"[[task]]\n{text}" for block in blocks for text in block.operations]
    else:
        written = [_block(block) for block in blocks]
    return "\n".join([*written, "# end\n"])


def _block(block: WrittenBlock) -> str:
    version = f'version = "{block.version}"\n' if block.version in BLOCK_VERSIONS else ""
    tasks = "\n".join(f"[[tasks.task]]\n{text}" for text in block.operations)
    atomic = "atomic = true\n" if block.atomic else ""
    return f"[[tasks]]\n{version}{atomic}\n{tasks}"
