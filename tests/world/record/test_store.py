"""The database of a store: taken over from earlier versions, and what happens when it cannot be used."""

# ruff: noqa: D103 (the name of a test says what holds)

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import git

import clada
from clada.resuming import rest_of
from clada.world.record import formerly_ignored, history, store
from clada.world.record.store import find_store

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD = Path(__file__).parent / "old_record"  # written by a version that had text files
NOBODY = 65534


def rows(place: Recorded, query: str) -> list[Any]:
    """Return what a query finds in the database."""
    with contextlib.closing(sqlite3.connect(place.store / "record.db")) as database:
        return database.execute(query).fetchall()


# Earlier versions.


@pytest.fixture
def old(tmp_path: Path) -> Recorded:
    """Make a workspace as an earlier version has left it, killed in an atomic run."""
    place = Recorded(tmp_path / "workspace")
    place.write("kept.txt", "atomic\n")
    place.write("half.txt", "half\n")
    place.write("secret.txt", "hidden\n")
    place.write(".gitignore", "other\n")
    git(place.workspace, "init", "-q")
    found = find_store(str(place.workspace))
    marker = Path(history.marker_of(found))
    marker.parent.mkdir(parents=True, mode=0o700)
    marker.write_text(f"{place.workspace}\t{found.path}\t5\t1\n")
    shutil.copytree(OLD, found.path)
    return place


def test_an_old_history_is_taken_over(old: Recorded) -> None:
    runs = clada.history(str(old.workspace))
    shown = [(run.number, run.ended, run.record, run.undoes, run.changed, run.what) for run in runs]
    assert shown == [
        (5, "killed", "snapshots", 0, 0, "1 write, 1 run: kept.txt, sleep 77"),
        (4, "ok", "snapshots", 1, 2, "undo of run 1"),
        (3, "failed", "snapshots", 0, 1, "1 write, 1 remove: half.txt, absent.txt"),
        (2, "ok", "commits", 0, 1, "1 write: .gitignore"),
        (1, "ok", "snapshots", 0, 2, "2 writes: kept.txt, made.txt"),
    ]
    assert [len(commit or "") for commit in runs[3].commits] == [40, 40]
    assert clada.history(str(old.workspace)) == runs
    assert not (old.store / "history").exists()


def test_an_old_pending_run_is_rolled_back(old: Recorded) -> None:
    report = old.run(write("b.txt", "b\n"))
    assert "run 5 was killed" in "".join(report.notes)
    assert (old.workspace / "kept.txt").read_text() == "old\n"
    assert [run.ended for run in clada.history(str(old.workspace))[:2]] == ["ok", "failed"]
    assert history.pending_run(str(old.workspace)) is None


def test_an_old_run_is_undone_and_resumed(old: Recorded) -> None:
    old.run(write("b.txt", "b\n"))  # after run 5 was rolled back
    rest = rest_of(str(old.workspace), 3)
    assert (rest.number, rest.count, list(rest.left_out)) == (3, 2, [0])
    again = clada.execute(rest.document, workspace=str(old.workspace), record="snapshots", sandbox="off")
    assert again.fatal
    assert again.fatal.stage == "AGAIN"
    old.undo(3)
    assert not (old.workspace / "half.txt").exists()


def test_old_lists_of_paths_are_taken_over(old: Recorded) -> None:
    found = find_store(str(old.workspace))
    assert formerly_ignored.left_out(found) == {"secret.txt"}
    assert formerly_ignored.left_out(found, formerly_ignored.ANSWERS) == {"answer.json"}
    assert [name for name in ("history", "unignored", "answers") if (old.store / name).exists()] == []


