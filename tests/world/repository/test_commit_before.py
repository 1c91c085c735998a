"""The commit before a run is made right before the first change, and none is made where nothing changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests import command_line
from tests.world.repository.conftest import Repo

if TYPE_CHECKING:
    from subprocess import CompletedProcess

FAILING_EDIT = '{"tasks": [{"action": "edit", "path": "a.txt", "search": "missing", "replace": "x"}]}'
NOTHING_CHANGES = {
    "a failed edit": FAILING_EDIT,
    "a reader": "<---RUN--->\ncat a.txt\n<---END--->",
    "git status": "<---RUN--->\ngit status\n<---END--->",
    "the same content": '<---WRITE file="a.txt"--->\nmine\n\n<---END--->',
    "a directory that is there": "<---RUN--->\nmkdir -p folder\n<---END--->",
    "the same mode": "<---RUN--->\nchmod 644 a.txt\n<---END--->",
    "a command that is refused": "<---RUN--->\nmake\n<---END--->",
}
SOMETHING_CHANGES = {
    "a write": '<---WRITE file="b.txt"--->\nnew\n<---END--->',
    "an edit": FAILING_EDIT.replace("missing", "mine"),
    "a new directory": "<---RUN--->\nmkdir new\n<---END--->",
    "a move": "<---RUN--->\nmv a.txt b.txt\n<---END--->",
    "a mode": "<---RUN--->\nchmod +x a.txt\n<---END--->",
    "a removal": "<---RUN--->\nrm a.txt\n<---END--->",
    "an approved command, which may change anything": "<---RUN--->\npython3 -c pass\n<---END--->",
}


def run(repo: Repo, document: str, *flags: str) -> CompletedProcess[bytes]:
    """Run the command line in the workspace."""
    return command_line.run(
        *flags, document=document.encode(), directory=repo.workspace, environment=dict(os.environ)
    )


@pytest.fixture
def dirty(repo: Repo) -> Repo:
    """Return a repository with a commit and a change that is not committed."""
    (repo.root / "folder").mkdir()
    repo.commit(**{"a.txt": "1\n", "folder/c.txt": "c\n"})
    repo.write("a.txt", "mine\n").chmod(0o644)
    return repo


@pytest.mark.parametrize("document", NOTHING_CHANGES.values(), ids=NOTHING_CHANGES)
def test_a_run_that_changes_nothing_makes_no_commit(dirty: Repo, document: str) -> None:
    """The branch, the index and the tree are as before."""
    before, index = dirty.head(), (dirty.root / ".git/index").read_bytes()
    run(dirty, document)
    assert (dirty.head(), dirty.status()) == (before, [" M a.txt"])
    assert (dirty.root / ".git/index").read_bytes() == index


@pytest.mark.parametrize("document", SOMETHING_CHANGES.values(), ids=SOMETHING_CHANGES)
def test_what_was_there_is_committed_before_the_first_change(dirty: Repo, document: str) -> None:
    """Any operation can be the first; an operation that failed before it makes no difference."""
    for text in (document, FAILING_EDIT + document) if document[0] == "<" else (document,):
        dirty.write("a.txt", "mine\n").chmod(0o644)
        run(dirty, text, "--approve=python3 -c pass")
    pre = next(
        line.split()[0] for line in dirty.git("log", "--format=%H %s").splitlines() if "[clada:pre]" in line
    )
    assert dirty.git("show", f"{pre}:a.txt") == "mine"
    assert dirty.names(pre) == ["a.txt"]


def test_the_history_names_the_commit_before_the_run(dirty: Repo) -> None:
    """Also after a kill, because it is noted when it is made; a run that changed nothing has none."""
    run(dirty, NOTHING_CHANGES["a failed edit"])
    run(dirty, SOMETHING_CHANGES["a write"])
    pre = dirty.git("rev-parse", "HEAD~1")
    from clada import history

    assert [each.pre for each in history(dirty.workspace)] == [pre, ""]


def test_what_cannot_be_committed_is_refused_before_the_first_operation(dirty: Repo) -> None:
    """Although that one changes nothing."""
    (dirty.root / ".git/MERGE_HEAD").write_text(dirty.head())
    done = run(dirty, NOTHING_CHANGES["a reader"])
    assert done.returncode == 1
    assert b"FATAL: GIT - a merge is in progress" in done.stdout
    assert b"mine" not in done.stdout


def test_nothing_changes_where_the_commit_before_can_no_longer_be_made(dirty: Repo) -> None:
    """A lock that another program takes meanwhile: each operation that would change something fails."""
    lock = dirty.root / ".git/HEAD.lock"
    report = dirty.execute(
        "<---RUN--->\ncat a.txt\n<---END--->\n" + SOMETHING_CHANGES["a write"],
        on_event=lambda _event: lock.touch(),
    )
    assert [task.status for task in report.tasks] == ["success", "error"]
    assert report.tasks[1].error
    assert "another git process holds" in report.tasks[1].error.message
    assert (dirty.status(), len(dirty.subjects())) == ([" M a.txt"], 1)


def test_what_is_staged_meanwhile_is_seen(dirty: Repo) -> None:
    """What was found at the start does not count any more, once the index has changed."""

    def stage(_event: object) -> None:
        dirty.write("staged.txt")
        dirty.git("add", "staged.txt")

    dirty.execute("<---RUN--->\ncat a.txt\n<---END--->\n" + SOMETHING_CHANGES["a write"], on_event=stage)
    assert dirty.names("HEAD~1") == ["a.txt", "staged.txt"]
    assert dirty.status() == []
