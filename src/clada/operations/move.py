"""move: a file or a directory goes to another place."""

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
    """Move or rename."""
    source, target = fields["from"], fields["to"]
    files = world.files
    old = files.locate(source)
    new = tree.move(files, old, files.locate(target), into=target.endswith(("/", "\\")))
    changes = (Change(display_path(old), "removed"), Change(display_path(new), "moved"))
    return Done("moved", f"{source} -> {target}", changes=changes)
