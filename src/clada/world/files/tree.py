"""Operations of several steps on a tree of files: on disk and on the overlay alike."""

from __future__ import annotations

import errno
import os
from functools import partial

from clada.errors import CladaError
from clada.world.files.paths import OUTSIDE, display_path, early_imports, is_protected, refuse_early_import
from clada.world.files.stat import errno_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from clada.world.files.overlay import Overlay
    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry
    from clada.world.files.workspace import Workspace

    Files: TypeAlias = Workspace | Overlay


CONTAINS_WORKSPACE = "contains the workspace"


def existing(files: Files, parts: Parts) -> Entry:
    """Return the entry at a path; raise CladaError if there is none."""
    entry = files.entry(parts)
    if entry is None:
        raise errno_error(errno.ENOENT)
    return entry


def content_of(files: Files, place: str | Parts, largest: int | None = None) -> bytes | None:
    """Return the content of a file; None if there is none, it cannot be read, or it has more bytes."""
    try:
        parts = files.locate(place) if isinstance(place, str) else place
        entry = files.entry(parts)
        is_wanted = entry and entry.kind == "file" and (largest is None or entry.size <= largest)
        return files.load(parts) if is_wanted else None
    except CladaError:
        return None


def walk(
    files: Files, top: Parts, enter: Callable[[str], bool] = lambda _name: True
) -> Iterator[tuple[Parts, Entry]]:
    """Yield all that is below a directory, each directory after its content.

    Directories whose name `enter` does not take are yielded without their entries.
    """
    waiting: list[tuple[Parts, Entry | None]] = [((*top, name), None) for name in files.names(top)]
    while waiting:
        parts, entry = waiting.pop()
        if entry is not None:
            yield parts, entry
            continue
        entry = files.entry(parts)
        if entry is None:
            continue  # another program removed it meanwhile
        waiting.append((parts, entry))
        if entry.kind == "directory" and enter(parts[-1]):
            waiting.extend(((*parts, name), None) for name in files.names(parts))


def walk_unprotected(files: Files, top: Parts) -> list[tuple[Parts, Entry]]:
    """Return all entries below a directory, as walk does; raise CladaError if one is protected."""
    found = list(walk(files, top))
    for parts, entry in found:
        if entry.kind == "directory" and entry.identity == files.identity:  # mounted there once more
            raise CladaError("permission_denied", CONTAINS_WORKSPACE)
        if is_protected(parts[-1]):
            message = f"contains {'/'.join(parts[len(top) :])}, which is protected"
            raise CladaError("permission_denied", message)
    return found


def refuse_workspace(files: Files, parts: Parts) -> None:
    """Refuse to move or remove the workspace, or a directory that contains it."""
    if not parts:
        raise CladaError("permission_denied", "is the workspace itself")
    entry = files.entry(parts) if parts[0] == OUTSIDE else None
    if entry and entry.identity in files.lineage():
        raise CladaError("permission_denied", CONTAINS_WORKSPACE)


def remove(files: Files, parts: Parts) -> list[Parts]:
    """Remove an entry with all below it; links are removed, never followed.

    If something below cannot be removed, raise PartlyRemovedError with the paths that were removed by then.
    """
    entry = existing(files, parts)
    refuse_workspace(files, parts)
    below = walk_unprotected(files, parts) if entry.kind == "directory" else []
    removed: list[Parts] = []
    for place, each in [*below, (parts, entry)]:
        try:
            if each.kind == "directory":
                files.remove_directory(place)
            else:
                files.unlink(place)
        except CladaError as raised:
            raise (
                PartlyRemovedError(raised, place, removed) if removed or place != parts else raised
            ) from None
        add_removed(removed, place)
    return removed


class PartlyRemovedError(CladaError):
    """Something below a directory could not be removed; `removed` lists what was removed before."""

    def __init__(self, raised: CladaError, place: Parts, removed: list[Parts]) -> None:
        error = raised.error
        message, hint = error.message, error.hint
        if error.type == "file_not_found":
            message, hint = "was moved or removed by another program meanwhile", "look where it is now"
        super().__init__(error.type, f"{display_path(place)}: {message}", hint, system=raised.system)
        self.removed = removed


