"""What git ignores: kept off the branch when an answer changes what that is, and kept for undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import commit, git

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(repo: Recorded) -> Recorded:
    """Make a repository in which files, and a directory, are ignored."""
    repo.write(".gitignore", "private/\nlocal.txt\n.env\n")
    repo.write("dir/.gitignore", "x\n")
    commit(repo.workspace)
    for path in ("private/a", "local.txt", "dir/x"):
        repo.write(path, "mine\n")
    return repo


def on_the_branch(workspace: Path) -> set[str]:
    """Return all that any commit has touched."""
    return set(git(workspace, "log", "--name-only", "--format=").split("\n"))


# What an answer does to what is ignored, and what is not ignored any more then.
CHANGES = {
    "write": (write(".gitignore", "*.o\n"), "local.txt, private"),
    "move": ({"action": "move", "from": "dir/.gitignore", "to": "ignoring"}, "dir/x"),
    "move-of-ignored": ({"action": "move", "from": "private/a", "to": "public"}, "public"),
    "command": (command("rm .gitignore; true"), "local.txt, private"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_ignored_before_a_run_stays_off_the_branch_in_the_next(place: Recorded, name: str) -> None:
    """It is named at once, kept out until it is ignored again, and taken in where that is asked for."""
    task, names = CHANGES[name]
    left = "left untracked, as git ignored them before an earlier run (--commit-all takes them in): "
    known = on_the_branch(place.workspace)
    report = place.run(task, record="commits")
    assert (
        f"no longer ignored by git, and left untracked (--commit-all takes them in): {names}" in report.notes
    )
    report = place.run(write("a.txt", "next\n"), record="commits")
    assert [note for note in report.notes if note.startswith(left)]
    touched = {"a.txt", ".gitignore", "dir/.gitignore", "ignoring"}
    assert on_the_branch(place.workspace) <= known | touched
    place.undo(1)
    place.run(write("a.txt", "again\n"), record="commits")
    assert place.run(write("a.txt", "over\n"), record="commits").notes == ()
    assert on_the_branch(place.workspace) <= known | touched
    place.run(task, record="commits")
    place.run(write("a.txt", "all\n"), record="commits", commit_all=True)
    assert on_the_branch(place.workspace) & {"local.txt", "private/a", "dir/x", "public"}
    assert place.run(write("a.txt", "end\n"), record="commits").notes == ()


def test_after_snapshots_it_stays_off_the_branch_too(place: Recorded) -> None:
    """The next run may make commits."""
    known = on_the_branch(place.workspace)
    place.run(write(".gitignore", "*.o\n"))
    place.run(write("a.txt", "next\n"), record="commits")
    assert on_the_branch(place.workspace) == known


def test_a_new_file_beside_ignored_ones_is_seen(place: Recorded) -> None:
    """Where a directory has nothing but ignored files, git may list it as one."""
    place.write(".gitignore", "only/ignored\n")
    place.write("only/ignored")
    place.run(command("echo new > only/new.txt; true"))
    place.undo()
    assert "only/new.txt" not in place.tree()
