"""Undo: of the last run, of an older one, of one that was killed; refused, stopped, brought to its end."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually
from tests.world.record.conftest import Recorded, command, write
from tests.world.record.test_record_kills import litter
from tests.world.repository.states import files, git

import clada
from clada.errors import CladaError
from clada.world import libc
from clada.world.record.history import prune
from clada.world.record.store import find_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.world.record.conftest import Ordinary

MANY: list[dict[str, Any]] = [
    write("a.txt", "other\n"),
    write("x/y/new.txt", "new\n"),
    {"action": "move", "from": "dir", "to": "moved"},
    {"action": "remove", "path": "b.txt"},
    command("chmod 600 a.txt"),
    command("ln -s a.txt link; mkdir -m 700 made; echo more >> moved/c.txt; rm -r tree; echo 1 > tree"),
]


def furnish(place: Recorded) -> None:
    """Add a tree with modes and links."""
    place.write("tree/private", "private\n", 0o600)
    (place.workspace / "tree/link").symlink_to("nowhere")
    (place.workspace / "tree/closed").mkdir(mode=0o750)
    place.write("tree/closed/file")


# What is refused.


def test_files_that_changed_since_are_named_and_nothing_is_put_back(place: Recorded) -> None:
    """They are compared by their bytes: a size and a time that are the same deceive nobody."""
    place.run(write("a.txt", "ours\n"), write("b.txt", "ours\n"), write("new.txt", "ours\n"))
    times = os.stat(place.workspace / "b.txt")
    place.write("b.txt", "user\n")
    os.utime(place.workspace / "b.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    (place.workspace / "new.txt").unlink()
    (place.workspace / "new.txt").mkdir()
    tree = place.tree()
    with pytest.raises(CladaError, match=r"changed since run 1: b\.txt, new\.txt"):
        place.undo()
    assert place.tree() == tree
    assert place.history() == ["ok"]


@pytest.mark.parametrize(
    "since",
    [
        "rm -r dir; ln -s /tmp dir",
        "rm -r dir; echo 1 > dir",
        "rm -r new; ln -s . new",
        "echo 1 > new/file",
        "rm a.txt; ln -s b.txt a.txt",
        "rm a.txt; mkdir a.txt",
    ],
)
def test_what_stands_in_the_way_is_left(place: Recorded, since: str) -> None:
    """Undo does not go through links or over files that somebody put there, and refuses or leaves them."""
    place.run(
        write("a.txt", "ours\n"), {"action": "remove", "path": "dir/c.txt"}, write("new/file", "ours\n")
    )
    subprocess.run(["sh", "-c", since], cwd=place.workspace, check=True)
    tree = place.tree()
    with pytest.raises(CladaError, match="changed since run 1"):
        place.undo()
    assert place.tree() == tree


def test_a_directory_that_the_run_made_stays_where_somebody_uses_it(place: Recorded) -> None:
    """What the run put into it goes."""
    place.run(write("new/file", "ours\n"))
    place.write("new/mine", "mine\n")
    place.undo()
    assert sorted(os.listdir(place.workspace / "new")) == ["mine"]


def test_a_mode_that_somebody_gave_since_stays(place: Recorded) -> None:
    """The run did not set it."""
    place.run(write("a.txt", "ours\n"))
    (place.workspace / "a.txt").chmod(0o600)
    place.undo()
    assert (place.workspace / "a.txt").read_text() == "a\n"
    assert (place.workspace / "a.txt").stat().st_mode & 0o777 == 0o600


def test_a_refusal_says_what_to_do(place: Recorded) -> None:
    """And a run that is not there, or none at all, is no traceback."""
    with pytest.raises(CladaError, match="no run is recorded for this workspace"):
        place.undo()
    place.run(write("a.txt", "ours\n"))
    with pytest.raises(CladaError, match="there is no run 9 for this workspace"):
        place.undo(9)


# Which run is undone.


def test_an_older_run_is_undone_where_later_ones_touched_other_files(place: Recorded) -> None:
    """And can be redone; what a later run touched too is named."""
    before = place.tree()
    place.run(write("a.txt", "one\n"), write("new/1", "1\n"))
    place.run(write("b.txt", "two\n"), write("new/2", "2\n"))
    place.run(command("echo three > dir/c.txt; true"))
    after = place.tree()
    place.undo(1)
    assert (place.workspace / "a.txt").read_text() == "a\n"
    assert sorted(os.listdir(place.workspace / "new")) == ["2"]
    place.undo()
    assert place.tree() == after
    place.run(write("a.txt", "four\n"))
    with pytest.raises(CladaError, match=r"changed since run 1: a\.txt"):
        place.undo(1)
    for number in (6, 3, 2, 1):
        place.undo(number)
    assert place.tree() == before


def test_undo_twice_is_redo(place: Recorded) -> None:
    """It goes on like that, and older runs are reached by their numbers."""
    first = place.tree()
    place.run(write("a.txt", "one\n"))
    second = place.tree()
    place.run(write("a.txt", "two\n"))
    place.undo()
    assert place.tree() == second
    place.undo(1)
    assert place.tree() == first
    place.undo()
    assert place.tree() == second


def test_a_dry_run_of_undo_changes_nothing_and_shows_the_diff(place: Recorded) -> None:
    """Nor is it in the history."""
    place.run(*MANY[:4])
    tree = place.tree()
    shown = place.call("undo", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "would undo: run 1" in shown.stdout
    assert "-other\n+a\n" in shown.stdout
    assert place.tree() == tree
    assert place.history() == ["ok"]


def test_a_failed_run_is_undone_like_any_other(place: Recorded) -> None:
    """What it did before it failed."""
    before = place.tree()
    place.attempt(write("a.txt", "ours\n"), command("echo half > new; exit 1"), write("b.txt", "never\n"))
    assert place.history() == ["failed"]
    assert place.tree() != before
    place.undo()
    assert place.tree() == before


def test_a_run_with_a_command_that_is_killed_is_known_to_be_going_and_then_to_be_killed(
    place: Recorded,
) -> None:
    """Its undo takes back what it wrote itself; what the command may have changed is named, and left."""
    before = place.tree()
    process = place.start(write("a.txt", "ours\n"), command("echo half > b.txt; touch here; sleep 60"))
    assert eventually((place.workspace / "here").exists)
    assert place.history() == ["running"]
    with pytest.raises(CladaError, match=r"another clada run is using|still going"):
        place.undo(lock_timeout=0.1)
    assert place.kill(process)
    assert place.history() == ["killed"]
    place.run(write("dir/c.txt", "by the next run\n"))
    place.undo()
    place.write("b.txt", "saved days later\n")
    undone = place.undo(1)
    assert undone.restored == ("a.txt",)
    assert any("b.txt, here" in note for note in undone.notes)
    assert "-b\n+saved days later" in place.call("history", "show", "1").stdout
    assert (place.workspace / "b.txt").read_text() == "saved days later\n"
    place.write("b.txt", "b\n")
    (place.workspace / "here").unlink()
    assert place.tree() == before


def test_a_killed_run_of_another_workspace_is_looked_at_by_the_next(repo: Recorded) -> None:
    """The repository has one record: what was done in a part of it stays that part's."""
    part = Recorded(repo.workspace / "dir")
    before = repo.tree()
    process = part.start(command("echo half > c.txt; touch here; sleep 60"))
    assert eventually((part.workspace / "here").exists)
    assert part.kill(process)
    repo.run(write("a.txt", "by the next run\n"))
    part.write("d.txt", "by the user, afterwards\n")
    with pytest.raises(CladaError, match=r"killed, and it or you changed: c.txt, here \("):
        part.undo(1)
    assert (part.workspace / "d.txt").read_text() == "by the user, afterwards\n"
    part.write("c.txt", "c\n")
    part.write("d.txt", "d\n")
    (part.workspace / "here").unlink()
    repo.undo(2)
    assert repo.tree() == before


