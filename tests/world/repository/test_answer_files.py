"""The answer and its reports are not committed by a run, unless git tracks them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.world.repository.conftest import Repo

ANSWER = '<---WRITE file="new.txt"--->\nnew\n<---END--->\n'
WITH_COMMAND = f"{ANSWER}<---RUN--->\npython3 -c pass\n<---END--->\n"


def shell(repo: Repo, command: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in the workspace, in which clada is the command line."""
    line = command.replace("clada ", f"{sys.executable} -m clada ")
    return subprocess.run(["sh", "-c", line], cwd=repo.workspace, capture_output=True, text=True, check=False)


@pytest.mark.sample(4)
@pytest.mark.parametrize("below", ["", "part"])
@pytest.mark.parametrize(
    "command",
    [
        "clada answer.md",
        "clada ./answer.md > report.txt 2> errors.txt",
        "clada < answer.md",
        "cat answer.md | clada - | cat",
        "clada --events=jsonl:events.jsonl --approve-all answer.md",
        'clada --approve-all "$PWD/answer.md"',
    ],
)
def test_neither_commit_has_the_answer_or_its_report(repo: Repo, command: str, below: str) -> None:
    """In every way of naming them, and although a command may have made any file."""
    repo.workspace = repo.root / below
    os.makedirs(repo.workspace, exist_ok=True)
    repo.commit(**{os.path.join(below, "old.txt"): "1\n"})
    repo.write(os.path.join(below, "mine.txt"))
    (repo.workspace / "answer.md").write_text(WITH_COMMAND if "approve" in command else ANSWER)
    done = shell(repo, command)
    assert done.returncode == 0, done
    expected = ["mine.txt", "new.txt", "old.txt"]
    if command.startswith("cat"):
        expected = ["answer.md", *expected]  # nothing says that it is the answer
    assert repo.files() == [os.path.join(below, name) for name in expected]


def test_later_runs_leave_the_answer_out_until_it_is_tracked(repo: Repo) -> None:
    """A resumed one, one of another answer; then `git add` makes it a file like others."""
    repo.commit(old="1")
    (repo.root / "answer.md").write_text(f"{ANSWER}<---RUN--->\nmake nothing\n<---END--->\n")
    shell(repo, "clada answer.md")
    shell(repo, "clada resume")
    (repo.root / "other.md").write_text(ANSWER.replace("new", "newer"))
    shell(repo, "clada other.md")
    assert repo.files() == ["new.txt", "newer.txt", "old"]
    repo.git("add", "answer.md")
    (repo.root / "third.md").write_text(ANSWER.replace("new", "third"))
    shell(repo, "clada third.md")
    assert repo.files() == ["answer.md", "new.txt", "newer.txt", "old", "third.txt"]


def test_a_tracked_answer_is_a_file_like_others(repo: Repo) -> None:
    """What was changed in it goes into the commit before the run."""
    repo.commit(**{"answer.md": "as yet empty\n"})
    (repo.root / "answer.md").write_text(ANSWER)
    shell(repo, "clada answer.md")
    assert repo.names("HEAD~1") == ["answer.md"]


def test_an_answer_that_writes_itself_is_not_committed(repo: Repo) -> None:
    """Where a document names its own file, that stays untracked, too."""
    repo.commit(old="1")
    (repo.root / "answer.md").write_text(f'{ANSWER}<---WRITE file="answer.md"--->\nx\n<---END--->\n')
    shell(repo, "clada answer.md")
    assert (repo.names(), repo.status()) == (["new.txt"], ["?? answer.md"])
