"""remove: remove a file, or a directory with all that is in it."""

from __future__ import annotations

from codecs import BOM_UTF8

from clada.errors import CladaError
from clada.grammar import Field
from clada.model import Change, Done, Failed, Operation, Phrases
from clada.text.diff import common_start
from clada.world.files import tree
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar

    from clada.model import Outcome
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.world import World


class Remove(Operation):
    """Remove a file, a link, or a directory with all that is in it."""

    path: str
    content: str | None = None  # the expected content, except for blanks at the ends of lines
    file_only: bool = False  # a directory is refused
    dialect: str = ""

    name: ClassVar = "remove"
    fields: ClassVar = (Field("path", "path"),)
    phrases: ClassVar = {
        "removed": Phrases(
            done=("{target}", "removed {target}"),
            planned=("{target} (would remove)", "would remove {target}"),
        ),
    }

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        content = {} if self.content is None else {"content": self.content}
        return {"path": self.path, **content, **({"file_only": True} if self.file_only else {})}

    def _check(self, files: Files, parts: Parts) -> None:
        """Raise CladaError if the file is not the one that the answer expects."""
        entry = files.entry(parts) if self.file_only or self.content is not None else None
        if not entry:
            return
        if entry.kind == "directory":
            raise CladaError("invalid_operation", f"{self.path} is a directory, the answer removes a file")
        if self.content is None or entry.kind != "file":
            return
        there = _trimmed_lines(files.load(parts).removeprefix(BOM_UTF8))
        given = _trimmed_lines(self.content.encode())
        if there != given:
            line = common_start(there, given) + 1
            message = f"{self.path} is not what the answer removes: line {line} differs"
            raise CladaError("invalid_operation", message)

    def apply(self, world: World) -> Outcome:
        """Remove, never following a link."""
        parts = world.files.locate(self.path)
        self._check(world.files, parts)
        try:
            removed = tree.remove(world.files, parts)
        except tree.PartlyRemovedError as raised:
            return Failed(raised.error, changes=_changes(raised.removed))
        return Done("removed", self.path, changes=_changes(removed))


def _trimmed_lines(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.splitlines()]


def _changes(removed: Iterable[Parts]) -> tuple[Change, ...]:
    return tuple(Change(display_path(parts), "removed") for parts in removed)