def test_what_git_collects_is_not_what_undo_needs(repo: Recorded) -> None:
    """Nothing of the record is an object of the repository."""
    repo.write("a.txt", "never committed\n")
    before = repo.tree()
    repo.run(*MANY[:5])
    git(repo.workspace, "reflog", "expire", "--expire=now", "--all")
    git(repo.workspace, "gc", "-q", "--prune=now", "--aggressive")
    repo.undo()
    assert repo.tree() == before


# Stopped half way.

CALLS = (
    "renameat2",
    "rename",
    "link",
    "unlink",
    "rmdir",
    "mkdir",
    "symlink",
    "chmod",
    "write",
    "writev",
    "open",
    "fchmod",
)


class Fault:
    """The so-manieth of certain calls of the system fails."""

    def __init__(self, number: int, error: BaseException) -> None:
        self.number, self.error, self.calls = number, error, 0

    def intercept(self, monkeypatch: pytest.MonkeyPatch, calls: Sequence[str] = CALLS) -> None:
        """Let the call fail, and all that come after it succeed."""
        for name in calls:
            module = libc if name == "renameat2" else os
            monkeypatch.setattr(module, name, self._wrapped(getattr(module, name)))

    def _wrapped(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.number:
                raise self.error
            return real(*arguments, **named)

        return call


def moments() -> Iterator[int]:
    """Yield the numbers of all calls that an undo makes, until one is past its end."""
    number = 1
    while number < 2000:
        yield number
        number += 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, 0], ids=["EIO", "full", "interrupt"])
