"""`clada commit`: the commits of runs at the tip of the branch become one, and nothing else is touched."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.messages import joined

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def write(name: str, text: str = "hi") -> str:
    return f'<---WRITE file="{name}"--->\n{text}\n<---END--->\n'


@pytest.fixture
def work(repository: Shell) -> Shell:
    """Return a repository with a commit of the user's own, and uncommitted work."""
    repository.write("mine.txt", "mine\n")
    repository.git("add", "mine.txt")
    repository.git("commit", "-q", "-m", "mine")
    repository.write("mine.txt", "changed\n")
    return repository


def subjects(shell: Shell) -> list[str]:
    return shell.git("log", "--format=%s").splitlines()


def test_the_commits_of_the_last_run_become_one(work: Shell) -> None:
    work(document=write("a.txt"))
    assert len(subjects(work)) == 3
    before = work.git("rev-parse", "HEAD^{tree}")
    done = work("commit", "-m", "Add a\n\nBecause of b.")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == f"{work.git('rev-parse', '--short=7', 'HEAD').strip()} replaces 2 commits of run 1\n"
    )
    assert subjects(work) == ["Add a", "mine"]
    assert work.git("log", "-1", "--format=%b").strip() == "Because of b.\n\nClada-Run: 1"
    assert work.git("rev-parse", "HEAD^{tree}") == before
    assert work.git("status", "--porcelain") == ""


def test_several_runs_become_one_commit_and_can_be_undone(work: Shell) -> None:
    for name in "abc":
        work(document=write(name))
    assert work("commit", "3", "2", "-m", "Add b and c").returncode == 0
    assert subjects(work)[0] == "Add b and c"
    assert subjects(work)[1].startswith("[clada:post]")
    assert work("undo", "3").returncode == 0
    assert not (work.workspace / "c").exists()
    assert work.git("status", "--porcelain") == ""


def test_staged_and_unsaved_work_stays(work: Shell) -> None:
    work(document=write("a.txt"))
    work.write("staged", "x\n")
    work.git("add", "staged")
    work.write("mine.txt", "again\n")
    before = work.git("status", "--porcelain")
    assert work("commit", "-m", "Add a").returncode == 0
    assert work.git("status", "--porcelain") == before


def test_the_first_commits_of_a_repository(repository: Shell) -> None:
    repository(document=write("a.txt"))
    assert repository("commit", "-m", "Start").returncode == 0
    assert subjects(repository) == ["Start"]


def refusal(shell: Shell, *words: str) -> str:
    """Call it, see that nothing has changed, and return why it was refused."""
    before = shell.git("rev-parse", "HEAD"), shell.git("status", "--porcelain")
    done = shell("commit", *words, "-m", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert (shell.git("rev-parse", "HEAD"), shell.git("status", "--porcelain")) == before
    return joined(done.stderr)


def test_a_commit_of_another_above_or_between_is_never_touched(work: Shell) -> None:
    work(document=write("a.txt"))
    work.git("commit", "-q", "--allow-empty", "-m", "yours")
    assert '("yours") is not of these runs' in refusal(work)
    work(document=write("b.txt"))
    assert '("yours") is not of these runs' in refusal(work, "1", "2")
    assert work("commit", "2", "-m", "Add b").returncode == 0
    assert subjects(work)[:2] == ["Add b", "yours"]


def test_what_was_pushed_stays(work: Shell) -> None:
    work(document=write("a.txt"))
    work.git("init", "-q", "--bare", "../remote")
    work.git("push", "-q", "../remote", "HEAD:refs/heads/main")
    work.git("remote", "add", "origin", "../remote")
    work.git("fetch", "-q", "origin")
    assert "was pushed: origin/main has it" in refusal(work)
    work(document=write("b.txt"))
    assert "was pushed: origin/main has it" in refusal(work, "1", "2")
    assert work("commit", "-m", "Add b").returncode == 0


def test_a_run_without_commits_and_one_that_is_not_there(work: Shell) -> None:
    assert "no run has made a commit here" in refusal(work)
    work("--record=snapshots", document=write("a.txt"))
    assert "run 1 has no commit" in refusal(work, "1")
    assert "there is no run 7" in refusal(work, "7")


def test_a_merge_is_left_alone(work: Shell) -> None:
    work(document=write("a.txt"))
    work.git("checkout", "-q", "-b", "side", "HEAD~1")
    work.git("commit", "-q", "--allow-empty", "-m", "side")
    work.git("checkout", "-q", "-")
    work.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert '("merge") is not of these runs' in refusal(work)


def test_without_a_repository(shell: Shell) -> None:
    done = shell("commit", "-m", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("clada: not a git repository")


def test_as_json(work: Shell) -> None:
    work(document=write("a.txt"))
    told = json.loads(work("commit", "-m", "Add a", "--json").stdout)
    assert told == {"commit": work.git("rev-parse", "HEAD").strip(), "replaced": 2, "runs": [1]}
