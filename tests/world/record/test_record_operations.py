"""Whatever operations and built-in commands do to the tree, undo takes back, and redo does again."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.record.conftest import command, write
from tests.world.repository.states import ROT13, git

import clada

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world.record.conftest import Recorded

MOVE = {"action": "move"}
LARGE = (
    "too large to be kept for undo, should a command change them: large.bin (--snapshot-limit=2MB keeps them)"
)

# What a run does, as tasks, by name.
OPERATIONS: dict[str, list[dict[str, Any]]] = {
    "create": [write("new.txt", "new\n")],
    "create in new directories": [write("x/y/z/new.txt", "new\n")],
    "overwrite": [write("a.txt", "other\n")],
    "overwrite twice": [write("a.txt", "other\n"), write("b.txt", "between\n"), write("a.txt", "third\n")],
    "overwrite a private file": [write("private.txt", "other\n")],
    "overwrite a program": [write("program", "#!/bin/false\n")],
    "append": [{**write("a.txt", "more\n"), "append": True}],
    "append to a private file": [{**write("private.txt", "more\n"), "append": True}],
    "append twice": [{**write("a.txt", "more\n"), "append": True}] * 2,
    "append to none": [{**write("none.txt", "more\n"), "append": True}],
    "edit": [{"action": "edit", "path": "a.txt", "find": "a", "replace": "b"}],
    "edit a private file": [{"action": "edit", "path": "private.txt", "find": "private", "replace": "ours"}],
    "move a file": [{**MOVE, "from": "a.txt", "to": "moved.txt"}],
    "move a file over another": [{**MOVE, "from": "private.txt", "to": "b.txt"}],
    "move a file into a directory": [{**MOVE, "from": "a.txt", "to": "dir"}],
    "move a link": [{**MOVE, "from": "link", "to": "dir/moved"}],
    "move a directory": [{**MOVE, "from": "dir", "to": "moved/there"}],
    "move a directory into another": [{**MOVE, "from": "dir", "to": "empty"}],
    "move and move on": [{**MOVE, "from": "dir", "to": "x"}, {**MOVE, "from": "x", "to": "y"}],
    "move and write": [
        {**MOVE, "from": "dir", "to": "x"},
        write("x/c.txt", "new\n"),
        write("dir/c.txt", "again\n"),
    ],
    "swap": [
        {**MOVE, "from": "a.txt", "to": "x"},
        {**MOVE, "from": "b.txt", "to": "a.txt"},
        {**MOVE, "from": "x", "to": "b.txt"},
    ],
    "remove a file": [{"action": "remove", "path": "private.txt"}],
    "remove a link": [{"action": "remove", "path": "link"}],
    "remove a link that leads nowhere": [{"action": "remove", "path": "dangling"}],
    "remove a directory": [{"action": "remove", "path": "dir"}],
    "remove an empty directory": [{"action": "remove", "path": "empty"}],
    "remove and write": [{"action": "remove", "path": "dir"}, write("dir", "a file now\n")],
    "write and remove": [write("x/y", "new\n"), {"action": "remove", "path": "x"}, write("z", "left\n")],
    "mv": [command("mv a.txt b.txt")],
    "mv a directory": [command("mv dir moved")],
    "rm": [command("rm a.txt link")],
    "rm -r": [command("rm -r dir empty")],
    "cp": [command("cp private.txt b.txt")],
    "cp -r": [command("cp -r dir/deep copy")],
    "mkdir -p": [command("mkdir -p x/y/z")],
    "mkdir": [command("mkdir x")],
    "touch": [command("touch new.txt")],
    "chmod": [command("chmod 600 a.txt")],
    "chmod +x": [command("chmod +x a.txt")],
    "chmod of a directory": [command("chmod 700 dir")],
    "chmod -R": [command("chmod -R go-rwx dir")],
    "write and chmod": [write("a.txt", "other\n"), command("chmod 640 a.txt"), write("a.txt", "third\n")],
    "odd names": [write("tab\there", "1"), write("back\\slash", "2"), write("ä", "3"), write("@1+2", "4")],
    "ignored": [write("build/out.o", "new\n"), {"action": "remove", "path": "debug.log"}],
}  # fmt: skip

# What commands do to a tree, in the words of a shell.
COMMANDS = {
    "create": "echo new > new.txt",
    "create directories": "mkdir -p x/y && echo new > x/y/new.txt && mkdir x/empty",
    "change": "echo changed > a.txt; echo changed > untracked.txt",
    "change to the same size": "printf 'A\\n' > a.txt; printf 'OLD\\n' > untracked.txt",
    "append": "echo more >> a.txt; echo more >> private.txt",
    "change a private file": "echo changed > private.txt",
    "replace": "echo new > x && mv x a.txt",
    "chmod": "chmod 600 a.txt; chmod 755 b.txt; chmod 644 private.txt",
    "chmod of a directory": "chmod 700 dir",
    "delete": "rm a.txt untracked.txt private.txt link",
    "delete directories": "rm -r dir empty",
    "replace a file by a link": "rm a.txt private.txt && ln -s b.txt a.txt && ln -s nowhere private.txt",
    "replace a link by a file": "rm link && echo new > link",
    "turn a link": "ln -sfn dir link",
    "replace a file by a directory": "rm a.txt && mkdir a.txt && echo new > a.txt/a.txt",
    "replace a directory by a file": "rm -r dir && echo new > dir",
    "replace a directory by a link": "rm -r dir && ln -s empty dir",
    "rename": "mv private.txt renamed.txt",
    "rename a directory": "mv dir renamed",
    "swap directories": "mv dir x && mv empty dir && mv x empty",
    "close a file": "chmod 000 a.txt",
}


def furnish(place: Recorded) -> None:
    """Add to a workspace what makes undoing harder."""
    place.write("private.txt", "private\n", 0o600)
    place.write("program", "#!/bin/sh\n", 0o755)
    place.write("untracked.txt", "old\n")
    place.write("dir/program", "#!/bin/sh\n", 0o755)
    place.write("dir/deep/private", "private\n", 0o600)
    (place.workspace / "dir/link").symlink_to("../a.txt")
    (place.workspace / "dir/empty").mkdir(mode=0o750)
    (place.workspace / "link").symlink_to("a.txt")
    (place.workspace / "dangling").symlink_to("/no/where")
    (place.workspace / "empty").mkdir()
    if (place.workspace / ".git").exists():
        place.write(".git/info/exclude", "*.log\nbuild/\n")
    place.write("debug.log", "ignored\n")
    place.write("build/out.o", "ignored\n")


def undo_and_redo(place: Recorded, *tasks: dict[str, Any]) -> None:
    """Run, and go to and fro between the trees before and after it."""
    furnish(place)
    before = place.tree()
    place.run(*tasks)
    after = place.tree()
    assert after != before
    place.undo()
    assert place.tree() == before
    place.undo()
    assert place.tree() == after
    place.undo()
    assert place.tree() == before


@pytest.mark.sample(40)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_undone_and_redone(place: Recorded, name: str) -> None:
    """Bytes, modes, links and empty directories are as they were."""
    undo_and_redo(place, *OPERATIONS[name])


@pytest.mark.sample(16)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_undone_and_redone(place: Recorded, name: str) -> None:
    """So is what other programs did."""
    undo_and_redo(place, command(COMMANDS[name]))


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", COMMANDS)
def test_operations_and_commands_together(repo: Recorded, name: str) -> None:
    """Whoever came first: what was there before both comes back."""
    first = [write("a.txt", "by an operation\n"), write("dir/new.txt", "new\n"), command("chmod 640 b.txt")]
    undo_and_redo(repo, *first, command(COMMANDS[name]), write("b.txt", "by an operation\n"))


def test_a_pipe_that_a_command_made_goes_and_one_that_went_is_named(place: Recorded) -> None:
    """What it was cannot be told by bytes."""
    before = place.tree()
    place.run(command("mkfifo pipe"))
    place.undo()
    assert place.tree() == before
    assert place.undo().notes == ("pipe was a pipe, a socket or a device, and is not restored",)
    assert place.tree() == before


def test_ownership_and_attributes_come_back(place: Recorded) -> None:
    """With a file that was removed, replaced or moved, by operations and by commands."""
    names = ("a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "untracked.txt")
    place.write("untracked.txt")
    for name in (*names, "dir"):
        give_attribute(place, name)
    before = place.tree()
    place.run(
        write("a.txt", "other\n"),
        {"action": "remove", "path": "b.txt"},
        command("rm untracked.txt; echo new > x; mv x dir/c.txt; echo more >> dir/d.txt"),
        {**MOVE, "from": "dir", "to": "moved"},
    )
    after = place.tree()
    undone = place.undo()
    assert place.tree() == before
    assert not [note for note in undone.notes if "attributes" in note]
    place.undo()
    assert place.tree() == after


def test_an_attribute_that_a_command_gave_is_taken_away_again(place: Recorded) -> None:
    """Although bytes and mode are the same."""
    give_attribute(place, "a.txt")
    before = place.tree()
    script = "import os; os.removexattr('a.txt', 'user.kept'); os.setxattr('a.txt', 'user.new', b'1')"
    place.run(command(f'{sys.executable} -c "{script}"'))
    after = place.tree()
    place.undo()
    assert place.tree() == before
    place.undo()
    assert place.tree() == after


def give_attribute(place: Recorded, name: str) -> None:
    """Note something beside a file's content."""
    try:
        os.setxattr(place.workspace / name, "user.kept", name.encode())
    except OSError:
        pytest.skip("this file system has no extended attributes")


