"""move: move or rename a file or a directory."""

from __future__ import annotations

from clada.errors import CladaError
from clada.grammar import Field
from clada.model import Change, Done, Operation, Phrases
from clada.world.files import tree
from clada.world.files.paths import display_path
from clada.world.secrets.names import looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from clada.world.world import World


class Move(Operation):
    """Move or rename a file or a directory."""

    source: str
    destination: str
    dialect: str = ""

    name: ClassVar = "move"
    fields: ClassVar = (Field("from", "path"), Field("to", "path"))
    phrases: ClassVar = {
        "moved": Phrases(
            done=("{target}{remarks}", "moved {target}{remarks}"),
            planned=("{target} (would move{remarks})", "would move {target}{remarks}"),
        ),
    }

    @classmethod
    def from_fields(
        cls, line: int, span: tuple[int, int], attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> Self:
        """Make it from its fields; `from` cannot be an argument name in Python."""
        return cls(line, span, attributes, values["from"], values["to"])

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        return {"from": self.source, "to": self.destination}

    def apply(self, world: World) -> Done:
        """Move or rename."""
        files = world.files
        old, new = files.locate(self.source), files.locate(self.destination)
        tree.existing(files, old)
        _refuse_unhiding(world, display_path(old), display_path(new))
        new = tree.move(files, old, new, into=self.destination.endswith(("/", "\\")))
        changes = (Change(display_path(old), "removed"), Change(display_path(new), "moved"))
        return Done("moved", self.target, changes=changes)


def _refuse_unhiding(world: World, old: str, new: str) -> None:
    """Refuse to give a file that looks like a secret a name under which commands may read it."""
    if world.secrets.names(old) and not looks_secret(new):
        message = f"{old} looks like a secret, and would not as {new}"
        raise CladaError("permission_denied", message, "move it yourself, or name it in the setting `reveal`")
