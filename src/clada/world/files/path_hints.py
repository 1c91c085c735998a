"""Hints about paths that lead nowhere: which file was probably meant. Nothing is done by them."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.text.escape import escape_controls, first_few
from clada.world.files.paths import display_path, is_protected, locate
from clada.world.files.tree import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.model import Operation
    from clada.world.files.paths import Parts
    from clada.world.files.tree import Files

MOST_LOOKED_AT = 2_000  # entries of the workspace
CLOSE = 0.8  # how similar two names are at least, of 1
NOT_LOOKED_INTO = ("node_modules", "__pycache__")


def similar_file(files: Files, path: str) -> str | None:
    """Return the path of the file that was probably meant by one that is not there, if one alone is like it.

    That is one with its last names, one of its own name elsewhere, or one with a similar name beside it.
    """
    try:
        parts = files.locate(path)
        last = (parts[number:] for number in range(1, len(parts)))
        found = next((tail for tail in last if _is_file(files, tail)), None)
        found = found or _elsewhere(files, parts[-1]) or _beside(files, parts)
    except CladaError:
        return None  # it is a hint, and no more
    return None if found is None else display_path(found)


def _is_file(files: Files, parts: Parts) -> bool:
    entry = files.entry(parts)
    return entry is not None and entry.kind == "file"


def _elsewhere(files: Files, name: str) -> Parts | None:
    """Return the only file of this name, if the workspace is small enough to say so."""
    found = []
    for number, (parts, entry) in enumerate(walk(files, (), _may_be_edited)):
        if number >= MOST_LOOKED_AT:
            return None
        if parts[-1] == name and entry.kind == "file":
            found.append(parts)
    return found[0] if len(found) == 1 else None


def _may_be_edited(name: str) -> bool:
    """Whether a directory may hold files that people write."""
    return name not in NOT_LOOKED_INTO and not is_protected(name)


def _beside(files: Files, parts: Parts) -> Parts | None:
    """Return the file in the same folder whose name is most like this one."""
    from difflib import get_close_matches  # needed only for a name that leads nowhere

    *above, name = parts
    if above and not files.entry(tuple(above)):
        return None
    for close in get_close_matches(name, files.names(tuple(above)), cutoff=CLOSE):
        if _is_file(files, (*above, close)):
            return (*above, close)
    return None


def note_on_paths(operations: Iterable[Operation], workspace: str, top: str) -> list[str]:
    """Return a note on the paths of operations that exist only from the root of the repository, `top`."""
    fields = [
        (field.name, item.values()) for item in operations for field in item.fields if field.kind == "path"
    ]
    paths = dict.fromkeys(values[name] for name, values in fields if name in values)
    found = [path for path in paths if _is_elsewhere(path, workspace, top)]
    if not found:
        return []
    exist = "exists" if len(found) == 1 else "exist"
    below = escape_controls(os.path.relpath(workspace, top))
    note = (
        f"{first_few(found, 1)} {exist} only from the root of the repository; paths are "
        f"relative to the workspace, which is {below}/ in it: to work in the root, use "
        f"--workspace={escape_controls(top)}"
    )
    return [note]


def _is_elsewhere(path: str, workspace: str, top: str) -> bool:
    """Whether a path leads nowhere from the workspace, and to something from the root, by no link."""
    try:
        parts = locate(path, workspace)
    except CladaError:
        return False  # it will be refused
    place = os.path.join(top, *parts)
    if os.path.lexists(os.path.join(workspace, *parts)) or not os.path.lexists(place):
        return False
    return os.path.realpath(place) == place
