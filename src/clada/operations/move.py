"""move: a file or a directory goes to another place."""

from __future__ import annotations

from clada.model import Change, Done
from clada.world import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clada.operations import World


def apply(world: World, fields: Mapping[str, Any]) -> Done:
    """Move or rename."""
    source, target = fields["from"], fields["to"]
    files = world.files
    tree.move(files, files.locate(source), files.locate(target), into=target.endswith(("/", "\\")))
    arrow = f"{source} -> {target}"
    return Done("moved", arrow, changes=(Change(source, "removed"), Change(target, "moved")))