def add_removed(removed: list[Parts], parts: Parts) -> None:
    """Add a path to those that were removed, and drop the paths below it."""
    while removed and removed[-1][: len(parts)] == parts:
        removed.pop()
    removed.append(parts)


def move(files: Files, source: Parts, target: Parts, *, into: bool) -> Parts:
    """Move an entry to another path, or into it if it is a directory. Return the new path.

    `into` says that the target was named as a directory, so that a file is moved into it.
    """
    entry = existing(files, source)
    refuse_workspace(files, source)
    there = files.entry(target)
    relation = relation_of(files, (source, entry), (target, there))
    is_into = (there and there.kind == "directory") or (into and entry.kind != "directory")
    if is_into and relation != "respelled":
        target = (*target, source[-1])
        there = files.entry(target)
        relation = relation_of(files, (source, entry), (target, there))
    if relation == "same" or target[: len(source)] == source:
        raise CladaError("permission_denied", "cannot be moved onto or into itself")
    if relation != "respelled":
        _refuse_target(entry, there)
    if entry.kind == "directory":
        walk_unprotected(files, source)
    rename(files, source, target, relation)
    return target


def relation_of(files: Files, source: tuple[Parts, Entry], target: tuple[Parts, Entry | None]) -> str | None:
    """Return how two paths are related if they are one file; else None.

    They are the `same`, however their directories are spelled; `respelled`, if the file system takes both
    names for one, as those that ignore letter case do; or hard `links`.
    """
    (old, entry), (new, there) = source, target
    if there is not None and old == new:
        return "same"
    if there is None or entry.identity is None or entry.identity != there.identity:
        return None
    if not (old and new and _is_same_directory(files, old[:-1], new[:-1])):
        return "links"
    if old[-1] == new[-1]:
        return "same"
    return "links" if new[-1] in files.names(new[:-1]) else "respelled"


def _is_same_directory(files: Files, one: Parts, other: Parts) -> bool:
    identities = [entry.identity if entry else None for entry in (files.entry(one), files.entry(other))]
    return one == other or (identities[0] is not None and identities[0] == identities[1])


def rename(files: Files, source: Parts, target: Parts, relation: str | None) -> None:
    """Rename an entry; `relation` is that of the two paths."""
    if early_imports or files.guard:
        _check_move(files, source, target)
    files.rename(source, target)
    if relation == "links" and files.entry(source):
        files.unlink(source)  # of two hard links to one file, the system renames neither
    if relation == "respelled" and target[-1] not in files.names(target[:-1]):
        _respell(files, source, target)


def _check_move(files: Files, source: Parts, target: Parts) -> None:
    """Refuse to move a file, alone or in a directory, to where it would run by itself."""
    entry = existing(files, source)
    below = walk(files, source) if entry.kind == "directory" else ()
    for parts, each in ((source, entry), *below):
        new = (*target, *parts[len(source) :])
        if early_imports:
            refuse_early_import(new, files.root)
        if files.guard and each.kind != "directory":
            files.guard.check(new, partial(_read, files, parts, each))


def _read(files: Files, parts: Parts, entry: Entry) -> bytes:
    """Return the content of a file; of a link or a pipe, nothing."""
    return files.load(parts) if entry.kind == "file" else b""


def _respell(files: Files, source: Parts, target: Parts) -> None:
    """Rename in two steps, because the system takes the two names for one and does nothing."""
    aside = (*source[:-1], f".clada-renamed-{os.urandom(8).hex()}")
    files.rename(source, aside)
    try:
        files.rename(aside, target)
    except CladaError:
        files.rename(aside, source)
        raise
    finally:
        files.touched.discard(aside)


def _refuse_target(entry: Entry, there: Entry | None) -> None:
    if there is None:
        return
    if there.kind == "link":
        raise CladaError("symlink_not_allowed", "the target is a symbolic link")
    if there.kind == "other":
        raise CladaError("permission_denied", "the target is not a regular file")
    if (there.kind == "directory") != (entry.kind == "directory"):
        raise CladaError("permission_denied", f"there is a {there.kind} in the way")
