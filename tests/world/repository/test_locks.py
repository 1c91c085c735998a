"""Runs wait for each other, say so, and give up in time; the dead hold no locks."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError
from clada.world.locks import LockFile, RepositoryLock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world.repository.conftest import Repo

KINDS = pytest.mark.parametrize("kind", [LockFile, RepositoryLock])

HOLDER = """
import sys
from clada.world.locks import LockFile, RepositoryLock
with {kind}({path!r}, 90):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(kind: type, path: Path) -> subprocess.Popen[str]:
    """Start a process that holds the lock until its input ends."""
    script = HOLDER.format(kind=kind.__name__, path=str(path))
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@KINDS
def test_a_free_lock_is_taken_at_once(kind: type[LockFile | RepositoryLock], tmp_path: Path) -> None:
    """Without a word, and again after it was let go."""
    for _ in range(2):
        with kind(str(tmp_path / "lock"), 0, lambda: pytest.fail("it is not held")):
            pass


@KINDS
def test_a_held_lock_is_waited_for_and_then_given_up(
    kind: type[LockFile | RepositoryLock], tmp_path: Path
) -> None:
    """lock_timeout, after saying that it waits."""
    told: list[str] = []
    with holder(kind, tmp_path / "lock") as process:
        with (
            pytest.raises(CladaError) as caught,
            kind(str(tmp_path / "lock"), 0.2, lambda: told.append("waiting")),
        ):
            pytest.fail("it was held")
        process.communicate("")
    assert caught.value.error.type == "lock_timeout"
    assert "0.2 s" in caught.value.error.message
    assert "--lock-timeout" in str(caught.value.error.hint)
    assert told == ["waiting"]


@KINDS
def test_a_lock_that_is_let_go_in_time_is_taken(
    kind: type[LockFile | RepositoryLock], tmp_path: Path
) -> None:
    """The one who waited goes on."""
    with holder(kind, tmp_path / "lock") as process:
        assert process.stdin is not None
        with kind(str(tmp_path / "lock"), 90, process.stdin.close):
            pass


@KINDS
def test_the_lock_of_a_dead_process_does_not_block(
    kind: type[LockFile | RepositoryLock], tmp_path: Path
) -> None:
    """The system lets go of it, and no file has to be removed."""
    with holder(kind, tmp_path / "lock") as process:
        process.kill()
        process.wait()
    with kind(str(tmp_path / "lock"), 90):
        pass


@KINDS
def test_a_run_that_is_to_end_waits_no_longer(kind: type[LockFile | RepositoryLock], tmp_path: Path) -> None:
    """What becomes readable while it waits ends the waiting; a lock that is free is taken all the same."""
    stop, sink = os.pipe()
    with holder(kind, tmp_path / "lock") as process:
        start = time.monotonic()
        with (
            pytest.raises(CladaError, match="interrupted") as caught,
            kind(str(tmp_path / "lock"), 200, lambda: os.close(sink), stop),
        ):
            pytest.fail("it was held")
        assert time.monotonic() - start < 100
        process.communicate("")
    with kind(str(tmp_path / "lock"), 0, None, stop):
        os.close(stop)
    assert caught.value.error.type == "lock_timeout"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@KINDS
