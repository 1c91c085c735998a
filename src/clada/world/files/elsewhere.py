"""Paths that were meant from the root of the repository, in a workspace that is a directory below it."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.world.files.paths import locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.model import Operation


def note_on_paths(operations: Iterable[Operation], workspace: str, top: str) -> list[str]:
    """Return a note on the paths of operations that exist only from the root of the repository, `top`."""
    fields = [
        (field.name, item.values()) for item in operations for field in item.fields if field.kind == "path"
    ]
    paths = dict.fromkeys(values[name] for name, values in fields if name in values)
    found = [path for path in paths if _is_elsewhere(path, workspace, top)]
    if not found:
        return []
    others = len(found) - 1
    exist = (
        f" and {others} more paths exist" if others > 1 else " and 1 more path exist" if others else " exists"
    )
    below = escape_controls(os.path.relpath(workspace, top))
    note = (
        f"{escape_controls(found[0])}{exist} only from the root of the repository; paths are relative to the "
        f"workspace, which is {below}/ in it: to work in the root, use --workspace={escape_controls(top)}"
    )
    return [note]


def _is_elsewhere(path: str, workspace: str, top: str) -> bool:
    """Whether a path leads nowhere from the workspace, and to something from the root, by no link."""
    try:
        parts = locate(path, workspace)
    except CladaError:
        return False  # it will be refused
    place = os.path.join(top, *parts)
    if os.path.lexists(os.path.join(workspace, *parts)) or not os.path.lexists(place):
        return False
    return os.path.realpath(place) == place
