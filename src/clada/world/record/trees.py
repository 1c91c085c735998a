"""What is in a tree: the stamps of everything, by path, and what stands at one place."""

from __future__ import annotations

import os
from stat import S_ISDIR

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.directories import Directories
from clada.world.files.paths import is_protected
from clada.world.handles import open_directory
from clada.world.record.caches import is_cache
from clada.world.record.states import ABSENT, State, is_same_save, stamp_of, state_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.world.record.states import Stamp

    Table = dict[str, Stamp]


MOST_APART = 10_000  # entries that are looked at in directories that are looked at from outside


class Look(Value):
    """What a look has seen."""

    stamps: Table  # of everything, by path
    closed: frozenset[str] = frozenset()  # directories that we cannot look into
    apart: tuple[str, ...] = ()  # that were not entered: ignored ones, and repositories of their own
    whole: bool = True


def look(top: str, ignored: frozenset[str] = frozenset(), most: int | None = None) -> Look:
    """Look at all below a directory but git's and clada's, and what is in directories that are ignored.

    Repositories in it are not entered, either. After `most` entries, it ends.
    """
    found: Table = {}
    closed, apart, folders = set[str](), list[str](), [""]
    while folders and (most is None or len(found) <= most):
        folder = folders.pop()
        try:
            entries = _listed(os.path.join(top, folder))
        except OSError:
            closed.add(folder)
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if is_protected(entry.name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                if not os.access(os.path.join(top, folder), os.X_OK):
                    closed.add(folder)
                continue  # or else it is gone
            if not S_ISDIR(status.st_mode):
                found[path] = stamp_of(status)
            elif path in ignored:
                apart.append(path)
            else:
                found[path] = stamp_of(status)
                is_nested = os.path.lexists(os.path.join(top, path, ".git"))
                (apart if is_nested else folders).append(path)
    return Look(found, frozenset(closed), tuple(apart), most is None or len(found) <= most)


def look_apart(workspace: str, places: Iterable[str]) -> Table:
    """Return the stamps of what is in directories that are not entered, by place, two slashes and path.

    Of one with very much in it, only its own; of caches, none.
    """
    found: Table = {}
    for place in places:
        top = os.path.join(workspace, place)
        if is_cache(workspace, place):
            continue
        seen = look(top, most=MOST_APART - len(found))
        if seen.whole:
            found |= {f"{place}//{path}": stamp for path, stamp in seen.stamps.items()}
        else:
            status = os.lstat(top)
            found[f"{place}//"] = (*stamp_of(status), status.st_mtime_ns)
    return found


def look_apart_again(workspace: str, before: Table) -> Table:
    """Look again at the same places, as far as they are still there."""
    places = dict.fromkeys(key.partition("//")[0] for key in before)
    return look_apart(workspace, (place for place in places if os.path.isdir(os.path.join(workspace, place))))


def changed_apart(before: Table, now: Table) -> list[str]:
    """Return the places in which something that was there was changed or removed."""
    changed = (key for key, stamp in before.items() if not is_same_save(now.get(key), stamp))
    return list(dict.fromkeys(key.partition("//")[0] for key in changed))


def changed_modes(before: Table, now: Table) -> list[tuple[str, int, int]]:
    """Return what has another mode than it had, with both."""
    return [
        (path.replace("//", "/"), stamp[0], now[path][0])
        for path, stamp in before.items()
        if path in now and stamp[0] != now[path][0]
    ]


def _listed(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def states_of(workspace: str, paths: Iterable[str], limit: int) -> Iterator[tuple[str, State]]:
    """Yield each of these paths with what stands there below the workspace; no link leads there."""
    try:
        root = open_directory(workspace)
    except OSError:
        yield from ((path, ABSENT) for path in paths)
        return
    directories = Directories(root)
    try:
        for path in paths:
            yield path, _state_of(directories, path, limit)
    finally:
        directories.forget_all()
        os.close(root)


def _state_of(directories: Directories, path: str, limit: int) -> State:
    *above, name = path.split("/")
    try:
        parent = directories.handle(tuple(above))
    except (OSError, CladaError):
        return ABSENT
    try:
        return state_at(parent, name, limit)
    except OSError:
        return State("other")  # nobody may read it


def stamp_now(workspace: str, path: str) -> Stamp | None:
    """Return the stamp of what stands at a path below the workspace; None where there is nothing."""
    try:
        return stamp_of(os.lstat(os.path.join(workspace, path)))
    except OSError:
        return None


def packed(table: Table) -> bytes:
    """Return a table as bytes."""
    rows = (f"{path}\0{' '.join(map(str, stamp))}\0" for path, stamp in table.items())
    return os.fsencode("".join(rows))


def unpacked(data: bytes) -> Table:
    """Return the table that bytes stand for."""
    parts = os.fsdecode(data).split("\0")
    return {
        path: tuple(map(int, stamp.split())) for path, stamp in zip(parts[0::2], parts[1::2], strict=False)
    }
