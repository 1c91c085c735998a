"""What the user had not committed is never reverted or lost: not by a run, nor by plain git afterwards."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests import command_line
from tests.conftest import picture
from tests.world.repository.conftest import Repo

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Work:
    """What a user does in a workspace before a run."""

    def __init__(self, repo: Repo) -> None:
        self.repo, self.below = repo, os.path.relpath(repo.workspace, repo.root)

    def git(self, *arguments: str) -> None:
        """Run git in the workspace."""
        self.repo.git("-C", self.below, *arguments)

    def write(self, name: str, content: str) -> Path:
        """Write a file of the workspace."""
        return self.repo.write(f"{self.below}/{name}", content)

    def staged(self) -> None:
        """Stage an edit."""
        self.write("old.txt", "1\nmine\n")
        self.git("add", "old.txt")

    def partly_staged(self) -> None:
        """Stage an edit, and go on editing."""
        self.staged()
        self.write("old.txt", "1\nmine\nand more\n")

    def staged_and_put_back(self) -> None:
        """Stage an edit, and take it back in the tree."""
        self.staged()
        self.write("old.txt", "1\n")

    def changed(self) -> None:
        """Edit, and stage nothing."""
        self.write("old.txt", "1\nmine\n")

    def new(self) -> None:
        """Make a file that git does not know."""
        self.write("new.txt", "mine\n")

    def new_staged(self) -> None:
        """Make a file, and add it."""
        self.new()
        self.git("add", "new.txt")

    def new_partly_staged(self) -> None:
        """Make a file, add it, and go on editing."""
        self.new_staged()
        self.write("new.txt", "mine\nand more\n")

    def announced(self) -> None:
        """Make a file, and announce it."""
        self.new()
        self.git("add", "-N", "new.txt")

    def deleted(self) -> None:
        """Delete a file, and stage nothing."""
        (self.repo.workspace / "old.txt").unlink()

    def deletion_staged(self) -> None:
        """Delete a file, and stage that."""
        self.git("rm", "-q", "old.txt")

    def taken_out(self) -> None:
        """Have git forget a file that stays in the tree."""
        self.git("rm", "-q", "--cached", "old.txt")

    def renamed(self) -> None:
        """Rename a file, and edit it."""
        self.git("mv", "old.txt", "renamed.txt")
        self.write("renamed.txt", "1\nmine\n")

    def mode_changed(self) -> None:
        """Make a file executable, and stage that."""
        (self.repo.workspace / "old.txt").chmod(0o755)
        self.git("add", "old.txt")

    def mode_partly_staged(self) -> None:
        """Make a file executable, stage that, and edit it."""
        self.mode_changed()
        self.write("old.txt", "1\nmine\n")


STATES: list[Callable[[Work], None]] = [
    each for name, each in vars(Work).items() if name not in {"git", "write"} and not name.startswith("_")
]
# What no commit takes: git is told not to, or the tree has what HEAD has. It stays staged as it was.
LEFT_ALONE = {Work.announced, Work.taken_out, Work.staged_and_put_back}
# What is staged elsewhere in the repository is committed by the user alone.
AFTERWARDS = {
    "commit": ["commit -q --allow-empty -m mine"],
    "commit -a": ["commit -q --allow-empty -a -m mine"],
    "stash": ["stash -q -u", "stash pop -q --index"],
    "nothing": [],
}


@pytest.fixture(params=["root", "subdirectory"])
def work(request: pytest.FixtureRequest, repo: Repo) -> Work:
    """Return a workspace with two committed files, which may be a part of its repository."""
    if request.param == "subdirectory":
        repo.workspace = repo.root / "part"
    made = Work(repo)
    made.write("old.txt", "1\n")
    made.write("other.txt", "1\n")
    repo.commit(elsewhere="1")
    return made


@pytest.mark.sample(24)
@pytest.mark.parametrize(
    ("state", "afterwards"),
    [
        (state, afterwards)
        for state in STATES
        for afterwards in AFTERWARDS
        if not (afterwards == "stash" and state in {Work.announced, Work.taken_out})  # git refuses it itself
    ],
)
def test_nothing_of_the_users_is_reverted(work: Work, state: Callable[[Work], None], afterwards: str) -> None:
    """After the run, and after what the user does then, the files are there; no commit takes an edit back."""
    repo = work.repo
    state(work)
    if repo.workspace != repo.root:
        repo.write("elsewhere", "staged")
        repo.git("add", "elsewhere")
        repo.write("elsewhere", "and changed")
    before = _files(repo.root)
    assert _run(repo, '<---WRITE file="other.txt"--->\nby the run\n<---END--->') == 0
    files, written = _files(repo.root), os.path.normpath(f"{work.below}/other.txt")
    assert {**files, written: None} == {**before, written: None}
    commits = repo.git("rev-list", "HEAD").splitlines()
    if repo.workspace != repo.root:
        assert repo.git("show", ":elsewhere") == "staged"
        assert repo.git("show", "HEAD:elsewhere") == "1"
    if state not in LEFT_ALONE:
        assert repo.git("diff", "--cached", "--name-only", "--", work.below) == ""
        assert repo.git("status", "--porcelain", "--", work.below) == ""
    repo.write("later")  # so that there is something to stash
    for command in AFTERWARDS[afterwards]:
        repo.git(*command.split())
    assert {path: each for path, each in _files(repo.root).items() if path != "later"} == files
    assert repo.git("rev-list", "HEAD").splitlines()[-len(commits) :] == commits
    if state not in LEFT_ALONE:
        assert repo.git("diff", "HEAD", "--", work.below) == ""


def _run(repo: Repo, document: str, *flags: str) -> int:
    done = command_line.run(
        *flags, document=document.encode(), directory=repo.workspace, environment=dict(os.environ)
    )
    assert isinstance(done.returncode, int)
    return done.returncode


def _files(root: Path) -> dict[str, object]:
    return {path: each for path, each in picture(root).items() if path.split("/")[0] != ".git"}


def test_what_is_staged_stays_so_where_the_commit_does_not_take_it(work: Work) -> None:
    """As it was before the run: taken out, announced, or put back in the tree."""
    work.write("out.txt", "1\n")
    work.repo.commit()
    work.git("rm", "-q", "--cached", "out.txt")
    work.announced()
    work.staged_and_put_back()
    before = sorted(work.repo.status())
    assert _run(work.repo, '<---WRITE file="other.txt"--->\nby the run\n<---END--->') == 0
    assert sorted(work.repo.status()) == before


def test_the_run_changes_what_was_staged_in_part(work: Work) -> None:
    """The commit before it has the user's work, and the one after it the run's; nothing is staged."""
    work.partly_staged()
    repo = work.repo
    assert _run(repo, '<---WRITE file="old.txt"--->\n1\nclada\nand more\n\n<---END--->') == 0
    path = os.path.normpath(f"{work.below}/old.txt")
    assert repo.git("show", f"HEAD~1:{path}") == "1\nmine\nand more"
    assert repo.git("show", f"HEAD:{path}") == repo.git("show", f":{path}") == "1\nclada\nand more"
    assert repo.status() == []
