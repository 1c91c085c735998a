"""How git is started: nothing can block it, it leaves nothing behind, and it costs little."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.handles import open_handles

from clada.errors import CladaError
from clada.past import undo
from clada.world.git import git
from clada.world.git.harden import environment, users_have_filters
from clada.world.processes.run import Captured
from clada.world.processes.spawn import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.world.repository.conftest import Repo

SHELL = "/bin/sh"


def sh(script: str, stdin: bytes = b"") -> Captured:
    """Run a script the way git is run."""
    return git.run([SHELL, "-c", script], {"PATH": os.defpath}, stdin)


def test_input_output_errors_and_exit_code() -> None:
    """Each is its own."""
    assert sh("cat; echo wrong >&2; exit 3", b"given\0bytes\xff") == Captured(
        3, b"given\0bytes\xff", b"wrong\n"
    )


@pytest.mark.parametrize("script", ["cat; cat /dev/zero | head -c 3000000 >&2", "exit 0", "head -c 10"])
def test_megabytes_in_any_direction_do_not_block(script: str) -> None:
    """Also where the program does not read its input, or writes to both outputs at once."""
    answer = sh(script, b"x" * 3_000_000)
    assert (answer.code, len(answer.output)) in {(0, 3_000_000), (0, 0), (0, 10)}


def test_a_grandchild_that_holds_the_output_is_not_waited_for() -> None:
    """The call ends when the program does."""
    start = time.monotonic()
    answer = sh("sleep 200 & echo $!")
    os.kill(int(answer.output), signal.SIGKILL)
    assert time.monotonic() - start < 100


def test_a_signal_is_told_by_the_exit_code() -> None:
    """As a shell has it."""
    assert sh("kill -9 $$").code == 128 + 9


def test_programs_get_sigpipe_back() -> None:
    """Python ignores it, and a child would inherit that."""
    ignored = int(sh("grep SigIgn /proc/self/status").output.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def test_no_handle_of_the_host_is_passed_on() -> None:
    """And none of ours is left open."""
    before = open_handles()
    with open("/dev/null") as mine:
        listed = sh("ls /proc/self/fd").output.split()
        assert str(mine.fileno()).encode() not in listed or mine.fileno() == 3  # 3 is what ls itself opens
    assert open_handles() == before


ALONE = """
import os, subprocess
from clada.world.git import git
with subprocess.Popen(["sleep", "30"]) as other:
    git.run(["/bin/sh", "-c", "true"], {"PATH": os.defpath}, b"")
    assert other.poll() is None
    other.kill()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none left")
"""


def test_no_child_is_left() -> None:
    """It is waited for, and only it; in a process of its own, where no other test has left any."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout == "none left\n"


REAPED = """
import os, signal, sys
import clada
plan = clada.parse('<---WRITE file="a"--->\\nnew\\n<---END--->\\n')
if sys.argv[2] == "before":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def told(event):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
report = clada.execute(plan, workspace=sys.argv[1], on_event=told)
error = report.fatal or report.error
print(report.ok, error.type, error.message, error.hint, sep="\\n")
"""