def test_a_run_that_changed_nothing_is_passed_over(place: Recorded) -> None:
    """Undo takes back the last one that changed something, whatever others tried, or wrote again."""
    before = place.tree()
    place.run(write("a.txt", "other\n"))
    place.run(write("a.txt", "other\n"))
    place.run({**MOVE, "from": "dir", "to": "x"}, {**MOVE, "from": "x", "to": "dir"})
    place.run(command("touch a.txt && true"), command("date"))
    failed = place.attempt(command("mkdir dir"), write("a.txt/b", "no directory\n"))
    assert {task.status for task in failed.tasks} == {"error", "skipped"}
    assert place.attempt(write("a.txt/b", "no directory\n")).tasks[0].status == "error"
    assert place.undo().run.number == 1
    assert place.tree() == before


def test_a_large_file_is_refused_before_it_is_touched(place: Recorded) -> None:
    """The message names the file, its size and the remedy; with the remedy, it is kept and comes back."""
    large = place.write("large.bin", (b"x" * 1023 + b"\n") * (2 << 10))
    before = place.tree()
    tasks: list[dict[str, Any]] = [
        write("large.bin", "small\n"),
        {"action": "edit", "path": "large.bin", "find": "x" * 1023, "replace": "y", "count": "all"},
        {**write("large.bin", "more\n"), "append": True},
        {**MOVE, "from": "large.bin", "to": "moved.bin"},
        {**MOVE, "from": "a.txt", "to": "large.bin"},
        {"action": "remove", "path": "large.bin"},
        command("rm large.bin"),
        command("chmod 600 large.bin"),
    ]
    for task in tasks:
        (done,) = place.attempt(task, snapshot_limit=1 << 20).tasks
        assert done.error, task
        assert "large.bin has 2 MB, and undo keeps files of at most 1 MB" in done.error.message
        assert "--snapshot-limit=2MB keeps it, --record=none does without undo" in str(done.error)
        assert place.tree() == before
    asked: list[str] = []

    def consent(question: str) -> bool:
        asked.append(question)
        return True

    place.run(tasks[0], snapshot_limit=1 << 20, consent=consent)
    assert asked == ["large.bin has 2 MB, which undo needs a copy of. Keep one?"]
    assert large.read_text() == "small\n"
    place.undo()
    assert place.tree() == before