def test_an_old_history_is_read_where_nothing_can_be_written(
    old: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken over in memory only."""
    monkeypatch.setattr(store, "_create", lambda _path: os.open("/proc/none", os.O_WRONLY))
    assert [run.number for run in clada.history(str(old.workspace))] == [5, 4, 3, 2, 1]
    assert (old.store / "history").exists()


# What can happen to a database.


def test_a_locked_database_refuses_the_run(place: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LOCK_TIMEOUT", 0.1)
    place.run(write("a.txt", "new\n"))
    before = place.tree()
    database = sqlite3.connect(place.store / "record.db", isolation_level=None)
    database.execute("BEGIN EXCLUSIVE")
    report = place.attempt(write("a.txt", "newer\n"))
    database.close()
    assert report.fatal
    assert report.fatal.message == f"the record {place.store}/record.db is locked by another program"
    assert report.fatal.hint == "end that program, or do without undo (--record=none)"
    assert place.tree() == before
    place.run(write("a.txt", "newer\n"))


DAMAGE = {
    "text": b"this is not a database\n" * 500,
    "zeros in the middle": None,
    "a truncated file": b"SQLite format 3\0",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_database_refuses_the_run_and_says_how_to_go_on(
    place: Recorded, damage: bytes | None
) -> None:
    place.run(write("a.txt", "new\n"))
    database = place.store / "record.db"
    whole = database.read_bytes()
    database.write_bytes(damage or whole[:1024] + bytes(len(whole) - 1024))
    before = place.tree()
    report = place.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert report.fatal.message == f"the record {database} is damaged"
    assert report.fatal.hint == f"to start a new one: mv {database} {database}.damaged"
    assert place.tree() == before
    for arguments in (["history"], ["undo"], ["resume"]):
        done = place.call(*arguments)
        assert "is damaged" in done.stderr
        assert "Traceback" not in done.stderr
    database.rename(f"{database}.damaged")
    place.run(write("a.txt", "newer\n"))
    assert [run.number for run in clada.history(str(place.workspace))] == [2]  # the journal of run 1 stays


def test_a_read_only_database_refuses_the_run(ordinary: Any) -> None:
    place = Recorded(ordinary.top / "workspace")
    place.write("a.txt", "old\n")

    def check() -> None:
        place.run(write("a.txt", "new\n"))
        for path in (place.store / "record.db", place.store / "record.db-journal"):
            path.chmod(0o400)
        report = place.attempt(write("a.txt", "newer\n"))
        assert report.fatal
        assert report.fatal.message == f"the record {place.store}/record.db cannot be written"
        assert (place.workspace / "a.txt").read_text() == "new\n"
        assert place.history() == ["ok"]

    ordinary.do(check)


def test_a_database_of_a_newer_version_refuses_the_run(place: Recorded) -> None:
    place.run(write("a.txt", "new\n"))
    rows(place, "PRAGMA user_version=2")
    report = place.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert "was made by a newer version of clada" in report.fatal.message
    assert (place.workspace / "a.txt").read_text() == "new\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of 2 MB."""
    where = tmp_path / "small"
    where.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(where)]
    if os.geteuid() != 0 or subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("takes root, and a system that mounts")
    yield where
    subprocess.run(["umount", "--lazy", str(where)], check=True)


