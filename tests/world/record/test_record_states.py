"""In every state of a repository, and outside of any, runs and undos leave to git what is git's.

With --record=snapshots, HEAD, refs, reflogs, stash and the bytes of the index are as they were, after a run,
one that fails, undo, redo, its undo, and that of an older run. The work tree is what a plain model says.
"""

from __future__ import annotations

import os
import re
import subprocess
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import REFUSED, STATES, files, git
from tools.plain_git import FSCK

from clada.errors import CladaError

if TYPE_CHECKING:
    from collections.abc import Callable

NO_REPOSITORY: dict[str, Callable[[Path], Path]] = {"no-repository": files}
LOOSE = re.compile("objects/[0-9a-f]{2}/[0-9a-f]{38}")
BY_COMMAND = "echo run >> b.txt; echo run > by-command.txt; mkdir made; rm dir/c.txt; chmod 600 dir/d.txt"


@cache
def git_directories(workspace: Path) -> tuple[str, ...]:
    """Return git's directory of the work tree, and that of all of them: none outside of a repository."""
    asked = ("--path-format=absolute", "--git-dir", "--git-common-dir")
    return tuple(git(workspace, "rev-parse", *asked, check=False).splitlines())


def facts(workspace: Path) -> dict[str, bytes]:
    """Return all that git has beside the work tree, by the bytes of its files."""
    found: dict[str, bytes] = {}
    for top in git_directories(workspace)[1:]:
        for folder, names, plain in os.walk(top):
            names[:] = [name for name in names if name != "clada"]
            for name in plain:
                found[os.path.relpath(os.path.join(folder, name), top)] = Path(folder, name).read_bytes()
    # A tree that git makes of a sparse index is no content of anybody's.
    return {path: data for path, data in found.items() if not (LOOSE.fullmatch(path) and is_tree(data))}


def is_tree(loose: bytes) -> bool:
    """Return whether an object, as it is in a file of its own, is a tree."""
    return zlib.decompressobj().decompress(loose, 5) == b"tree "


def model(tree: dict[str, tuple[object, ...]], *, failed: bool) -> dict[str, tuple[object, ...]]:
    """Return the tree after the run."""

    def content(path: str) -> bytes:
        data = tree[path][3]
        assert isinstance(data, bytes)
        return data

    mode = tree["a.txt"][1]
    result = {**tree, "a.txt": ("-", mode, {}, b"a, by the run\n"), "new/new.txt": ("-", 0o644, {}, b"new\n")}
    result["new"] = ("d", 0o755, {})
    if failed:
        return result
    result["b.txt"] = ("-", tree["b.txt"][1], {}, content("b.txt") + b"run\n")
    result["by-command.txt"] = ("-", 0o644, {}, b"run\n")
    result["made"] = ("d", 0o755, {})
    result["dir/d.txt"] = ("-", 0o600, {}, content("dir/d.txt"))
    del result["dir/c.txt"]
    return result


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", [*STATES, *NO_REPOSITORY])
def test_runs_and_undos_in_every_state(tmp_path: Path, name: str) -> None:
    """Work trees, nested repositories and what is outside of the workspace included."""
    place = Recorded((STATES | NO_REPOSITORY)[name](tmp_path / "repo"))
    around = Recorded(tmp_path)
    known, everything = facts(place.workspace), around.tree()
    before = place.tree()
    work = [write("a.txt", "a, by the run\n"), write("new/new.txt", "new\n")]

    place.run(*work, command(BY_COMMAND))
    after = place.tree()
    assert after == model(before, failed=False)
    place.undo()
    assert around.tree() == everything
    place.undo()
    assert place.tree() == after
    place.undo()
    assert around.tree() == everything

    report = place.attempt(*work, command("exit 3"), command(BY_COMMAND))
    assert [task.status for task in report.tasks] == ["success", "success", "error", "skipped"]
    assert place.tree() == model(before, failed=True)
    assert facts(place.workspace) == known

    place.run(write("later.txt", "later\n"), command("echo 2 > later2.txt"))
    place.undo(5)  # the one that failed
    assert {path for path in place.tree() if path not in before} == {"later.txt", "later2.txt"}
    place.undo(6)
    assert around.tree() == everything
    assert facts(place.workspace) == known
    assert place.history() == ["ok", "ok", "ok", "failed", "ok", "ok", "ok", "ok"]


# With commits besides.


def staged(workspace: Path) -> dict[str, str]:
    """Return what the index has in another way than HEAD: what the user staged, or took out."""
    head = git(workspace, "rev-parse", "-q", "--verify", "HEAD", check=False) or git(
        workspace, "hash-object", "-t", "tree", "/dev/null"
    )
    listed = git(
        workspace, "diff-index", "--cached", "--raw", "--no-renames", "--no-abbrev", head
    ).splitlines()
    return {
        path: f"{fields.split()[1]} {fields.split()[3]}"
        for fields, _, path in (each.partition("\t") for each in listed)
    }


