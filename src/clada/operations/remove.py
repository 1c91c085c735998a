"""remove: a file, or a directory with all that is in it, goes."""

from __future__ import annotations

from clada.model import Change, Done, Failed, Outcome
from clada.world.files import tree
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from clada.operations import World
    from clada.world.files.paths import Parts


def apply(world: World, fields: Mapping[str, Any]) -> Outcome:
    """Remove, never following a link."""
    path = fields["path"]
    parts = world.files.locate(path)
    try:
        removed = tree.remove(world.files, parts)
    except tree.HalfRemoved as trouble:
        return Failed(trouble.error, changes=_changes(trouble.removed))
    return Done("removed", path, changes=_changes(removed))


def _changes(removed: Iterable[Parts]) -> tuple[Change, ...]:
    return tuple(Change(display_path(parts), "removed") for parts in removed)
