"""Names of files that are like one which is not there: what somebody probably meant. They are only told."""

from __future__ import annotations

from clada.errors import CladaError
from clada.world.files.paths import display_path, is_protected
from clada.world.files.tree import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    from difflib import get_close_matches

    *above, name = parts
    if above and not files.entry(tuple(above)):
        return None
    for close in get_close_matches(name, files.names(tuple(above)), cutoff=CLOSE):
        if _is_file(files, (*above, close)):
            return (*above, close)
    return None
