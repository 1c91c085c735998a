"""Rights come back with contents: modes, access control lists, attributes; and two users of a group."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.record.conftest import NOBODY, Recorded, command, write
from tests.world.repository.states import clean, files, git
from tests.world.test_attributes import HANDED_DOWN, SHUT_OUT
from tools.plain_git import FSCK

from clada.world.files.atomic import ACL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world.record.conftest import Ordinary

GROUP, FIRST, SECOND = 60000, 60001, 60002
WORDS = "has another owner, or other attributes, than it had"

# What happens to a.txt, and to dir with a file in it.
CHANGES: dict[str, list[dict[str, Any]]] = {
    "write": [write("a.txt", "new\n"), write("dir/c.txt", "new\n")],
    "append": [{**write("a.txt", "new\n"), "append": True}],
    "edit": [{"action": "edit", "path": "a.txt", "find": "a", "replace": "b"}],
    "move": [
        {"action": "move", "from": "a.txt", "to": "moved"},
        {"action": "move", "from": "dir", "to": "elsewhere/dir"},
    ],
    "remove": [{"action": "remove", "path": "a.txt"}, {"action": "remove", "path": "dir"}],
    "chmod": [command("chmod 600 a.txt"), command("chmod 700 dir")],
    "command writes": [command("echo new > a.txt; echo new > dir/c.txt")],
    "command replaces": [command("echo new > x; mv x a.txt; rm dir/c.txt; echo new > dir/c.txt")],
    "command removes": [command("rm a.txt; rm -r dir")],
    "command moves": [command("mv a.txt moved; mv dir elsewhere")],
}


@pytest.fixture
def rights(place: Recorded) -> Recorded:
    """Return a workspace in which a file and a directory have lists, and others are for their owner alone."""
    place.write("private", "secret\n", 0o600)
    try:
        for name, value in (("a.txt", SHUT_OUT), ("dir/c.txt", SHUT_OUT), ("dir", HANDED_DOWN)):
            os.setxattr(place.workspace / name, ACL, value)
        os.setxattr(place.workspace / "dir", "system.posix_acl_default", HANDED_DOWN)
    except OSError as error:
        pytest.skip(f"no access control lists here: {error.strerror}")
    os.setxattr(place.workspace / "a.txt", "user.kept", b"kept")
    (place.workspace / "a.txt").chmod(0o660)
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="these lists are Linux's")
@pytest.mark.parametrize("name", CHANGES)
def test_access_control_lists_come_back_or_the_file_is_named(rights: Recorded, name: str) -> None:
    """With bytes and modes, whatever operations and commands did; and redo gives what they left."""
    before = rights.tree()
    rights.run(*CHANGES[name])
    after = rights.tree()
    undone = rights.undo()
    left = {path for path in before if rights.tree().get(path) != before[path]}
    assert left == {path for path in left if any(f"{path} {WORDS}" in note for note in undone.notes)}
    assert left == set()  # the same user, on the same file system: nothing has to be named
    rights.undo()
    assert {path: shown[-1] for path, shown in rights.tree().items()} == {
        path: shown[-1] for path, shown in after.items()
    }


def test_a_private_file_is_private_at_every_moment(place: Recorded) -> None:
    """Mode 0600 stays 0600, in the tree, and so do the record's own files."""
    place.write("private", "secret\n", 0o600)
    for task in (
        write("private", "new\n"),
        {"action": "remove", "path": "private"},
        command("rm private; true"),
    ):
        place.run(task)
        place.undo()
        assert (place.workspace / "private").stat().st_mode & 0o777 == 0o600
        assert (place.workspace / "private").read_text() == "secret\n"
    for folder, _, names in os.walk(place.store):
        assert os.stat(folder).st_mode & 0o077 == 0
        kept = [os.path.join(folder, name) for name in names if name != "lock"]
        assert not [path for path in kept if os.stat(path).st_mode & 0o077]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make another user's file")
def test_a_file_whose_owner_cannot_be_given_back_is_named(ordinary: Ordinary) -> None:
    """Its content and mode are back, and nobody else may read it."""
    place = Recorded(files(ordinary.top / "workspace"))
    ordinary.do(lambda: None)
    os.chown(place.workspace / "a.txt", FIRST, FIRST)

    def removing() -> None:
        place.run({"action": "remove", "path": "a.txt"})
        undone = place.undo()
        assert (place.workspace / "a.txt").read_text() == "a\n"
        assert [note for note in undone.notes if note == f"a.txt {WORDS}"]

    ordinary.do(removing, given=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be two other users")
@pytest.mark.parametrize("record", ["commits", "snapshots"])
def test_two_users_of_a_group_share_a_repository(ordinary: Ordinary, record: str) -> None:
    """Each runs and undoes in turn; of the other's record they see nothing, and their commits they keep."""
    place = Recorded(clean(ordinary.top / "workspace"))
    git(place.workspace, "config", "core.sharedRepository", "group")
    git(place.workspace, "config", "--global", "--add", "safe.directory", "*")
    share(ordinary.top)
    before = place.tree()

    def at_work(user: int) -> None:
        os.umask(0o002)
        assert place.history() == []
        report = place.run(write(f"new/{user}", "new\n"), write("b.txt", f"{user}\n"), record=record)
        assert bool(report.commits) == (record == "commits")
        place.undo()
        place.undo()
        assert place.undo().run.undoes == 2
        assert place.history() == ["ok"] * 4

    for user in (FIRST, SECOND):
        ordinary.do(lambda user=user: at_work(user), user=user, group=GROUP, given=False)  # type: ignore[misc]
        shown = place.tree()
        assert {path: look[-1] for path, look in shown.items()} == {
            path: look[-1] for path, look in before.items()
        }
    kept = place.workspace / ".git/clada"
    assert {name for name in os.listdir(kept) if name.isdigit()} == {str(FIRST), str(SECOND)}
    assert all(os.stat(kept / str(user)).st_mode & 0o777 == 0o700 for user in (FIRST, SECOND))
    assert git(place.workspace, *FSCK) == ""
    subjects = git(place.workspace, "log", "--format=%s").splitlines()
    assert len(subjects) == (1 if record == "snapshots" else 9)


def share(top: Path) -> None:
    """Make all that is there a group's."""
    for folder, names, plain in os.walk(top):
        for name in (".", *names, *plain):
            path = os.path.join(folder, name)
            os.chown(path, FIRST, GROUP)
            os.chmod(path, 0o2775 if os.path.isdir(path) else 0o664)


@pytest.mark.skipif(os.geteuid() != 0, reason="root works in the repository of another user")
@pytest.mark.parametrize("record", ["commits", "snapshots"])
def test_a_run_as_root_locks_nobody_out(
    ordinary: Ordinary, monkeypatch: pytest.MonkeyPatch, record: str
) -> None:
    """The owner can commit, and record runs in the git directory, as before."""
    place = Recorded(clean(ordinary.top / "place"))
    ordinary.do(lambda: None)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))  # so that root may, as git has it
    place.run(write("a.txt", "by root\n"), record=record)
    monkeypatch.delenv("SUDO_UID")
    top = place.workspace / ".git"
    roots = [path for path in top.rglob("*") if path.lstat().st_uid == 0]
    assert {path.relative_to(top).parts[:2] for path in roots} == {("clada", "0")}

    def act() -> None:
        place.run(write("b.txt", "by its owner\n"), record="commits")
        assert place.store == top / "clada" / str(NOBODY)
        assert place.undo().restored == ("b.txt",)

    ordinary.do(act, given=False)
