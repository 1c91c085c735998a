"""What takes more than one step in a tree of files: on disk and on the overlay alike."""

from __future__ import annotations

import errno

from clada.errors import Trouble
from clada.world.files.entries import errno_trouble
from clada.world.files.paths import OUTSIDE, is_protected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from clada.world.files.entries import Entry
    from clada.world.files.overlay import Overlay
    from clada.world.files.paths import Parts
    from clada.world.files.workspace import Workspace

    Files: TypeAlias = Workspace | Overlay


def existing(files: Files, parts: Parts) -> Entry:
    """Return what stands at this place; it must."""
    entry = files.entry(parts)
    if entry is None:
        raise errno_trouble(errno.ENOENT)
    return entry


def walk(files: Files, top: Parts) -> Iterator[tuple[Parts, Entry]]:
    """Yield all that is below a directory, each directory after its content."""
    waiting: list[tuple[Parts, Entry | None]] = [((*top, name), None) for name in files.names(top)]
    while waiting:
        parts, entry = waiting.pop()
        if entry is not None:
            yield parts, entry
            continue
        entry = files.entry(parts)
        if entry is None:
            continue  # somebody else removed it meanwhile
        waiting.append((parts, entry))
        if entry.kind == "directory":
            waiting.extend(((*parts, name), None) for name in files.names(parts))


def unprotected(files: Files, top: Parts) -> list[tuple[Parts, Entry]]:
    """Return all that is below a directory, as walk does; git's or clada's own files may not be there."""
    found = list(walk(files, top))
    for parts, _ in found:
        if is_protected(parts[-1]):
            message = f"contains {'/'.join(parts[len(top) :])}, which is protected"
            raise Trouble("permission_denied", message)
    return found


def refuse_workspace(files: Files, parts: Parts) -> None:
    """Refuse to take away the workspace, or a directory that it lies in."""
    home = (OUTSIDE, *filter(None, files.root.split("/")))
    if not parts:
        raise Trouble("permission_denied", "is the workspace itself")
    if parts == home[: len(parts)]:
        raise Trouble("permission_denied", "contains the workspace")


def remove(files: Files, parts: Parts) -> None:
    """Remove whatever stands at this place, with all below it; links are removed, never followed."""
    entry = existing(files, parts)
    refuse_workspace(files, parts)
    below = unprotected(files, parts) if entry.kind == "directory" else []
    for place, each in [*below, (parts, entry)]:
        if each.kind == "directory":
            files.remove_directory(place)
        else:
            files.unlink(place)


def move(files: Files, source: Parts, target: Parts, *, into: bool) -> Parts:
    """Move what stands at one place to another; into it, if it is a directory. Return where it is then.

    `into` says that the target was named as a directory, which a file is then moved into.
    """
    entry = existing(files, source)
    refuse_workspace(files, source)
    there = files.entry(target)
    if (there and there.kind == "directory") or (into and entry.kind != "directory"):
        target = (*target, source[-1])
        there = files.entry(target)
    if target[: len(source)] == source:
        raise Trouble("permission_denied", "cannot be moved onto or into itself")
    _refuse_target(entry, there)
    if entry.kind == "directory":
        unprotected(files, source)
    files.rename(source, target)
    if there and files.entry(source) == entry:
        files.unlink(source)  # of two hard links to one file, the system renames neither
    return target


def _refuse_target(entry: Entry, there: Entry | None) -> None:
    if there is None:
        return
    if there.kind == "link":
        raise Trouble("symlink_not_allowed", "the target is a symbolic link")
    if there.kind == "other":
        raise Trouble("permission_denied", "the target is not a regular file")
    if (there.kind == "directory") != (entry.kind == "directory"):
        raise Trouble("permission_denied", f"there is a {there.kind} in the way")
