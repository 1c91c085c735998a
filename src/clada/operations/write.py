"""write: a file gets exactly this content, or has it added at its end."""

from __future__ import annotations

from clada.errors import Trouble
from clada.grammar import Field
from clada.model import Change, Done, Operation
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files
    from clada.world.world import World

BOM = "\ufeff"


class Write(Operation):
    """Write a file, or append to it; parent directories are made."""

    path: str
    content: str
    append: bool = False

    name: ClassVar = "write"
    fields: ClassVar = (
        Field("path", "path"),
        Field("content", "text"),
        Field("append", "flag", required=False, default=False),
    )
    phrases: ClassVar = {
        "created": ("{target} (created, {bytes})", "created {target}"),
        "overwritten": ("{target} (overwritten, {bytes})", "overwrote {target}"),
        "appended": ("{target} (appended, {bytes})", "appended to {target}"),
        "unchanged": ("{target} (unchanged)", "{target} unchanged"),
    }

    @property
    def target(self) -> str:
        """The path."""
        return self.path

    @property
    def holds(self) -> str | None:
        """The path, if it appends: additions in a row are written once."""
        return self.path if self.append else None

    def apply(self, world: World) -> Done:
        """Write or append."""
        if self.path.endswith(("/", "\\")):
            raise Trouble("permission_denied", "names a directory", "leave out the slash at the end")
        parts = world.files.locate(self.path)
        data = self.content.removeprefix(BOM).encode()
        if world.settings.final_newline and data and not data.endswith(b"\n"):
            data += b"\n"
        how = _append(world.files, parts, data) if self.append else _overwrite(world.files, parts, data)
        changes = () if how == "unchanged" else (Change(display_path(parts), how),)
        return Done(how, self.path, bytes=len(data), changes=changes, held=how == "appended")


def _overwrite(files: Files, parts: Parts, data: bytes) -> str:
    old = files.entry(parts)
    if old and old.kind == "file" and old.size == len(data) and files.load(parts) == data:
        return "unchanged"
    files.store(parts, data)
    return "overwritten" if old else "created"


def _append(files: Files, parts: Parts, data: bytes) -> str:
    if data and files.append(parts, data):
        return "appended"
    if not data and files.entry(parts):
        files.load(parts)  # for it must be a file all the same
        return "unchanged"
    files.store(parts, data)
    return "created"