def entries(workspace: Path) -> dict[str, str]:
    """Return what the index has of each file, with its flags."""
    listed = git(workspace, "ls-files", "-s", "-t", "-z").split("\0")[:-1]
    return {path: entry for entry, _, path in (each.partition("\t") for each in listed)}


def others(workspace: Path) -> dict[str, bytes]:
    """Return all refs but the branch that is checked out, and the stash, by the bytes of their files."""
    checked_out = Path(git_directories(workspace)[0], "HEAD").read_text().removeprefix("ref: ").strip()
    return {
        path: data
        for path, data in facts(workspace).items()
        if path.startswith(("refs/", "packed-refs", "logs/refs/stash")) and path != checked_out
    }


def newest(workspace: Path, number: int) -> list[tuple[str, str]]:
    """Return the last commits that HEAD has, the newest first, with their trees."""
    shown = git(workspace, "log", "--first-parent", f"-{number}", "--format=%H %T", check=False)
    return [(made, tree) for made, tree in (line.split() for line in shown.splitlines())]


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", [name for name in STATES if name not in REFUSED])
def test_runs_and_undos_with_commits_in_every_state(tmp_path: Path, name: str) -> None:
    """What is staged no commit has taken, history only grows, and HEAD has what it had before, or after."""
    place = Recorded(STATES[name](tmp_path / "repo"))
    around = Recorded(tmp_path)
    everything, before = around.tree(), place.tree()
    kept = {path: entries(place.workspace).get(path) for path in staged(place.workspace)}
    refs, heads = others(place.workspace), [made for made, _ in newest(place.workspace, 1)]
    work = [write("a.txt", "a, by the run\n"), write("new/new.txt", "new\n")]

    def check() -> tuple[dict[str, str], list[str]]:
        """Return what the index has, and the trees of HEAD and of the commit before."""
        index = entries(place.workspace)
        still = staged(place.workspace)
        assert {path: index.get(path) for path in still} == {path: kept.get(path) for path in still}
        assert others(place.workspace) == refs
        commits = newest(place.workspace, 2)
        heads.append(commits[0][0])
        return index, [tree for _, tree in commits]

    place.run(*work, command(BY_COMMAND), record="commits")
    after = place.tree()
    assert after == model(before, failed=False)
    _, (new, old) = check()
    indexes = []
    for expected in (everything, None, everything):  # undo, redo, and undo again
        undone = place.undo()
        assert undone.commit
        assert (around.tree() == expected) if expected else (place.tree() == after)
        index, (tree, _) = check()
        assert tree == (old if expected else new)
        indexes.append(index)
    assert indexes[0] == indexes[2]

    report = place.attempt(*work, command("exit 3"), command(BY_COMMAND), record="commits")
    assert [task.status for task in report.tasks] == ["success", "success", "error", "skipped"]
    assert place.tree() == model(before, failed=True)
    check()
    place.run(write("later.txt", "later\n"), record="commits")
    place.undo(5)  # the one that failed
    assert {path for path in place.tree() if path not in before} == {"later.txt"}
    check()
    place.undo(6)
    assert around.tree() == everything
    assert check() == (indexes[0], [old, mock.ANY])
    line = git(place.workspace, "rev-list", "--first-parent", "HEAD").splitlines()
    assert [made for made in line if made in heads] == list(dict.fromkeys(reversed(heads)))
    assert git(place.workspace, *FSCK) == ""  # of all objects there ever were, for none is ever removed
    assert place.history() == ["ok", "ok", "ok", "failed", "ok", "ok", "ok", "ok"]


# In some states, one file is unlike all others: a run that touches that one is undone as well.
SPECIAL = {
    "sparse": "away/far.txt",
    "sparse-index": "away/deep/er.txt",
    "autocrlf": "windows.txt",
    "text-auto": "mixed.txt",
    "skip-worktree": "absent.cfg",
    "assume-unchanged": "local.cfg",
    "secrets": ".env",
    "submodule": "lib/lib.txt",
    "ignored": "debug.log",
}
OUT_OF_SIGHT = ("submodule",)  # of commands


def removed(workspace: Path, since: str) -> str:
    """Return the files that were removed on the branch."""
    return git(workspace, "log", "--diff-filter=D", "--name-only", "--format=", f"{since}..HEAD")


@pytest.mark.sample(6)
@pytest.mark.parametrize("record", ["commits", "snapshots"])
@pytest.mark.parametrize("name", SPECIAL)
def test_the_one_file_that_is_unlike_the_others(tmp_path: Path, name: str, record: str) -> None:
    """It is put back, git has it as before, and no later commit removes what is merely not checked out."""
    place, path = Recorded(STATES[name](tmp_path / "repo")), SPECIAL[name]
    place.run(write("a.txt", "first\n"), record=record)  # what was there is committed, if it ever is
    known, before = entries(place.workspace), place.tree()
    start = git(place.workspace, "rev-parse", "HEAD")
    folder = os.path.dirname(path) or "."
    tasks = [write(path, "by the run\n")]
    if name not in OUT_OF_SIGHT:
        tasks.append(command(f"mkdir -p {folder}; echo command >> {path}"))
    for task in tasks:
        place.run(task, record=record)
        git(place.workspace, "status")  # which writes into the index what git has seen
        after = place.tree()
        for expected in (before, after, before):  # undo, redo, and undo again
            place.undo()
            assert place.tree() == expected
            git(place.workspace, "status")
        assert entries(place.workspace) == known
    place.run(write("a.txt", "second\n"), record="commits")
    now = entries(place.workspace)
    assert {path: entry[0] for path, entry in known.items()} == {path: now[path][0] for path in known}
    assert removed(place.workspace, start) == ""


