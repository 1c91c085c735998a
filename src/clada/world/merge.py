"""Earlier versions of a file, and three-way merges: a change to one version is carried over to another.

Versions were shown to a model, left by runs of clada, or are those of the last commits. `git merge-file`
merges where git is installed, else the package merge3 (clada[merge]). Both merge by lines.
"""

from __future__ import annotations

import os
import tempfile
import time

from clada.errors import CladaError
from clada.text.diff import split_lines
from clada.values import Value
from clada.world.git import repository
from clada.world.git.commit import SHORT_HASH
from clada.world.git.git import hardened_git
from clada.world.git.harden import environment
from clada.world.processes.run import capture
from clada.world.record import history, seen
from clada.world.record.tree_diff import RunChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clada.world.record.store import Store

MOST_RUNS, MOST_COMMITS = 50, 50


class KnownVersion(Value):
    """A version of a file, and which it is: `of 10:32`, `after run 3`, `of commit 1a2b3c4`."""

    content: bytes
    label: str


Versions = tuple[list[KnownVersion], bool]  # newest first, and whether some are known and gone


def shown_versions(store: Store, path: str) -> Versions:
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


def versions_left_by_runs(store: Store, path: str) -> Versions:
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
    known = shown_versions(store, path)[0][::-1]
    try:
        changed = list(_changed_by_runs(store, path))[::-1] if known else []
    except (CladaError, OSError):
        return known
    for before, after in changed:
        if known[-1].content == before:
            known.append(after)
    return known


def committed_versions(store: Store, path: str) -> Versions:
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
        KnownVersion(content, f"of commit {commit[:SHORT_HASH]}") for commit, content in contents if content
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


# Merging.

NAMES = ("the file now", "what the model saw", "the answer")
MOST_CONFLICTS = 127  # what the exit code of git merge-file can say; above it are errors


class Merged(Value):
    """What came of a merge; with conflicts, the text has markers and is never written."""

    content: bytes
    conflicts: int


def merge(base: bytes, now: bytes, answer: bytes, workspace: str) -> Merged | None:
    """Return `now` with the changes from `base` to `answer`; None where nothing can merge."""
    if base == now:
        return Merged(answer, 0)
    try:
        program = repository.git_program(workspace)
    except CladaError:
        return _merge_without_git(base, now, answer)
    with tempfile.TemporaryDirectory(prefix="clada-") as folder:
        paths = [os.path.join(folder, name) for name in ("now", "base", "answer")]
        for path, data in zip(paths, (now, base, answer), strict=True):
            with open(path, "wb") as file:
                file.write(data)
        labels = [word for name in NAMES for word in ("-L", name)]
        outside = {**environment(os.environ, workspace), "GIT_DIR": folder}  # no repository's configuration
        done = capture([program, "merge-file", "-p", "-q", *labels, *paths], outside)
    return Merged(done.output, done.code) if 0 <= done.code <= MOST_CONFLICTS else None


def _merge_without_git(base: bytes, now: bytes, answer: bytes) -> Merged | None:
    try:
        from merge3 import Merge3  # optional
    except ImportError:
        return None
    merged = Merge3(split_lines(base), split_lines(now), split_lines(answer))
    conflicts = sum(region[0] == "conflict" for region in merged.merge_regions())
    lines = merged.merge_lines(name_a=NAMES[0].encode(), name_b=NAMES[2].encode())
    return Merged(b"".join(lines), conflicts)