def test_a_signal_ends_a_run_that_waits_for_a_lock(
    kind: type[LockFile | RepositoryLock], repo: Repo, tmp_path: Path, number: int, code: int
) -> None:
    """The first one, long before the time for the lock is over; nothing was executed."""
    held = tmp_path / "lock" if kind is LockFile else repo.root / ".git/clada/lock"
    words = ["--lock-timeout=10m", f"--lock-file={tmp_path / 'lock'}", "--summary=json"]
    with (
        holder(kind, held) as other,
        subprocess.Popen(
            [sys.executable, "-m", "clada", *words], cwd=repo.root, text=True, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as clada,
    ):  # fmt: skip
        assert clada.stdin is not None
        assert clada.stderr is not None
        clada.stdin.write('<---WRITE file="a"--->\n<---END--->\n')
        clada.stdin.close()
        clada.stdin = None
        assert clada.stderr.readline().startswith("clada: waiting for ")
        clada.send_signal(number)
        out, _ = clada.communicate(timeout=90)
        other.communicate("")
    assert clada.returncode == code
    assert out.startswith("[task-1] FATAL: LOCK - interrupted while waiting for the lock of ")
    assert f'"interrupted": {number:d}' in out
    assert os.listdir(repo.root) == [".git"]


def test_a_lock_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """It names the file."""
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "lock"
    with pytest.raises(CladaError, match="cannot lock") as caught, LockFile(str(path), 1):
        pytest.fail("there is no such folder")
    assert caught.value.error.type == "io_error"


def test_a_folder_of_a_lock_file_is_not_made(tmp_path: Path) -> None:
    """A mistyped path would not lock any run out: it is an error that says so."""
    path = tmp_path / "mistyped" / "lock"
    with pytest.raises(CladaError) as caught, LockFile(str(path), 1):
        pytest.fail("there is no such folder")
    error = caught.value.error
    assert (error.type, error.stage) == ("io_error", "LOCK")
    assert error.message == f"cannot lock {path}: there is no directory {tmp_path / 'mistyped'}"
    assert error.hint == "make it, or name another --lock-file"
    assert os.listdir(tmp_path) == []


def test_any_file_can_be_a_lock_and_keeps_its_content(tmp_path: Path) -> None:
    """While it is held, and afterwards."""
    path = tmp_path / "file"
    path.write_text("content")
    with LockFile(str(path), 1):
        assert path.read_text() == "content"
    assert path.read_text() == "content"


def test_another_program_that_locks_the_file_is_waited_for(tmp_path: Path) -> None:
    """One that knows nothing of clada: flock(2) is what the filelock package uses, and flock(1)."""
    path = tmp_path / "lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(CladaError, match=r"waited 0\.1 s"), LockFile(str(path), 0.1):
            pytest.fail("it was held")
    with LockFile(str(path), 0), path.open() as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@KINDS
def test_a_lock_file_that_was_replaced_while_waiting_is_locked_anew(
    kind: type[LockFile | RepositoryLock], tmp_path: Path
) -> None:
    """A lock on the deleted file would not exclude any run."""
    path = tmp_path / "lock"

    with holder(kind, path) as process, kind(str(path), 90, lambda: os.unlink(path)):
        process.communicate("")
        with path.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_system_without_locks_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not a run without a lock."""

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "lock"
    with pytest.raises(CladaError) as caught, LockFile(str(path), 1):
        pytest.fail("it is not locked")
    error = caught.value.error
    assert (error.type, error.stage) == ("io_error", "LOCK")
    assert error.message == f"cannot lock {path}: No locks available"
    assert error.hint == "name another --lock-file"
    with (
        pytest.raises(CladaError, match="No locks available") as caught,
        RepositoryLock(str(tmp_path / "lock"), 1),
    ):
        pytest.fail("it is not locked")
    assert caught.value.error.type == "git_operation_failed"


@pytest.mark.parametrize("where", ["lock", "sub/lock", "../lock", "{top}/lock", "../linked/lock"])
def test_a_lock_file_in_the_workspace_is_not_committed(repo: Repo, where: str) -> None:
    """Neither before the run nor after it, with a command that may have made any file; other files are."""
    repo.write("sub/old", "x")
    (repo.root.parent / "linked").symlink_to(repo.root)
    where = where.format(top=repo.root)
    document = '<---WRITE file="new"--->\n<---END--->\n<---RUN--->\ntouch made\nsh -c true\n<---END--->\n'
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "clada", "--approve-all", f"--lock-file={where}"],
            cwd=repo.root, input=document.encode(), capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done
    assert (repo.root / where).exists()
    assert repo.git("ls-files").split() == ["made", "new", "sub/old"]


def test_a_lock_file_that_is_tracked_is_a_file_like_others(repo: Repo) -> None:
    """What the user has changed in it goes into the commit."""
    repo.commit(lock="1")
    repo.write("lock", "2")
    with repo.recorded(lock_file=str(repo.root / "lock")):
        pass
    assert repo.git("show", "HEAD:lock").strip() == "2"


def test_a_lock_file_through_a_link_keeps_its_target(tmp_path: Path) -> None:
    """The content of what it leads to is not lost."""
    (tmp_path / "target").write_text("content")
    (tmp_path / "lock").symlink_to("target")
    try:
        with LockFile(str(tmp_path / "lock"), 1):
            pass
    except CladaError:
        pass
    assert (tmp_path / "target").read_text() == "content"


def test_runs_in_one_repository_wait_for_each_other(repo: Repo) -> None:
    """Also those in its linked work trees, and in other folders of it."""
    repo.commit(a="1")
    repo.git("worktree", "add", "-q", "../linked")
    linked = type(repo)(repo.root.parent / "linked")
    told: list[int] = []
    with (
        repo.recorded(),
        pytest.raises(CladaError, match="another clada run") as caught,
        linked.recorded(lock_timeout=0.1, waiting=lambda: told.append(1)),
    ):
        pytest.fail("it was started")
    assert caught.value.error.type == "lock_timeout"
    assert told == [1]


def test_a_run_that_was_refused_holds_no_lock(repo: Repo) -> None:
    """The next one does not wait."""
    lock = repo.write(".git/MERGE_HEAD", "x")
    with pytest.raises(CladaError), repo.recorded():
        pass
    os.unlink(lock)
    with repo.recorded(lock_timeout=0):
        pass
