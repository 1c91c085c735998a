"""write: a file gets exactly this content, or has it added at its end."""

from __future__ import annotations

from clada.errors import Trouble
from clada.model import Change, Done
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clada.operations import World
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

BOM = "\ufeff"


def apply(world: World, fields: Mapping[str, Any]) -> Done:
    """Write or append."""
    path = fields["path"]
    if path.endswith(("/", "\\")):
        raise Trouble("permission_denied", "names a directory", "leave out the slash at the end")
    parts = world.files.locate(path)
    data = _content(fields["content"], final_newline=world.settings.final_newline)
    how = _append(world.files, parts, data) if fields["append"] else _overwrite(world.files, parts, data)
    changes = () if how == "unchanged" else (Change(display_path(parts), how),)
    return Done(how, path, bytes=len(data), changes=changes)


def _content(text: str, *, final_newline: bool) -> bytes:
    data = text.removeprefix(BOM).encode()
    return data + b"\n" if final_newline and data and not data.endswith(b"\n") else data


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
