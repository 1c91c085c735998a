"""Earlier versions of a file: shown to a model, left by runs of clada, and of its last commits."""

from __future__ import annotations

import os
import time

from clada.errors import CladaError
from clada.values import Value
from clada.world.git import repository
from clada.world.git.git import hardened_git
from clada.world.record import history, seen
from clada.world.record.tree_diff import RunChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.world.record.store import Store

MOST_RUNS, MOST_COMMITS = 50, 50
SHORT = 7  # characters of a commit's name


class KnownVersion(Value):
    """A version of a file, and which it is: `of 10:32`, `after run 3`, `of commit 1a2b3c4`."""

    content: bytes
    label: str


Versions = tuple[list[KnownVersion], bool]  # newest first, and whether some are known and gone


def shown(store: Store, path: str) -> Versions:
    """Return the versions that a model was shown."""
    try:
        found, is_incomplete = seen.versions(store, path)
    except (CladaError, OSError):
        return [], False
    return [KnownVersion(each.content, _time_label(each.at)) for each in found], is_incomplete


def _time_label(at: float) -> str:
    """Return `of 10:32`, with the date if it was another day."""
    then, today = time.localtime(at), time.localtime()
    day = "" if then[:3] == today[:3] else time.strftime("%Y-%m-%d ", then)
    return f"of {day}{time.strftime('%H:%M', then)}"


def left_by_runs(store: Store, path: str) -> Versions:
    """Return the versions that recorded runs left."""
    try:
        return _distinct(after for _before, after in _changed_by_runs(store, path)), False
    except (CladaError, OSError):
        return [], False


def _changed_by_runs(store: Store, path: str) -> Iterator[tuple[bytes, KnownVersion]]:
    """Yield the content before and the version after each run that changed the file, newest run first."""
    runs = [run for run in history.runs(store) if run.changed and run.ended != "running"][:MOST_RUNS]
    for run in runs:
        if not os.path.exists(store.journal(run.number)):
            continue
        with RunChanges([store.journal(run.number)]) as changes:
            for each in changes.paths:
                if each.path == path and each.after.kind == "file":
                    yield each.before.content, KnownVersion(each.after.content, f"after run {run.number}")


def known_to_model(store: Store, path: str) -> list[KnownVersion]:
    """Return the versions that a model knows, oldest first: those shown, and what its edits made of them.

    What a run made of a file that the user had changed is not among them.
    """
    known = shown(store, path)[0][::-1]
    try:
        changed = list(_changed_by_runs(store, path))[::-1] if known else []
    except (CladaError, OSError):
        return known
    for before, after in changed:
        if known[-1].content == before:
            known.append(after)
    return known


def committed(store: Store, path: str) -> Versions:
    """Return the versions in the last commits that changed the path, read by one process of git."""
    try:
        found = repository.find(store.workspace)
        git = hardened_git(found)
        log = git.call("log", f"-{MOST_COMMITS}", "--format=%H", "--", path, directory=found.workspace)
        commits = log.output.decode().split() if not log.code else []
        if not commits or "\n" in path:
            return [], False
        names = "".join(f"{commit}:{found.prefix}{path}\n" for commit in commits)
        output = git.check_output("cat-file", "--batch", stdin=os.fsencode(names))
    except (CladaError, OSError):
        return [], False
    contents = zip(commits, _batch(output), strict=False)
    versions = (
        KnownVersion(content, f"of commit {commit[:SHORT]}") for commit, content in contents if content
    )
    return _distinct(versions), False


def _batch(output: bytes) -> Iterator[bytes | None]:
    """Yield the objects that `git cat-file --batch` printed; None for one that is missing."""
    at = 0
    while at < len(output):
        end = output.find(b"\n", at)
        words = output[at:end].split()
        if len(words) == 3 and words[1] == b"blob":  # noqa: PLR2004 (name, type, size)
            size = int(words[2])
            yield output[end + 1 : end + 1 + size]
            at = end + size + 2
        elif words[-1:] == [b"missing"]:
            yield None
            at = end + 1
        else:
            return  # a directory, or what clada does not know


def _distinct(versions: Iterable[KnownVersion]) -> list[KnownVersion]:
    by_content: dict[bytes, KnownVersion] = {}
    for version in versions:
        by_content.setdefault(version.content, version)
    return list(by_content.values())
