"""A fence around the whole content of a write, which models add out of habit."""

from __future__ import annotations

from clada.errors import shortened
from clada.operations.write import Write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.model import Invalid, Operation, Plan

MARKS = ("```", "~~~")
MARKUP = (".md", ".mdx", ".markdown", ".rst")  # ends of names of files in which a fence is markup
REMOVED = "removed the fence around the whole content of {}; --strip-fences=never keeps it"
KEPT = "kept the fence around the whole content of {}; --strip-fences removes it"


def unwrapped(content: str) -> str | None:
    """Return a content without the fence around it; None where there is none around the whole of it."""
    if not content.startswith(MARKS):
        return None
    lines = content.split("\n")
    mark = lines[0][0]
    fence = mark * (len(lines[0]) - len(lines[0].lstrip(mark)))
    closing = next((at for at, line in enumerate(lines[1:], 1) if _closes(line, fence)), 0)
    if not closing or mark in lines[0][len(fence) :] or any(line.strip() for line in lines[closing + 1 :]):
        return None
    return "\n".join([*lines[1:closing], *lines[closing + 1 :]])


def _closes(line: str, fence: str) -> bool:
    bare = line.rstrip(" \t")
    return bare.startswith(fence) and not bare.strip(fence[0])


def without_fences(plan: Plan, strip: bool | None) -> Plan:
    """Return a plan whose writes have no fence around their whole content, with notes on those that had one.

    `strip` is the setting strip_fences: None keeps fences in files in which they are markup, True does not.
    """
    blocks, removed, kept = [], [], []
    for block in plan.blocks:
        operations = [without_fence(item, strip) for item in block.operations]
        for item, now in zip(block.operations, operations, strict=True):
            if now is not item:
                removed.append(item)
            elif strip is None and without_fence(item, True) is not item:
                kept.append(item)
        blocks.append(block.replace(operations=tuple(operations)))
    if not removed and not kept:
        return plan
    found = ((REMOVED, removed if strip is None else []), (KEPT, kept))
    notes = [message.format(_names(items)) for message, items in found if items]
    return plan.replace(blocks=tuple(blocks), notes=(*plan.notes, *notes))


def without_fence(item: Operation | Invalid, strip: bool | None = None) -> Operation | Invalid:
    """Return an operation without the fence around its whole content, if the setting strip_fences says so."""
    if not isinstance(item, Write) or item.dialect or (not strip and item.path.lower().endswith(MARKUP)):
        return item
    inner = unwrapped(item.content)
    return item if inner is None else item.replace(content=inner)


def _names(writes: list[Operation | Invalid]) -> str:
    more = f" and {len(writes) - 1} more" if len(writes) > 1 else ""
    return f"{shortened(writes[0].target)} (line {writes[0].line}){more}"
