"""A fence around the whole content of a write: models put it there out of habit, and it would be written."""

from __future__ import annotations

from clada.errors import shortened
from clada.operations.write import Write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.model import Invalid, Operation, Plan

MARKS = ("```", "~~~")


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


def without_fences(plan: Plan) -> Plan:
    """Return a plan in which no content of a write is wrapped in a fence."""
    blocks = [
        block.replace(operations=tuple([_without_fence(item) for item in block.operations]))
        for block in plan.blocks
    ]
    return plan.replace(blocks=tuple(blocks))


def _without_fence(item: Operation | Invalid) -> Operation | Invalid:
    inner = unwrapped(item.content) if isinstance(item, Write) and not item.dialect else None
    return item if inner is None else item.replace(content=inner)


def note_on_fences(plan: Plan) -> str | None:
    """Return a note on contents that are wrapped in a fence, if there are any."""
    found = [
        item
        for block in plan.blocks
        for item in block.operations
        if isinstance(item, Write)
        and item.content.startswith(MARKS)
        and not item.dialect
        and unwrapped(item.content) is not None
    ]
    if not found:
        return None
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    where = f"{shortened(found[0].path)} (line {found[0].line}){more}"
    return (
        f"the whole content of {where} stands in a fence, which is written, too: --strip-fences leaves it out"
    )