def test_an_undo_that_is_stopped_at_any_call_is_brought_to_its_end(plain: Recorded, error: int) -> None:
    """By an error of the system or an interrupt; run again, it ends, and redo gives what the run left."""
    furnish(plain)
    before = plain.tree()
    plain.run(*MANY)
    after = plain.tree()
    for number in moments():
        raised = OSError(error, os.strerror(error)) if error else KeyboardInterrupt()
        fault = Fault(number, raised)
        with pytest.MonkeyPatch.context() as patch:
            fault.intercept(patch)
            with contextlib.suppress(CladaError, OSError, KeyboardInterrupt):
                plain.undo()
        stopped = fault.calls < number
        if plain.tree() != before or plain.history()[0] != "ok":  # it may not have recorded its end
            plain.undo()
        assert plain.tree() == before, number
        assert litter(plain) == []
        last = clada.history(str(plain.workspace))[0]
        assert last.undoes
        plain.undo(last.number)
        assert plain.tree() == after, number
        if stopped:
            return
        prune(find_store(str(plain.workspace)), 0, 1e9)  # all but the last, or else it takes ever longer
    pytest.fail("an undo has no end")


def test_an_undo_by_number_continues_one_that_was_stopped(plain: Recorded) -> None:
    """Also where its number is given: redo then brings back what both have undone."""
    furnish(plain)
    before = plain.tree()
    plain.run(*MANY)
    after = plain.tree()
    with pytest.MonkeyPatch.context() as patch:
        Fault(3, OSError(errno.EIO, "")).intercept(patch, ["renameat2"])
        with pytest.raises((CladaError, OSError)):
            plain.undo()
    assert plain.tree() not in (before, after)
    plain.undo(1)
    assert plain.tree() == before
    plain.undo()
    assert plain.tree() == after


def test_a_signal_ends_an_undo_in_order(plain: Recorded) -> None:
    """SIGTERM and SIGHUP, too; the next brings it to its end."""
    furnish(plain)
    before = plain.tree()
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        plain.run(*MANY)
        after = plain.tree()
        script = f"""
            import os, signal, sys
            real, count = os.unlink, 0
            def unlink(*arguments, **named):
                global count
                count += 1
                if count == 3:
                    os.kill(os.getpid(), signal.{name})
                return real(*arguments, **named)
            os.unlink = unlink
            from clada.cli import main
            sys.exit(main(["undo"]))
            """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            cwd=plain.workspace,
            capture_output=True,
            check=False,
        )
        assert done.returncode in {0, -signal.Signals[name], 128 + signal.Signals[name]}, done.stderr
        assert b"Traceback" not in done.stderr
        if plain.tree() != before:
            plain.undo()
        assert plain.tree() == before
        plain.undo()
        assert plain.tree() == after
        plain.undo()


# As an ordinary user.


def test_what_is_closed_even_to_its_owner_is_undone(ordinary: Ordinary) -> None:
    """Files and directories that nobody may read, enter or write."""
    place = Recorded(files(ordinary.top / "workspace"))
    place.write("shut/file")

    def closing() -> None:
        before = place.tree()
        place.run(
            write("dir/new", "new\n"),
            write("a.txt", "new\n"),
            command("chmod 000 a.txt"),
            command("chmod 555 dir"),
            command("chmod 000 b.txt; echo new > shut/new; chmod 000 shut"),
        )
        place.undo()
        (place.workspace / "shut/new").unlink()
        assert place.tree() == before
        report = place.run(command("mkdir closed; echo 1 > closed/file; chmod 000 closed; echo 1 > a.txt"))
        assert "undo cannot bring back what commands changed here: closed" in report.notes
        place.undo()
        assert oct((place.workspace / "closed").stat().st_mode) == "0o40000"
        (place.workspace / "closed").chmod(0o700)

    ordinary.do(closing)
