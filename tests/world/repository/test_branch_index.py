"""The user's index: never staged into, replaced in one step, and brought to its end after a kill."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.programs import needs
from tests.world.repository.conftest import Repo

from clada.errors import CladaError
from clada.world.git import git, index
from clada.world.git.branch import BranchCommits
from clada.world.git.git import hardened_git
from clada.world.git.index import check, index_copy, locked_index
from clada.world.git.select import PlannedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clada.world.processes.run import Captured

KILLED = """
import os, signal, sys
from clada.world.git import branch, git, index
from clada.world.git.repository import find
from clada.world.git.select import PlannedRun
root, moment = sys.argv[1:]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
whole = git.run
def run(argv, *rest):
    if moment in argv:
        die()
    result = whole(argv, *rest)
    if moment == f"after {argv[argv.index('-C') + 2]}" if "-C" in argv else False:
        die()
    return result
record = branch.BranchCommits(find(root), "clada")
record.before(PlannedRun(["a"], wide=False, consent=None))
with open(root + "/a", "w") as file:
    file.write("by the run")
git.run = run
record.after(["a"], run=1)
"""
MOMENTS = ["update-index", "write-tree", "commit-tree", "update-ref", "after commit-tree", "after update-ref"]


@pytest.mark.sample(4)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("partly_staged", [False, True])
def test_a_killed_run_is_brought_to_its_end(repo: Repo, moment: str, partly_staged: bool) -> None:
    """At any moment: the next run clears the lock, and index and HEAD go together; nothing is left."""
    repo.commit(a="1", b="1")
    if partly_staged:
        repo.write("b", "staged")
        repo.git("add", "b")
        repo.write("b", "1")  # so that no commit takes it
    done = subprocess.run([sys.executable, "-c", KILLED, repo.root, moment], check=False)
    assert done.returncode == -signal.SIGKILL
    record = BranchCommits(repo.found(), "clada")
    record.before(PlannedRun([], wide=False, consent=None))
    assert repo.git("show", "HEAD:a") == "by the run"
    assert repo.git("show", ":b") == ("staged" if partly_staged else "1")
    assert repo.status() == (["MM b"] if partly_staged else [])
    assert os.listdir(repo.root / ".git/clada") == []
    assert not list((repo.root / ".git").glob("*.lock"))


def test_the_index_of_a_foreign_program_is_waited_for_and_not_cleared(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless its lock says that it is a dead clada's; HEAD is where it was."""
    monkeypatch.setattr(index, "TRIES", 3)
    before = repo.commit(a="1")
    record = BranchCommits(repo.found(), "clada")
    record.before(PlannedRun(["a"], wide=False, consent=None))
    repo.write("a", "2")
    lock = repo.root / ".git/index.lock"
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    for content in ("", "DIRC", f"clada {os.getpid()} {started}", "clada x y", "clada"):
        lock.write_text(content)
        with pytest.raises(CladaError, match="another git process holds"):
            record.after(["a"], run=1)
        assert (repo.head(), lock.read_text()) == (before, content)
    lock.unlink()
    assert record.after(["a"], run=1) == repo.head()


@pytest.mark.parametrize("words", ["", " {head} ../../evil\n", " --output=x index-00\n", " {head} index-00"])
def test_a_lock_of_a_dead_clada_is_cleared_whatever_else_it_says(repo: Repo, words: str) -> None:
    """Only a copy of clada's own takes the place of the index."""
    repo.commit(a="1")
    evil = repo.write("evil", "no index")
    content = (repo.root / ".git/index").read_bytes()
    (repo.root / ".git/clada").mkdir()
    repo.write(".git/clada/index-00", "no index")
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    repo.write(".git/index.lock", f"clada {dead.pid} 1{words.format(head=repo.head())}")
    check(repo.found())
    assert not (repo.root / ".git/index.lock").exists()
    assert (repo.root / ".git/index").read_bytes() == content
    assert evil.exists()


def leave_locks(repo: Repo, commit: str, words: str = "") -> list[Path]:
    """Leave what a clada and its git leave that are killed while HEAD is set to a commit."""
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    repo.write(".git/index.lock", f"clada {dead.pid} 1 {commit} index-00\n")
    branch = repo.git("symbolic-ref", "HEAD").strip()
    return [repo.write(".git/HEAD.lock", ""), repo.write(f".git/{branch}.lock", words or f"{commit}\n")]


