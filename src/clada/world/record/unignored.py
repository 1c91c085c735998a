"""What later runs keep off the branch, until that is meant: what git ignored before a run, and answers.

Files of the store list the places, files and directories, by their paths below the repository's root. One
that git ignored is dropped as soon as nothing at it is untracked: it was added, is ignored again, or is gone.
"""

from __future__ import annotations

import os

from clada.world.handles import NO_FOLLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clada.world.record.store import Store

UNIGNORED, ANSWERS = "unignored", "answers"  # the lists
MAX_BYTES = 1 << 20  # of the list


def listed(store: Store, name: str = UNIGNORED) -> frozenset[str]:
    """Return the places that are kept off the branch."""
    try:
        handle = os.open(os.path.join(store.path, name), os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK)
    except OSError:
        return frozenset()
    with open(handle, "rb") as file:
        return frozenset(os.fsdecode(file.read(MAX_BYTES)).split("\0")[:-1])


def keep(store: Store, places: Collection[str], name: str = UNIGNORED) -> None:
    """Let these be the places."""
    if places == listed(store, name):
        return
    from clada.world.files.atomic import put
    from clada.world.handles import open_directory

    folder = open_directory(store.path)
    try:
        put(folder, name, os.fsencode("".join(f"{place}\0" for place in sorted(places))))
    finally:
        os.close(folder)


def ignored_now(store: Store) -> frozenset[str]:
    """Return the places in the workspace that git ignores, by their paths below it."""
    if store.repository is None:
        return frozenset()
    from clada.world.git.git import hardened_git
    from clada.world.record.in_git import ignored_places

    git = hardened_git(store.repository)
    git = git.replace(variables={**git.variables, "GIT_OPTIONAL_LOCKS": "0"})
    return ignored_places(git, store.prefix)


def no_longer(store: Store, before: Iterable[str]) -> list[str]:
    """Return which of these places, below the workspace, are still there and not ignored any more."""
    there = [place for place in before if os.path.lexists(os.path.join(store.workspace, place))]
    if not there:
        return []
    from clada.world.git.commit import with_parents

    now = ignored_now(store)
    return sorted(place for place in there if now.isdisjoint(with_parents(place)))


def moved_along(before: Iterable[str], moved: Iterable[tuple[str, str]]) -> set[str]:
    """Return where ignored places have come to by moves."""
    found = set()
    for old, new in moved:
        for place in before:
            if f"{place}/".startswith(f"{old}/"):
                found.add(new + place[len(old) :])
            elif old.startswith(f"{place}/"):
                found.add(new)
    return found
