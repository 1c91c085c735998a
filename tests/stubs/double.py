"""double: the content of a file is there twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clada.grammar import Field
from clada.model import Change, Done, Operation, Phrases

if TYPE_CHECKING:
    from clada.world.world import World


class Double(Operation):
    """Double the content of a file."""

    path: str
    times: int = 2

    name: ClassVar = "double"
    fields: ClassVar = (Field("path", "path"), Field("times", "count", required=False, default=2))
    phrases: ClassVar = {
        "doubled": Phrases(
            done=("{target} (doubled, {bytes})", "doubled {target}"),
            planned=("{target} (would double, {bytes})", "would double {target}"),
        ),
    }

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    def apply(self, world: World) -> Done:
        """Write what is there as often as asked for."""
        parts = world.files.locate(self.path)
        data = world.files.load(parts) * self.times
        world.files.store(parts, data)
        return Done("doubled", self.path, bytes=len(data), changes=(Change(self.path, "edited"),))
