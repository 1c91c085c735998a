"""Writes JSON, which can say all that a plan can."""

from __future__ import annotations

import json

from clada.grammar import BLOCK_VERSIONS
from clada.notations.write import WrittenBlock, without_unset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.model import Operation


def fields_of(item: Operation) -> dict[str, Any]:
    """Return an operation as JSON and TOML have it."""
    values = without_unset(item.values())
    if "hunks" in values:
        values["hunks"] = [
            {name: value for name, value in hunk.items() if name != "line"} for hunk in values["hunks"]
        ]
    return {"action": item.name, **values}


def operation(item: Operation) -> str:
    """Return an operation."""
    return json.dumps(fields_of(item), ensure_ascii=False)


def document(blocks: Sequence[WrittenBlock]) -> str:
    """Return a document of these blocks; each has a list of its own."""
    texts = [_block(block) for block in blocks]
    return f"{texts[0]}\n" if len(texts) == 1 else "[\n" + ",\n".join(texts) + "\n]\n"


def _block(block: WrittenBlock) -> str:
    version = f'"version": "{block.version}", ' if block.version in BLOCK_VERSIONS else ""
    tasks = ",\n".join(f"  {text}" for text in block.operations)
    atomic = '"atomic": true, ' if block.atomic else ""
    return f'{{{version}{atomic}"tasks": [\n{tasks}\n]}}'