def test_a_large_file_that_a_command_changed_is_named_and_left(plain: Recorded) -> None:
    """Its old content is not kept; undo does not touch it, and takes back the rest."""
    large = plain.write("large.bin", b"x" * (2 << 20))
    report = plain.run(command("echo small > large.bin; echo new > a.txt"), snapshot_limit=1 << 20)
    assert "undo cannot bring back what commands changed here: large.bin" in report.notes
    assert report.notes[0] == LARGE
    undone = plain.undo()
    assert undone.restored == ("a.txt",)
    assert any("large.bin" in note for note in undone.notes)
    assert large.read_text() == "small\n"


def test_a_large_file_is_named_before_the_first_command_that_may_change_it(plain: Recorded) -> None:
    """Once, whatever the commands do to it, and not where it is kept."""
    plain.write("large.bin", b"x" * (2 << 20))
    told: list[object] = []
    plain.run(command("date; :"), command("date; true"), snapshot_limit=1 << 20, on_event=told.append)
    notes = [number for number, event in enumerate(told) if event == clada.Note(LARGE)]
    started = [number for number, event in enumerate(told) if isinstance(event, clada.TaskEnded)]
    assert len(notes) == 1
    assert notes[0] < started[0]
    assert plain.run(command("date; true")).notes == ()


