"""What git ignores: kept off the branch when an answer changes what that is, and kept for undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import commit, git

from clada.errors import CladaError
from clada.world.record.scan import MOST_SEPARATE

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


# What commands do to it.


def test_ignored_files_that_a_command_changes_come_back(place: Recorded) -> None:
    """Those that it made go; and it is this run that is undone, not the one before it."""
    place.write(".env", "secret\n", 0o600)
    place.run(write("a.txt", "first\n"))
    before = place.tree()
    place.run(command("rm .env; echo new > local.txt; echo made > dir/x.new; mkdir -p dir/y; true"))
    after = place.tree()
    assert place.undo().run.number == 2
    assert place.tree() == before
    place.undo()
    assert place.tree() == after


def test_an_ignored_file_that_was_written_since_is_left(place: Recorded) -> None:
    """Logs and the like are: the rest is undone all the same."""
    place.run(command("echo run > local.txt; echo run > a.txt"))
    place.write("local.txt", "later\n")
    undone = place.undo()
    assert undone.restored == ("a.txt",)
    assert "left, because these ignored files or caches were changed since the run: local.txt" in undone.notes
    assert (place.workspace / "local.txt").read_text() == "later\n"


# What a command changes, and what is named, for undo cannot bring it back.
LOST = {
    "ignored-directory": ("echo new > private/a; true", "private"),
    "nested-repository": ("rm nested/file; true", "nested"),
    "large-untracked": ("rm large; true", "large"),
    "large-ignored": ("echo > .env; true", ".env"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_cannot_be_undone_is_named_and_no_other_run_undone_for_it(place: Recorded, name: str) -> None:
    """Undo says so, and how to undo the run before."""
    text, lost = LOST[name]
    git(place.workspace, "init", "-q", "nested")
    place.write("nested/file")
    place.write("large", b"l" * (2 << 20))
    with open(place.workspace / ".env", "wb") as file:
        file.truncate(17 << 20)
    place.run(write("a.txt", "first\n"))
    report = place.run(command(text), snapshot_limit=1 << 20)
    remedy = "--snapshot-limit=2MB keeps them"
    assert report.notes == (
        f"too large to be kept for undo, should a command change them: large ({remedy})",
        f"undo cannot bring back what commands changed here: {lost}",
    )
    with pytest.raises(
        CladaError, match=f"run 2 changed nothing that could be undone; not restored: {lost}"
    ) as raised:
        place.undo()
    assert raised.value.error.hint == "clada undo 1"
    place.undo(1)
    assert (place.workspace / "a.txt").read_text() == "a\n"


def test_caches_and_what_is_new_in_ignored_directories_are_not_lost(place: Recorded) -> None:
    """Tests and builds write there all the time."""
    place.write(".gitignore", "private/\n__pycache__/\n.cache/\n")
    place.write("dir/__pycache__/x.pyc")
    place.write(".cache/CACHEDIR.TAG")
    place.write(".cache/x")
    place.run(write("a.txt", "first\n"))
    report = place.run(command("echo > private/new; echo > .cache/x; echo > dir/__pycache__/x.pyc; true"))
    assert report.notes == ()
    assert place.undo().run.number == 1


@pytest.mark.slow
def test_a_very_large_ignored_directory_is_looked_at_by_its_own_time(place: Recorded) -> None:
    """However many files are in it, two scans do not take longer."""
    for number in range(MOST_SEPARATE + 2):
        (place.workspace / f"private/{number}").touch()
    report = place.run(command("rm private/7; true"))
    assert report.notes == ("undo cannot bring back what commands changed here: private",)
    assert place.run(command("true")).notes == ()
