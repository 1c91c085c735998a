"""Paths that later runs leave out of commits until the user adds them: formerly ignored ones, and answers.

They are below the root of the repository. A formerly ignored path is dropped from the list once nothing at it
is untracked: it was added, is ignored again, or is gone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from clada.world.record.store import Store

FORMERLY_IGNORED, ANSWERS = "formerly ignored", "answer"  # the reasons


def left_out(store: Store, reason: str = FORMERLY_IGNORED) -> frozenset[str]:
    """Return the paths that are left out of commits for this reason."""
    if not store.exists:
        return frozenset()
    with store.read() as db:
        rows = db.execute("SELECT path FROM left_out WHERE reason = ?", (reason,)).fetchall()
    return frozenset(os.fsdecode(path) for (path,) in rows if isinstance(path, bytes))


def leave_out(store: Store, paths: Collection[str], reason: str = FORMERLY_IGNORED) -> None:
    """Make these the paths that are left out for this reason."""
    if set(paths) == left_out(store, reason):
        return
    with store.write() as db:
        db.execute("DELETE FROM left_out WHERE reason = ?", (reason,))
        rows = [(reason, os.fsencode(path)) for path in set(paths)]
        db.executemany("INSERT INTO left_out (reason, path) VALUES (?, ?)", rows)


def ignored_now(store: Store) -> frozenset[str]:
    """Return the paths below the workspace that git ignores."""
    if store.repository is None:
        return frozenset()
    from clada.world.git.git import hardened_git
    from clada.world.record.git_files import ignored_paths

    return ignored_paths(hardened_git(store.repository, refresh=False), store.prefix)


def no_longer(store: Store, before: Iterable[str]) -> list[str]:
    """Return which of these paths below the workspace still exist and are not ignored any more."""
    there = [path for path in before if os.path.lexists(os.path.join(store.workspace, path))]
    if not there:
        return []
    from clada.world.git.status import with_parents

    now = ignored_now(store)
    return sorted(path for path in there if now.isdisjoint(with_parents(path)))


def moved_along(before: Iterable[str], moved: Iterable[tuple[str, str]]) -> set[str]:
    """Return the new paths of ignored paths that were moved."""
    found = set()
    for old, new in moved:
        for path in before:
            if f"{path}/".startswith(f"{old}/"):
                found.add(new + path[len(old) :])
            elif old.startswith(f"{path}/"):
                found.add(new)
    return found