def test_what_is_beyond_the_room_is_named(plain: Recorded) -> None:
    """All that a command may change cannot be kept where history_size is small."""
    plain.write("large.bin", b"x" * (1 << 20))
    report = plain.run(command("rm large.bin; true"), history_size=1 << 16)
    assert "undo cannot bring back what commands changed here: large.bin" in report.notes


def test_what_is_outside_is_named(place: Recorded, tmp_path: Path) -> None:
    """By --allow-escape a run may write elsewhere, which undo does not restore, and says so."""
    outside = tmp_path / "outside.txt"
    place.run(write(str(outside), "new\n"), write("a.txt", "new\n"), allow_escape=True)
    undone = place.undo()
    assert undone.restored == ("a.txt",)
    assert f"not restored, because no record of them was kept: {outside}" in undone.notes
    assert outside.read_text() == "new\n"


def test_a_file_that_only_its_index_entry_vouches_for_comes_back(repo: Recorded) -> None:
    """Git has another content of the same size: marked as unchanged, filtered, in another encoding."""
    git(repo.workspace, "config", "filter.rot.clean", ROT13)
    git(repo.workspace, "config", "filter.rot.smudge", ROT13)
    repo.write(".gitattributes", "*.hidden filter=rot\n*.id ident\n*.ebcdic working-tree-encoding=IBM037\n")
    repo.write("x.hidden", "hidden text\n")
    repo.write("x.id", f"$Id: {'0' * 40} $\n")
    repo.write("x.ebcdic", "some text".encode("cp037"))
    for name in ("assumed", "skipped"):
        repo.write(name, "ours\n")
    git(repo.workspace, "add", "-A")
    git(repo.workspace, "commit", "-q", "-m", "all kinds")
    git(repo.workspace, "update-index", "--assume-unchanged", "assumed")
    git(repo.workspace, "update-index", "--skip-worktree", "skipped")
    for name in ("assumed", "skipped"):
        repo.write(name, "mine\n")
    before = repo.tree()
    repo.run(command("for each in x.* assumed skipped; do echo gone > $each; done"))
    repo.undo()
    assert repo.tree() == before


def test_a_directory_of_many_is_moved_into_another(plain: Recorded) -> None:
    """To keep all that is in it first takes handles of all: that of the target is asked for after that."""
    for number in range(60):
        plain.write(f"many/{number}/file")
    before = plain.tree()
    plain.run({**MOVE, "from": "many", "to": "dir/new/many"})
    assert len(os.listdir(plain.workspace / "dir/new/many")) == 60
    assert not (plain.workspace / "many").exists()
    plain.undo()
    assert plain.tree() == before