def test_locks_of_a_killed_git_that_set_head_are_cleared(repo: Repo) -> None:
    """Those of HEAD and of the branch, and nothing of them is believed."""
    head = repo.commit(a="1")
    locks = leave_locks(repo, repo.git("commit-tree", "-m", "x", f"{head}^{{tree}}").strip())
    check(repo.found())
    assert not any(lock.exists() for lock in locks)
    assert repo.head() == head
    repo.commit(a="2")


def test_locks_of_other_git_processes_stay(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ones, and those that say something else."""
    monkeypatch.setattr(index, "WAIT_TRIES", 1)
    head = repo.commit(a="1")
    locks = leave_locks(repo, head, "ref: refs/heads/other\n")
    os.utime(locks[0], (1, 1))
    with pytest.raises(CladaError, match="another git process holds"):
        check(repo.found())
    assert all(lock.exists() for lock in locks)


KILLED_GIT = """#!/bin/sh
for word; do
    if [ "$word" = update-ref ]; then
        {also}
        exec strace -f -o /dev/null -e inject=rename,renameat,renameat2:signal=KILL:when={when} {git} "$@"
    fi
done
exec {git} "$@"
"""


@needs("strace")
@pytest.mark.parametrize("when", [1, 2])
@pytest.mark.parametrize("also", ["", "kill -9 $PPID"], ids=["git", "git and clada"])
def test_a_git_that_is_killed_at_a_rename_leaves_no_lock(
    repo: Repo, tmp_path: Path, when: int, also: str
) -> None:
    """The next command of any kind clears what is left, and the user's own git works."""
    repo.commit(a="1")
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(KILLED_GIT.format(also=also, when=when, git=shutil.which("git")))
    git.chmod(0o755)
    environment = {**os.environ, "PATH": f"{git.parent}:{os.environ['PATH']}"}
    write = '<---WRITE file="b"--->\nx\n<---END--->\n'
    clada = [sys.executable, "-m", "clada"]
    subprocess.run(
        clada, input=write, text=True, cwd=repo.root, env=environment, capture_output=True, check=False
    )
    subprocess.run([*clada, "history"], cwd=repo.root, capture_output=True, check=True)
    assert not list((repo.root / ".git").rglob("*.lock"))
    repo.commit(a="3")


def test_while_the_index_is_replaced_other_git_processes_keep_off(repo: Repo) -> None:
    """They see git's own lock."""
    repo.commit(a="1")
    repo.write("a", "2")
    with locked_index(repo.found()):
        assert repo.git("add", "a", check=False) == ""
        assert repo.status() == [" M a"]
    repo.git("add", "a")
    assert repo.status() == ["M  a"]


def test_a_lock_says_whose_it_is_from_its_first_moment(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the lock of a clada that is killed at any moment is known to be its."""
    repo.commit(a="1")
    seen = []
    for name in ("link", "unlink", "write", "close"):
        real = getattr(os, name)

        def watched(*arguments: Any, real: Callable[..., Any] = real) -> Any:
            done = real(*arguments)
            with suppress(FileNotFoundError):
                seen.append((repo.root / ".git/index.lock").read_text())
            return done

        monkeypatch.setattr(os, name, watched)
    with locked_index(repo.found()):
        pass
    started = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    assert set(seen) == {f"clada {os.getpid()} {started}"}


def test_a_lock_that_cannot_say_whose_it_is_is_not_left(repo: Repo) -> None:
    """As on a full disk: it could not be recognised as clada's later."""
    repo.commit(a="1")
    found, before = repo.found(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"), locked_index(found):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (repo.root / ".git/index.lock").exists()


def test_a_copy_knows_what_may_have_changed_since_git_looked(repo: Repo) -> None:
    """A file that changed in the same instant, to the same size, is seen in the copy as in the original."""
    for number in range(20):
        file = repo.write("a", f"{number:4}")
        repo.git("add", "a")
        times = (repo.root / ".git/index").stat()
        file.write_text("same")
        os.utime(file, ns=(times.st_mtime_ns, times.st_mtime_ns))
        with index_copy(repo.found(), hardened_git(repo.found())) as own:
            assert own.git.call("diff-files", "--quiet").code == 1


def test_the_index_that_is_staged_meanwhile_is_kept(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the copy and the lock: what the user staged there is staged, what was committed is clean."""
    repo.commit(a="1", b="1")
    record = BranchCommits(repo.found(), "clada")
    record.before(PlannedRun(["a"], wide=False, consent=None))
    repo.write("a", "2")
    whole = git.run

    def run(argv: list[str], *rest: object) -> Captured:
        if "commit-tree" in argv:
            repo.write("b", "2")
            repo.git("add", "b")
        return whole(argv, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(git, "run", run)
    record.after(["a"], run=1)
    assert repo.names() == ["a"]
    assert repo.status() == ["M  b"]


def test_an_interrupt_at_the_last_step_leaves_head_and_index_together(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is there, and a second try says which it is."""
    repo.commit(a="1")
    record = BranchCommits(repo.found(), "clada")
    record.before(PlannedRun(["a"], wide=False, consent=None))
    repo.write("a", "2")
    whole = git.run

    def run(argv: list[str], *rest: object) -> Captured:
        result = whole(argv, *rest)  # type: ignore[arg-type]
        if "update-ref" in argv:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(git, "run", run)
        with pytest.raises(KeyboardInterrupt):
            record.after(["a"], run=1)
    assert repo.status() == []
    assert record.after(["a"], run=1) == repo.head()
    assert repo.subjects() == ["clada:post", "by hand"]


def test_a_run_that_must_end_while_head_is_set_ends_after_that(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git that is ended in the middle can leave its lock, or HEAD without the index."""
    repo.commit(a="1")
    repo.write("a", "2")
    whole, (reading, writing) = git.run, os.pipe()

    def run(argv: list[str], *rest: object) -> Captured:
        if "update-ref" in argv:
            os.write(writing, b"!")
        return whole(argv, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(git, "run", run)
    record = BranchCommits(repo.found(), "clada")
    try:
        assert record.before(PlannedRun(["a"], wide=False, consent=None, stop=reading)) == repo.head()
    finally:
        os.close(reading)
        os.close(writing)
    assert (repo.status(), list((repo.root / ".git").rglob("*.lock"))) == ([], [])


SHARED = """
import os, sys
uid, root, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
import select, clada.world.locks, clada.world.processes.spawn, clada.world.sandbox.landlock
from clada.world.git.branch import BranchCommits
from clada.world.git.select import PlannedRun
from clada.world.git.repository import find
clada.world.sandbox.landlock.has_landlock()  # what is imported late may be out of another user's reach
os.setgroups([60000]); os.setgid(60000); os.setuid(uid)
os.umask(0o022)
found = find(root)
with found.lock(5.0):
    record = BranchCommits(found, "clada")
    record.before(PlannedRun([name], wide=False, consent=None))
    with open(f"{root}/{name}", "w") as file:
        file.write(name)
    print(record.after([name], run=1))
"""


@pytest.fixture
def reachable(home: Path) -> Iterator[Repo]:
    """Make a repository that other users can reach, beside a home that they can read."""
    folder = Path(tempfile.mkdtemp(prefix="clada-test-"))
    folder.chmod(0o755)
    try:
        (folder / "repo").mkdir()
        (folder / ".gitconfig").write_text((home / ".gitconfig").read_text())
        made = Repo(folder / "repo")
        made.git("init", "-q")
        yield made
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be two other users")
def test_a_repository_that_a_group_shares(reachable: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other user's run can use all that one user's run made."""
    repo = reachable
    monkeypatch.setenv("HOME", str(repo.root.parent))
    repo.git("config", "core.sharedRepository", "group")
    repo.commit(a="1")
    for folder, _, files in os.walk(repo.root):
        os.chown(folder, 60001, 60000)
        os.chmod(folder, 0o2775)
        for name in files:
            os.chown(os.path.join(folder, name), 60001, 60000)
            os.chmod(os.path.join(folder, name), 0o664)
    repo.git("config", "--global", "--add", "safe.directory", "*")
    for uid, name in ((60001, "one"), (60002, "two"), (60001, "three")):
        done = subprocess.run(
            [sys.executable, "-c", SHARED, str(uid), repo.root, name],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout.strip() == repo.head(), done.stderr
    assert repo.files() == ["a", "one", "three", "two"]
    assert repo.status() == []
