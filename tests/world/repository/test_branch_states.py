"""In every state of a repository, the commits of a run hold what git itself would commit, and all else stays.

What is expected is said by a plain model that asks plain git, before and after, and knows nothing of how
clada does it.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.world.repository.states import REFUSED, STATES, git, write
from tools.plain_git import FSCK

import clada
from clada.errors import CladaError
from clada.world.git.branch import BranchCommits
from clada.world.git.repository import find, suggest_no_git
from clada.world.git.select import PlannedRun

NONE = ("000000", "0")
SECRET = re.compile(r"(^|/)(\.env|id_ed25519|prod\.tfvars|credentials|large\.bin)$")
TOUCHED = ("a.txt", "new.txt", "dir/c.txt")
PLANNED = ("a.txt", "new.txt")

Entry = tuple[str, str]


class Facts(NamedTuple):
    """What plain git says of a repository, and what is in the tree."""

    head: str
    branch: str
    refs: str
    stash: str
    committed: dict[str, Entry]
    entries: dict[str, Entry]  # of the index
    flags: dict[str, str]
    announced: frozenset[str]
    tree: dict[str, tuple[int, bytes]]


def facts(workspace: Path) -> Facts:
    """Look at everything, without changing it."""
    os.environ["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        root, git_dir, common = (Path(path) for path in _places(workspace))
        branch, stash = (git_dir / "HEAD").read_text().strip(), common / "logs/refs/stash"
        lines = git(root, "show-ref", "--head", check=False).splitlines()
        head = lines[0].split()[0] if lines and lines[0].endswith(" HEAD") else ""
        name = branch.removeprefix("ref: ")
        entries, flags = _index(root)
        return Facts(
            head,
            name if name != branch else "",
            "\n".join(line for line in lines if line.split()[1] not in {"HEAD", name}),
            stash.read_text() if stash.exists() else "",
            _listed(git(root, "ls-tree", "-r", "-z", head)) if head else {},
            entries,
            flags,
            _announced(root),
            _tree(root),
        )
    finally:
        del os.environ["GIT_OPTIONAL_LOCKS"]


@cache
def _places(workspace: Path) -> list[str]:
    """Return the top of the work tree, git's directory of it, and that of all work trees."""
    asked = ("--show-toplevel", "--git-dir", "--git-common-dir")
    return git(workspace, "rev-parse", "--path-format=absolute", *asked).splitlines()


