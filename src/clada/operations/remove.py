"""remove: a file, or a directory with all that is in it, goes."""

from __future__ import annotations

from clada.grammar import Field
from clada.model import Change, Done, Failed, Operation
from clada.world.files import tree
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import ClassVar

    from clada.model import Outcome
    from clada.world.files.paths import Parts
    from clada.world.world import World


class Remove(Operation):
    """Remove a file, a link, or a directory with all that is in it."""

    path: str

    name: ClassVar = "remove"
    fields: ClassVar = (Field("path", "path"),)
    phrases: ClassVar = {"removed": ("{target}", "removed {target}")}

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    def apply(self, world: World) -> Outcome:
        """Remove, never following a link."""
        parts = world.files.locate(self.path)
        try:
            removed = tree.remove(world.files, parts)
        except tree.HalfRemoved as trouble:
            return Failed(trouble.error, changes=_changes(trouble.removed))
        return Done("removed", self.path, changes=_changes(removed))


def _changes(removed: Iterable[Parts]) -> tuple[Change, ...]:
    return tuple(Change(display_path(parts), "removed") for parts in removed)