def with_lost_exit_codes(repo: Repo, since: str) -> list[str]:
    """Run a document in a host that ignores SIGCHLD; return how it went, and the error."""
    done = subprocess.run(
        [sys.executable, "-c", REAPED, repo.root, since], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_host_that_takes_exit_codes_is_told_before_anything_is_executed(repo: Repo) -> None:
    """No call whose end is unknown counts as one that succeeded."""
    before = repo.commit(a="old")
    ok, type_, message, hint = with_lost_exit_codes(repo, "before")
    assert (ok, type_) == ("False", "git_operation_failed")
    assert message == "git's exit code is lost: the host process takes it itself"
    assert "SIGCHLD" in hint
    assert "--no-git" in hint
    assert ((repo.root / "a").read_text(), repo.head()) == ("old", before)


def test_a_host_that_takes_exit_codes_later_is_told_that_nothing_was_committed(repo: Repo) -> None:
    """The change stays in the tree."""
    before = repo.commit(a="old")
    ok, type_, message, _ = with_lost_exit_codes(repo, "after")
    assert (ok, type_) == ("False", "git_operation_failed")
    assert "exit code is lost" in message
    assert ((repo.root / "a").read_text(), repo.head()) == ("new\n", before)


def test_an_interrupt_is_passed_on_where_the_host_took_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing left to end."""

    def taken() -> None:
        os.waitpid(-1, 0)
        raise KeyboardInterrupt

    monkeypatch.setattr(git, "SLOW", 0.01)
    with pytest.raises(KeyboardInterrupt):
        git.run(["/bin/sleep", "0.1"], {}, when_slow=taken)


INTERRUPTED = """
import os, signal, subprocess, sys, threading, time
from clada.settings import Settings
from clada.world.files.workspace import Workspace
from clada.world.git import git
from clada.world.git.harden import environment
from clada.world.record.recorder import RunToRecord, make_recorder
root, moment = sys.argv[1], sys.argv[2]
whole = git.run
def slow(argv, variables, stdin=b"", when_slow=None, rules=None, stop=None):
    global moment
    if moment in argv:
        moment = None
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        whole(["/bin/sleep", "0.2"], variables)
    return whole(argv, variables, stdin, when_slow, rules, stop)
try:
    with make_recorder(RunToRecord("", planned=()), Settings(root), None, None) as record:
        with Workspace(root) as workspace:
            workspace.record_in(record.snapshot, ())
            workspace.store(("by-clada.txt",), b"")
        git.run = slow
except KeyboardInterrupt:
    print("interrupted", record.commits, record.error)
"""


@pytest.mark.parametrize("moment", ["update-index", "write-tree", "commit-tree", "update-ref"])
def test_an_interrupt_during_the_last_commit_does_not_cost_it(repo: Repo, moment: str) -> None:
    """The first one: the commit is made, then the interrupt goes on its way."""
    repo.commit(a="1")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, repo.root, moment], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("interrupted"), done.stderr
    assert repo.names() == ["by-clada.txt"]
    assert repo.status() == []
    assert not list((repo.root / ".git").glob("*.lock"))


def test_ctrl_c_on_a_terminal_does_not_reach_git() -> None:
    """It is in a process group of its own."""
    asked = [sys.executable, "-c", "import os; print(os.getpgrp())"]
    group = int(git.run(asked, {"PATH": os.defpath}).output)
    assert group != os.getpgrp()


LOOK = ["status"]
FIRST_COMMIT = "update-index write-tree rev-parse commit-tree update-ref".split()
COMMIT = "update-index write-tree commit-tree update-ref".split()


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the git commands that are called from now on, as it grows."""
    calls: list[str] = []
    whole = git.run

    def counted(argv: list[str], *rest: Any) -> Captured:
        calls.append(argv[argv.index("-C") + 2])
        return whole(argv, *rest)

    monkeypatch.setattr(git, "run", counted)
    return calls


@pytest.mark.parametrize(
    ("there", "record", "expected"),
    [
        ("2\n", "commits", LOOK),
        ("1", "commits", [*LOOK, "check-ignore", *FIRST_COMMIT]),
        ("changed", "commits", [*LOOK, *FIRST_COMMIT, "check-ignore", *COMMIT]),
        ("changed", "snapshots", []),
    ],
    ids=["nothing to write", "one commit", "two commits", "snapshots"],
)
def test_a_run_takes_few_processes(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, there: str, record: str, expected: list[str]
) -> None:
    """One to see what there is, four for a commit, one for the tree of HEAD, one for what is ignored."""
    repo.commit(a="1")
    repo.write("a", there)
    calls = _counted(monkeypatch)
    assert repo.execute('<---WRITE file="a"--->\n2\n<---END--->\n', record=record).ok
    assert calls == expected
    calls.clear()
    assert repo.execute('<---WRITE file="a"--->\n2\n<---END--->\n').ok
    assert calls == LOOK


@pytest.mark.parametrize(
    ("prepare", "expected"),
    [
        (("add", "a"), ["diff-index"]),
        (("rm", "-q", "--cached", "b"), ["diff-index"]),
        (("update-index", "--add", "--cacheinfo", "160000", "1" * 40, "sub"), ["diff-index"]),
        (("update-index", "--split-index"), ["diff-index"]),
    ],
    ids=["staged", "taken out", "submodule", "split index"],
)
def test_git_is_asked_for_what_the_status_does_not_tell(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, prepare: tuple[str, ...], expected: list[str]
) -> None:
    """What is staged, where something may be."""
    repo.commit(a="1", b="1")
    repo.write("a", "2")
    repo.git(*prepare)
    before = repo.git("diff", "--cached", "--raw", "--ignore-submodules=none", "--", "b", "sub")
    calls = _counted(monkeypatch)
    assert repo.execute('<---WRITE file="c"--->\n2\n<---END--->\n').ok
    assert [call for call in calls[:3] if call == "diff-index"] == expected
    assert repo.git("diff", "--cached", "--raw", "--ignore-submodules=none", "--", "b", "sub") == before


@pytest.mark.parametrize(
    ("path", "kept"),
    [("/usr/bin", True), ("", False), (".", False), ("bin", False), ("{root}", False), ("{root}/bin", False)],
)
def test_path_entries_that_programs_may_be_found_in(tmp_path: Path, path: str, kept: bool) -> None:
    """Absolute ones, outside the work tree."""
    entry = path.format(root=tmp_path)
    assert (environment({"PATH": entry}, str(tmp_path))["PATH"] == entry) == (kept or entry == "")


def test_a_filter_far_down_in_the_configuration_of_the_user_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else git would run confined, and the filter would fail."""
    configuration = tmp_path / "config"
    configuration.write_text("# a comment\n" * 20_000 + '[filter "lfs"]\n\tclean = git-lfs clean\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    assert users_have_filters()


@pytest.fixture
def silent(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Return what puts a git in place that ends as if all were well, without an answer, in some calls."""
    program = tmp_path_factory.mktemp("bin") / "git"
    real = shutil.which("git")

    def put(word: str) -> None:
        program.write_text(f'#!/bin/sh\ncase "$*" in *{word}*) exit 0;; esac\nexec {real} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


@pytest.mark.parametrize("word", ["status", "rev-parse", "write-tree", "commit-tree"])
def test_a_git_that_does_not_answer_is_told(repo: Repo, silent: Callable[[str], None], word: str) -> None:
    """Nothing is committed then, and nothing is executed."""
    before = repo.commit(a="1")
    repo.write("a", "2")
    silent(word)
    with pytest.raises(CladaError) as caught, repo.recorded():
        pytest.fail("it was started")
    assert caught.value.error.type == "git_operation_failed"
    assert (repo.root / ".git/refs/heads/main").read_text().strip() == before


def test_an_undo_is_told_of_a_git_that_does_not_answer(repo: Repo, silent: Callable[[str], None]) -> None:
    """What HEAD is was not to be learned: nothing is put back, and no commit is made."""
    repo.commit(a="1")
    with repo.recorded():
        repo.write("a", "2")
    before = repo.head()
    silent("--batch-check")
    with pytest.raises(CladaError, match="git does not say where HEAD is"):
        undo(str(repo.root))
    assert (repo.head(), (repo.root / "a").read_text()) == (before, "2")


def test_an_interrupt_while_a_program_is_started_under_rules_leaves_none_behind() -> None:
    """What the thread has started is handed over to be ended."""
    ended: list[int] = []
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    def work() -> int:
        time.sleep(0.5)
        return 7

    with pytest.raises(KeyboardInterrupt):
        in_thread(work, ended.append)
    assert ended == [7]