def test_what_is_gone_outside_of_a_sparse_checkout_is_not_removed_by_a_commit(tmp_path: Path) -> None:
    """Git itself would not: what is gone within it is, and the rest is named."""
    place = Recorded(STATES["sparse"](tmp_path / "repo"))
    place.write("away/far.txt", "looked at\n")
    git(place.workspace, "update-index", "--no-skip-worktree", "away/far.txt")  # as git does when it sees it
    (place.workspace / "away/far.txt").unlink()
    (place.workspace / "dir/d.txt").unlink()
    start = git(place.workspace, "rev-parse", "HEAD")
    report = place.run(write("a.txt", "new\n"), record="commits")
    assert removed(place.workspace, start) == "dir/d.txt"
    assert "outside of the sparse checkout, and not removed: away/far.txt" in report.notes


def test_marks_stay_where_something_is_staged(tmp_path: Path) -> None:
    """The user's index is brought along then, entry by entry."""
    place = Recorded(STATES["skip-worktree"](tmp_path / "repo"))
    place.write("b.txt", "staged\n")
    git(place.workspace, "add", "b.txt")
    known = entries(place.workspace)
    place.run(write("local.cfg", "by the run\n"), write("a.txt", "new\n"), record="commits")
    assert entries(place.workspace)["local.cfg"] == known["local.cfg"]


@pytest.mark.parametrize("name", ["merge", "rebase", "bisect", "stash-conflict"])
def test_an_undo_with_commits_is_refused_in_the_states_in_which_its_run_would_be(
    tmp_path: Path, name: str
) -> None:
    """Nothing has changed then, and by snapshots it is undone all the same: HEAD, refs and index stay."""
    place = Recorded(STATES["clean"](tmp_path / "repo"))
    place.run(write("a.txt", "a, by the run\n"), record="commits")
    subprocess.run(["sh", "-c", IN_PROGRESS[name]], cwd=place.workspace, check=False, capture_output=True)
    before, known = place.tree(), facts(place.workspace)
    with pytest.raises(CladaError, match=REFUSED[name]):
        place.undo()
    assert (place.tree(), facts(place.workspace)) == (before, known)
    place.undo(record="snapshots")
    assert place.tree() == {**before, "a.txt": (*before["a.txt"][:3], b"a\n")}
    assert facts(place.workspace) == known


# What a user does after a run, until it stops at a conflict, or goes on later.
SIDE = """
    git checkout -q -b side && echo side > b.txt && git commit -q -a -m side
    git checkout -q main && echo main > b.txt && git commit -q -a -m main
    """
IN_PROGRESS = {
    "merge": f"{SIDE} git merge side",
    "rebase": f"{SIDE} git rebase side",
    "bisect": "git bisect start",
    "stash-conflict": "echo 1 > b.txt; git stash -q; echo 2 > b.txt; git commit -q -a -m main; git stash pop",
}


@pytest.mark.parametrize("configured", ["text=auto", "autocrlf"])
def test_a_command_that_changes_other_line_endings_than_gits(tmp_path: Path, configured: str) -> None:
    """The commit after the run has the change, and undo the bytes."""
    place = Recorded(STATES["text-auto"](tmp_path / "repo"))
    if configured == "autocrlf":
        git(place.workspace, "config", "core.autocrlf", "input")
        git(place.workspace, "rm", "-q", ".gitattributes")
        git(place.workspace, "commit", "-q", "-m", "by configuration")
    before = place.tree()
    place.run(
        command("echo three >> windows.txt; echo three >> mixed.txt; echo b2 > b.txt"), record="commits"
    )
    changed = git(place.workspace, "show", "--name-only", "--format=", "HEAD").split("\n")
    assert changed == ["b.txt", "mixed.txt", "windows.txt"]
    place.undo()
    assert place.tree() == before


def test_an_undo_whose_commit_is_gone_says_that_it_makes_none(repo: Recorded) -> None:
    """Squashed by hand, and collected: what was put back is in the tree."""
    repo.run(write("a.txt", "new\n"), record="commits")
    made = git(repo.workspace, "rev-parse", "--short=7", "HEAD")
    git(repo.workspace, "reset", "-q", "--soft", "HEAD~1")
    git(repo.workspace, "commit", "-q", "-m", "squashed")
    git(repo.workspace, "reflog", "expire", "--expire=all", "--all")
    git(repo.workspace, "gc", "-q", "--prune=now")
    undone = repo.undo()
    assert undone.commit is None
    assert f"not committed, as what the run had committed is gone from git: {made}" in undone.notes
    assert (repo.workspace / "a.txt").read_text() == "a\n"