def test_a_full_disk_refuses_the_run(
    plain: Recorded, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record is on the full disk, and the workspace on another one."""
    monkeypatch.setenv("XDG_STATE_HOME", str(small_disk))
    plain.run(write("a.txt", "new\n"))
    before = plain.tree()
    room = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "filler").write_bytes(bytes(room))
    report = plain.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert "no space left" in report.fatal.message.lower()
    assert plain.tree() == before
    (small_disk / "filler").unlink()
    plain.run(write("a.txt", "newer\n"))


def test_a_disk_that_fills_up_during_a_run_leaves_a_way_back(
    plain: Recorded, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old content is put back by an undo, or is in the record."""
    monkeypatch.setenv("XDG_STATE_HOME", str(small_disk))
    plain.write("a.txt", "precious\n")
    plain.attempt(command(f"dd if=/dev/zero of={small_disk}/filler bs=4096 2>/dev/null; echo 1 > a.txt"))
    assert (plain.workspace / "a.txt").read_text() == "1\n"
    (small_disk / "filler").unlink()
    with contextlib.suppress(clada.CladaError):
        plain.undo()
    shown = plain.call("history", "show", "1").stdout
    assert (plain.workspace / "a.txt").read_text() == "precious\n" or "-precious" in shown


def test_writers_that_are_killed_leave_a_database_that_works(place: Recorded) -> None:
    """Whenever that is: all committed runs are listed, and the next one is recorded."""
    chance = random.Random(3)
    for number in range(12):
        process = place.start(write("a.txt", f"{number}\n"), arguments=["--again"])
        time.sleep(0.05 + chance.random() * 0.25)
        place.kill(process)
        if (place.store / "record.db").exists():
            assert rows(place, "PRAGMA integrity_check") == [("ok",)]
        assert place.call("history").returncode == 0
    place.run(write("a.txt", "last\n"))
    runs = clada.history(str(place.workspace))
    assert runs[0].ended == "ok"
    assert {run.ended for run in runs} <= {"ok", "killed"}
    place.undo()


def test_an_unfinished_transaction_of_a_killed_process_is_undone(place: Recorded) -> None:
    """Its rollback journal is there, and the database has a part of what was to be written."""
    place.run(write("a.txt", "new\n"))
    before, database = rows(place, "SELECT * FROM runs"), place.store / "record.db"
    program = f"""if True:
        import os, sqlite3
        database = sqlite3.connect({str(database)!r}, isolation_level=None)
        database.execute("PRAGMA journal_mode=PERSIST")
        database.execute("PRAGMA cache_size=1")
        database.execute("BEGIN IMMEDIATE")
        for number in range(2, 4000):
            database.execute("INSERT INTO tasks VALUES (?, 0, ?)", (number, "x" * 200))
        os.kill(os.getpid(), 9)
        """
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    assert Path(f"{database}-journal").read_bytes()[:8] != bytes(8)
    assert place.history() == ["ok"]
    assert rows(place, "SELECT * FROM runs") == before
    assert rows(place, "SELECT count(*) FROM tasks WHERE run > 1") == [(0,)]


def test_two_runs_at_once_are_both_recorded(place: Recorded) -> None:
    """And queries go on meanwhile."""
    processes = [place.start(write(f"{number}.txt", "new\n")) for number in range(4)]
    while any(process.poll() is None for process in processes):
        assert place.call("history").returncode == 0
    assert [process.wait() for process in processes] == [0] * 4
    assert sorted(run.number for run in clada.history(str(place.workspace))) == [1, 2, 3, 4]
    assert place.history() == ["ok"] * 4
    for process in processes:
        assert process.stdout
        process.stdout.close()


# Who may use it.


def test_a_run_as_root_does_not_lock_the_owner_out(ordinary: Any) -> None:
    """In the state directory of the user, files that root makes belong to the user."""
    if os.geteuid() != 0:
        pytest.skip("takes root")
    place = Recorded(ordinary.top / "workspace")
    place.write("a.txt", "old\n")
    state = Path(os.environ["XDG_STATE_HOME"])
    os.chown(state.parent, NOBODY, NOBODY)
    place.run(write("a.txt", "root\n"), atomic=True)
    made = list(state.rglob("*"))
    assert {path.lstat().st_uid for path in (state, *made)} == {NOBODY}

    def check() -> None:
        place.run(write("a.txt", "user\n"), atomic=True)
        assert place.history() == ["ok", "ok"]
        place.undo()

    ordinary.do(check)
    place.run(write("b.txt", "root\n"))
    assert place.history() == ["ok"] * 4


def test_a_run_as_root_in_a_repository_of_another_user_has_a_private_record(repo: Recorded) -> None:
    """It does not use one that this user could have planted."""
    if os.geteuid() != 0:
        pytest.skip("takes root")
    for directory, names, plain in os.walk(repo.workspace):
        for name in (".", *names, *plain):
            os.chown(os.path.join(directory, name), NOBODY, NOBODY, follow_symlinks=False)
    git(repo.workspace, "config", "--global", "--add", "safe.directory", "*")
    repo.run(write("a.txt", "root\n"))
    assert {path.lstat().st_uid for path in (repo.store, *repo.store.rglob("*"))} == {0}
    assert repo.store.parent.lstat().st_uid == NOBODY
    os.chown(repo.store, NOBODY, NOBODY)
    report = repo.attempt(write("a.txt", "again\n"))
    assert report.fatal
    assert "is not a directory of yours" in report.fatal.message


def test_a_rollback_journal_that_names_a_file_to_delete_is_refused(place: Recorded, tmp_path: Path) -> None:
    """A repository could bring one along: sqlite would delete the file that it names."""
    place.run(write("a.txt", "new\n"))
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    name = str(precious).encode()
    tail = (0).to_bytes(4, "big") + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    (place.store / "record.db-journal").write_bytes(bytes(512) + tail + store.SUPER_JOURNAL)
    report = place.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert report.fatal.message.endswith("record.db-journal was not written by clada")
    assert precious.read_text() == "precious\n"


def test_a_run_that_is_not_recorded_makes_no_database(place: Recorded) -> None:
    place.run(write("a.txt", "new\n"), record="none")
    assert not (place.store / "record.db").exists()


def test_queries_do_not_wait_for_a_run(place: Recorded) -> None:
    process = place.start(command("sleep 60"))
    assert eventually(lambda: " running " in place.call("history").stdout)
    assert place.kill(process)
    # A child that was being started holds a copy of the lock for a moment longer.
    assert eventually(lambda: " killed " in place.call("history").stdout)
