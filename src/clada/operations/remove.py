"""remove: a file, or a directory with all that is in it, goes."""

from __future__ import annotations

from clada.model import Change, Done
from clada.world.files import tree
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clada.operations import World


def apply(world: World, fields: Mapping[str, Any]) -> Done:
    """Remove, never following a link."""
    path = fields["path"]
    parts = world.files.locate(path)
    tree.remove(world.files, parts)
    return Done("removed", path, changes=(Change(display_path(parts), "removed"),))
