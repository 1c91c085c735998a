"""How runs are recorded, as the command line says and asks it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
CAT = "<---RUN--->\ncat mine.txt\n<---END--->\n"
NOTE = "clada: not a git repository: the run is recorded by a snapshot, which clada undo takes back\n"


# The commits, in one line.


def short(repository: Shell, commit: str = "HEAD") -> str:
    """Return the first letters of a commit."""
    return repository.git("rev-parse", commit)[:7]


def test_a_run_names_its_commits(repository: Shell) -> None:
    """Only those that were made."""
    repository.write("mine.txt", "mine\n")
    done = repository(document=WRITE)
    words = f"{short(repository, 'HEAD~1')} (your work before), {short(repository)} (this run)"
    assert done.stderr == f"clada: committed {words}\n"
    done = repository(document=WRITE.replace("hi", "ho"))
    assert done.stderr == f"clada: committed {short(repository)} (this run)\n"
    repository.write("mine.txt", "mine too\n")
    done = repository("--approve=python3 -c pass", document="<---RUN--->\npython3 -c pass\n<---END--->\n")
    assert f"clada: committed {short(repository)} (your work before)\n" in done.stderr


@pytest.mark.parametrize("flags", [["--record=snapshots"], ["--no-git"], ["--dry-run"]])
def test_a_run_without_commits_names_none(repository: Shell, flags: list[str]) -> None:
    """Nor does one that changed nothing."""
    repository.write("mine.txt", "mine\n")
    assert "committed" not in repository(*flags, document=WRITE).stderr
    assert "committed" not in repository(document=CAT).stderr


def test_what_programs_read_is_as_it_was(repository: Shell) -> None:
    """Summaries on standard output, and events on standard error."""
    repository.write("mine.txt", "mine\n")
    json.loads(repository("--summary=json", "--output-mode=silent", document=WRITE).stdout)
    ET.fromstring(repository("--summary=xml", "--output-mode=silent", document=WRITE + CAT).stdout)
    done = repository("--events=jsonl", document=WRITE.replace("hi", "again"))
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()][-1] == "run_ended"


# Without a repository.


def test_outside_of_a_repository_runs_are_recorded_by_snapshots(shell: Shell) -> None:
    """With a note; history and undo work."""
    shell.write("a.txt", "old\n")
    done = shell(document=WRITE)
    assert (done.returncode, done.stderr) == (0, NOTE)
    assert shell("history").stdout.count("\n") == 1
    assert shell("undo").stdout.startswith("undone: run 1 ")
    assert (shell.workspace / "a.txt").read_text() == "old\n"
    assert not (shell.workspace / ".git").exists()


@pytest.mark.parametrize("command", [[], ["plan"]])
def test_commits_that_are_asked_for_are_refused_there(shell: Shell, command: list[str]) -> None:
    """Before anything is executed."""
    done = shell(*command, "--record=commits", document=WRITE)
    assert done.returncode == 1
    assert "FATAL: GIT - not a git repository" in done.stdout
    assert os.listdir(shell.workspace) == []


def test_a_repository_that_is_named_must_be_there(shell: Shell) -> None:
    """It was asked for, too."""
    done = shell(f"--repository={shell.workspace}", document=WRITE)
    assert (done.returncode, os.listdir(shell.workspace)) == (1, [])


def test_a_damaged_repository_is_not_passed_over(shell: Shell) -> None:
    """A .git that is of no use is something to repair."""
    (shell.workspace / ".git").mkdir()
    done = shell(document=WRITE)
    assert done.returncode == 1
    assert "FATAL: GIT - not a git repository" in done.stdout


def test_the_plan_of_such_a_run_is_not_refused(shell: Shell) -> None:
    """As the run is not."""
    done = shell("plan", document=WRITE)
    assert (done.returncode, os.listdir(shell.workspace)) == (0, [])
