"""Which files of a workspace git has, with which content, and which it ignores."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.world.git.status import FEW, ignored_files, work_tree_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clada.world.git.git import Git
    from clada.world.git.status import WorkTreeStatus

# All but those without any of these attributes.
FILTERED = ":(top,exclude,attr:!filter !ident !working-tree-encoding)"
WITH_ANY = ":(top,exclude,attr:!filter !ident !working-tree-encoding !text !crlf !eol)"
CRLF = {"core.autocrlf=true", "core.eol=crlf"}  # what makes them so in the tree


def ignored_paths(git: Git, prefix: str) -> frozenset[str]:
    """Return the files and directories in the workspace that git ignores."""
    return ignored_in_status(work_tree_status(git, prefix, ignored=True), prefix)


def ignored_in_status(found: WorkTreeStatus, prefix: str) -> frozenset[str]:
    """Return the ignored paths of a status, below the workspace."""
    return frozenset(path.removeprefix(prefix).rstrip("/") for path in found.ignored)


def assumed_unchanged(git: Git, prefix: str) -> set[str]:
    """Return the tracked files that git does not compare: marked skip-worktree or assume-unchanged."""
    listed = os.fsdecode(git.check_output("ls-files", "-v", "-z", *_limit(prefix))).split("\0")[:-1]
    return {line[2:] for line in listed if line[0] == "S" or line[0].islower()}


def converted(git: Git, prefix: str, index: str, sizes: Mapping[str, int]) -> set[str]:
    """Return the tracked files whose bytes in the tree git could not restore.

    A filter may keep the size. Other line endings change it, so the sizes in git are compared with `sizes`:
    those of all files in the tree, by paths below the repository's root.
    """
    ends = _configured_ends(git)
    by_attributes = _with_attributes(git, prefix, WITH_ANY)
    found = _with_attributes(git, prefix, FILTERED) if by_attributes else set()
    if not ends and by_attributes == found:
        return found
    names = [(path, entry.split()[1]) for path, entry in entries(git, index).items() if path in sizes]
    stdin = "".join(f"{name}\n" for _path, name in names).encode()
    git_files = git.check_output("cat-file", "--batch-check=%(objectsize)", stdin=stdin).split(b"\n")
    others = [path for (path, _), size in zip(names, git_files, strict=False) if size != b"%d" % sizes[path]]
    return found.union(_not_given_back(git, others, crlf=bool(ends & CRLF)) if others else ())


def _configured_ends(git: Git) -> set[str]:
    """Return the settings for line endings in the configuration."""
    result = git.call("config", "-z", "--get-regexp", r"^core\.(autocrlf|eol)$")
    lines = result.output.decode("utf-8", "replace").lower().split("\0")
    return {line.replace("\n", "=") for line in lines} - {"", "core.autocrlf=false", "core.eol=lf"}


def _with_attributes(git: Git, prefix: str, which: str) -> set[str]:
    within = [f":(top,literal){prefix.rstrip('/')}"] if prefix else []
    listed = git.check_output("ls-files", "-z", "--", which, *within, GIT_LITERAL_PATHSPECS="0")
    return set(os.fsdecode(listed).split("\0")[:-1])


def _not_given_back(git: Git, paths: list[str], *, crlf: bool) -> set[str]:
    """Return those of these files that would get other line endings by a checkout."""
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "--eol", "-z", *limit)).split("\0")[:-1]
    rows = {path: fields for fields, _, path in (line.partition("\t") for line in listed)}
    found = set()
    for path in paths:
        words = rows.get(path, "").split()
        plain = words[:2] == ["i/lf", "w/crlf"] and ("eol=crlf" in words or (crlf and "eol=lf" not in words))
        if not plain:
            found.add(path)
    return found


def _limit(prefix: str) -> tuple[str, ...]:
    """Return the arguments that limit a git command to the workspace."""
    return ("--", prefix.rstrip("/")) if prefix else ()


def ignored(git: Git, prefix: str, paths: list[str]) -> set[str]:
    """Return which of these new paths are ignored."""
    try:
        return {path.removeprefix(prefix) for path in ignored_files(git, [prefix + path for path in paths])}
    except CladaError:
        return set()  # git refuses what is in a submodule, checked out or not


def entries(git: Git, index: str) -> dict[str, str]:
    """Return mode and object of each file in an index; an empty name means the user's own index."""
    if index and not os.path.exists(index):
        return {}
    chosen = index or os.path.join(git.variables["GIT_DIR"], "index")
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", GIT_INDEX_FILE=chosen)).split("\0")[:-1]
    return {path: entry for entry, _, path in (line.partition("\t") for line in listed)}


def objects(git: Git, index: str, paths: list[str]) -> dict[str, str]:
    """Return the objects of these paths in an index."""
    if not os.path.exists(index):
        return {}
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", *limit, GIT_INDEX_FILE=index))
    rows = (line.partition("\t") for line in listed.split("\0")[:-1])
    return {path: entry.split()[1] for entry, _, path in rows}


def contents(git: Git, pairs: list[tuple[str, str]], *, filters: bool) -> Iterator[bytes | None]:
    """Yield the contents of objects, raw or as git would check them out; None for a missing one."""
    if filters:  # git prints no sizes then, so each takes a call
        for name, path in pairs:
            result = git.call("cat-file", "--filters", f"--path={path}", name)
            yield result.output if result.code == 0 else None
        return
    stdin = "".join(f"{name}\n" for name, _path in pairs).encode()
    output, at = (git.check_output("cat-file", "--batch", stdin=stdin) if pairs else b""), 0
    for _ in pairs:
        words = output[at : output.find(b"\n", at)].split()
        at = output.find(b"\n", at) + 1
        if words[1:2] != [b"blob"]:
            yield None
            continue
        size = int(words[2])
        yield output[at : at + size]
        at += size + 1
