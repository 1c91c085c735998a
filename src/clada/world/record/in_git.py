"""What git has of the files in a workspace: which ones, in which form, and which it ignores."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.world.git.commit import FEW, ignored_files, work_tree_status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clada.world.git.commit import WorkTreeStatus
    from clada.world.git.git import Git

# All but those without any of these attributes.
FILTERED = ":(top,exclude,attr:!filter !ident !working-tree-encoding)"
WITH_ANY = ":(top,exclude,attr:!filter !ident !working-tree-encoding !text !crlf !eol)"
CRLF = {"core.autocrlf=true", "core.eol=crlf"}  # what makes them so in the tree


def ignored_places(git: Git, prefix: str) -> frozenset[str]:
    """Return the files and directories in the workspace that git ignores."""
    return places(work_tree_status(git, prefix, ignored=True), prefix)


def places(found: WorkTreeStatus, prefix: str) -> frozenset[str]:
    """Return what a status has found to be ignored, by paths below the workspace."""
    return frozenset(path.removeprefix(prefix).rstrip("/") for path in found.ignored)


def not_looked_at(git: Git, prefix: str) -> set[str]:
    """Return the tracked files at whose content git does not look: marked to be skipped or left alone."""
    listed = os.fsdecode(git.check_output("ls-files", "-v", "-z", *_limit(prefix))).split("\0")[:-1]
    return {line[2:] for line in listed if line[0] == "S" or line[0].islower()}


def converted(git: Git, prefix: str, index: str, sizes: Mapping[str, int]) -> set[str]:
    """Return the tracked files whose bytes in the tree git could not give back.

    By a filter, they may be as many as in git. With other line endings they are not, so `sizes` tells: those
    of all files in the tree, by paths below the repository's root.
    """
    ends = _configured_ends(git)
    by_attributes = _with_attributes(git, prefix, WITH_ANY)
    found = _with_attributes(git, prefix, FILTERED) if by_attributes else set()
    if not ends and by_attributes == found:
        return found
    names = [(path, entry.split()[1]) for path, entry in entries(git, index).items() if path in sizes]
    stdin = "".join(f"{name}\n" for _path, name in names).encode()
    in_git = git.check_output("cat-file", "--batch-check=%(objectsize)", stdin=stdin).split(b"\n")
    others = [path for (path, _), size in zip(names, in_git, strict=False) if size != b"%d" % sizes[path]]
    return found.union(_not_given_back(git, others, crlf=bool(ends & CRLF)) if others else ())


def _configured_ends(git: Git) -> set[str]:
    """Return what the configuration says of line endings."""
    result = git.call("config", "-z", "--get-regexp", r"^core\.(autocrlf|eol)$")
    lines = result.output.decode("utf-8", "replace").lower().split("\0")
    return {line.replace("\n", "=") for line in lines} - {"", "core.autocrlf=false", "core.eol=lf"}


def _with_attributes(git: Git, prefix: str, which: str) -> set[str]:
    within = [f":(top,literal){prefix.rstrip('/')}"] if prefix else []
    listed = git.check_output("ls-files", "-z", "--", which, *within, GIT_LITERAL_PATHSPECS="0")
    return set(os.fsdecode(listed).split("\0")[:-1])


def _not_given_back(git: Git, paths: list[str], *, crlf: bool) -> set[str]:
    """Return those of these files that a checkout would give other line endings than they have."""
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
    """Return which of these new places are ignored."""
    try:
        return {path.removeprefix(prefix) for path in ignored_files(git, [prefix + path for path in paths])}
    except CladaError:
        return set()  # git refuses what is in a submodule, checked out or not


def entries(git: Git, index: str) -> dict[str, str]:
    """Return mode and object of each file in an index; an empty name stands for the user's own."""
    if index and not os.path.exists(index):
        return {}
    chosen = index or os.path.join(git.variables["GIT_DIR"], "index")
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", GIT_INDEX_FILE=chosen)).split("\0")[:-1]
    return {path: entry for entry, _, path in (line.partition("\t") for line in listed)}


def objects(git: Git, index: str, paths: list[str]) -> dict[str, str]:
    """Return the objects that an index has for these paths."""
    if not os.path.exists(index):
        return {}
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", *limit, GIT_INDEX_FILE=index))
    rows = (line.partition("\t") for line in listed.split("\0")[:-1])
    return {path: entry.split()[1] for entry, _, path in rows}


def contents(git: Git, pairs: list[tuple[str, str]], *, filters: bool) -> Iterator[bytes | None]:
    """Yield the contents of objects, as they are or as git would check them out; None for one it lacks."""
    if filters:  # git tells no sizes then, so it can be asked for one at a time only
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
