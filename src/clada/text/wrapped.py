"""A fence around the whole content of a file, which models add out of habit."""

from __future__ import annotations

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