def _index(root: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the entries of the index, and their flags."""
    lines = [line for line in git(root, "ls-files", "-s", "-v", "-z").split("\0") if line]
    flags = {line.partition("\t")[2]: line[0] for line in lines}
    return _listed("\0".join(line[2:] for line in lines)), flags


def _listed(text: str) -> dict[str, Entry]:
    lines = [line.partition("\t") for line in text.split("\0") if line]
    return {path: (fields[:6], re.findall(r"[0-9a-f]{40}", fields)[0]) for fields, _, path in lines}


def _announced(root: Path) -> frozenset[str]:
    """Return what `git add -N` announced: flagged so in the index, which git shows for debugging."""
    text = git(root, "-c", "core.quotePath=false", "ls-files", "--debug")
    entries = re.findall(r"^(\S.*)\n(?:  .*\n){4}  size: \d+\tflags: ([0-9a-f]+)", text + "\n", re.MULTILINE)
    return frozenset(path for path, flags in entries if int(flags, 16) & (1 << 29))


def _tree(root: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        for name in (*files, *(each for each in names if os.path.islink(os.path.join(directory, each)))):
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode
            content = os.readlink(path).encode() if os.path.islink(path) else Path(path).read_bytes()
            found[os.path.relpath(path, root)] = (mode, content)
    return found


def in_tree(root: Path, paths: list[str]) -> dict[str, Entry]:
    """Return the entries that git itself would make of files in the tree, by one start of it."""
    modes, links = {}, {}
    for path in paths:
        place = root / path
        if place.is_symlink():
            links[path] = os.readlink(place)
        elif place.is_file():
            modes[path] = "100755" if place.stat().st_mode & 0o111 else "100644"
    hashed = git(root, "hash-object", "--", *modes).splitlines() if modes else []
    found = {path: (mode, made) for (path, mode), made in zip(modes.items(), hashed, strict=True)}
    for path, target in links.items():
        (root.parent / "link-text").write_text(target)
        found[path] = "120000", git(root, "hash-object", "--no-filters", str(root.parent / "link-text"))
    return found


def expected(before: Facts, root: Path, prefix: str, paths: set[str] | None) -> dict[str, Entry]:
    """Return what a commit of the workspace, or of these paths, holds after `before`."""
    untracked = git(root, "ls-files", "-o", "-z", "--exclude-standard").split("\0")
    wanted = {*before.committed, *before.entries, *untracked} - {""}
    result = dict(before.committed)
    looked_at = [
        path
        for path in wanted
        if path.startswith(prefix) and not path.endswith("/") and (paths is None or path in paths)
    ]
    made = in_tree(root, looked_at)
    for path in looked_at:
        old = before.committed.get(path, NONE)
        entry = made.get(path, NONE)
        if (
            before.flags.get(path, "H") != "H"
            or "160000" in {old[0], before.entries.get(path, NONE)[0]}
            or path in before.announced
            or (path in before.committed and path not in before.entries and entry != NONE)
            or (path not in before.entries and path not in before.committed and SECRET.search(path))
        ):
            continue
        if entry == NONE:
            result.pop(path, None)
        else:
            result[path] = entry
    return result


def staged(before: Facts) -> set[str]:
    """Return the paths that are staged, taken out or announced."""
    paths = {*before.committed, *before.entries}
    return {path for path in paths if before.committed.get(path) != before.entries.get(path)}


def run(workspace: Path, *, failed: bool) -> list[str]:
    """Do what a run does; one that fails stops half way."""
    write(workspace, "a.txt", "a, by the run\n")
    if failed:
        return ["a.txt"]
    write(workspace, "new.txt", "new\n")
    (workspace / "dir/c.txt").unlink()
    return list(TOUCHED)


@pytest.mark.sample(16)
@pytest.mark.parametrize("failed", [False, True], ids=["run", "failed-run"])
@pytest.mark.parametrize("name", [name for name in STATES if name not in REFUSED])
def test_the_commits_of_a_run(tmp_path: Path, name: str, failed: bool) -> None:
    """HEAD, refs, index, staged content, stash and tree are what the model says."""
    workspace = STATES[name](tmp_path / "repo")
    root = Path(_places(workspace)[0])
    prefix = f"{workspace.relative_to(root)}/" if workspace != root else ""
    first = facts(workspace)
    record = BranchCommits(find(str(workspace)), "clada")
    wanted = expected(first, root, prefix, None)
    pre = record.before(PlannedRun(PLANNED, wide=False, consent=None))
    between = facts(workspace)
    assert between.committed == wanted
    assert (pre is None) == (wanted == first.committed)
    assert between.tree == first.tree

    touched = run(workspace, failed=failed)
    changed = _tree(root)
    wanted = expected(between, root, prefix, {prefix + path for path in touched})
    post = record.after(touched, run=1)
    last = facts(workspace)
    assert last.committed == wanted
    assert post == last.head
    assert (last.tree, last.refs, last.stash, last.branch) == (
        changed,
        first.refs,
        first.stash,
        first.branch,
    )
    assert git(root, "rev-list", "--count", f"{first.head}..HEAD" if first.head else "HEAD") == str(
        2 if pre else 1
    )

    assert last.announced == first.announced
    assert {path: flag for path, flag in last.flags.items() if flag != "H"} == {
        path: flag for path, flag in first.flags.items() if flag != "H"
    }
    committed = {
        path
        for path in {*last.committed, *first.committed}
        if last.committed.get(path) != first.committed.get(path)
    }
    kept = staged(first) - committed
    for path in committed:
        assert last.entries.get(path) == last.committed.get(path), path
    for path in {*first.entries, *last.entries} - committed:
        assert last.entries.get(path) == first.entries.get(path), path
    _status_is_clean_but_for(root, {*kept, *(path for path in first.tree if SECRET.search(path))}, prefix)
    assert git(root, *FSCK) == ""
    assert os.listdir(f"{find(str(workspace)).git_dir}/clada") == []


def _status_is_clean_but_for(root: Path, others: set[str], prefix: str) -> None:
    shown = git(
        root, "status", "--porcelain", "-z", "-uall", "--no-renames", "--ignore-submodules=all"
    ).split("\0")
    paths = {line[3:] for line in shown if line[3:].startswith(prefix)}
    assert paths - others - {""} == set()


@pytest.mark.parametrize("name", REFUSED)
def test_a_plan_is_refused_as_its_run_is(tmp_path: Path, name: str) -> None:
    """In the same words, and nothing is touched: no file of the git directory has another content or time."""
    workspace = STATES[name](tmp_path / "repo")
    top = Path(git(workspace, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    paths = [top, *top.rglob("*"), *workspace.rglob("*")]
    before = {path: (path.lstat().st_ctime_ns, path.lstat().st_size) for path in paths}
    document = json.dumps({"tasks": [{"action": "write", "path": path, "content": "x"} for path in PLANNED]})
    planned = clada.execute(document, workspace=str(workspace), dry_run=True)
    assert {path: (path.lstat().st_ctime_ns, path.lstat().st_size) for path in before} == before
    assert len([top, *top.rglob("*"), *workspace.rglob("*")]) == len(paths)
    assert planned.fatal == clada.execute(document, workspace=str(workspace)).fatal
    assert planned.fatal is not None
    assert REFUSED[name] in planned.fatal.message


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_run_has_changed_nothing(tmp_path: Path, name: str) -> None:
    """It is said why, and that --record=snapshots works; the index is the same, to the byte."""
    workspace = STATES[name](tmp_path / "repo")
    index = Path(git(workspace, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    before, content = facts(workspace), index.read_bytes()
    with pytest.raises(CladaError, match=REFUSED[name]) as caught, suggest_no_git():
        BranchCommits(find(str(workspace)), "clada").before(PlannedRun(PLANNED, wide=True, consent=None))
    assert caught.value.error.type == "git_operation_failed"
    assert "--record=snapshots" in str(caught.value.error.hint)
    assert facts(workspace) == before
    assert index.read_bytes() == content
