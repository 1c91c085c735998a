"""What is all or nothing is taken back by an ordinary user too, whatever modes files and directories have."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest
from tests.test_atomic import tree

import clada
from clada.world.record import history, recover, scan

if TYPE_CHECKING:
    from pathlib import Path

    from tests.world.record.conftest import Ordinary

LOADED = (
    hashlib,
    history,
    recover,
    scan,
)  # early, for an ordinary user may not be able to read root's Python
FAILING = '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
PATHS = ("a", "b", "d", "d/x", "d/e", "d/e/f", "l", "h", "d/closed", "d/closed/in", "new", "new/y", "d/new")
OPERATIONS = (
    '<---WRITE file="{0}"--->\nother\n<---END--->\n',
    '<---WRITE file="{0}" append="true"--->\nmore\n<---END--->\n',
    '<---SEARCH file="{0}" count="all"--->\no\n<---REPLACE--->\n0\n<---END--->\n',
    "<---RUN--->\nmv {0} {1}\n<---END--->\n",
    "<---RUN--->\nrm -r {0}\n<---END--->\n",
    "<---RUN--->\ncp -r {0} {1}\n<---END--->\n",
    "<---RUN--->\nmkdir -p {0}\n<---END--->\n",
    "<---RUN--->\nchmod {2} {0}\n<---END--->\n",
    "<---RUN--->\ntouch {0}\n<---END--->\n",
)


def make(top: Path) -> None:
    """Make a tree with a link, a second name for a file, private files and a directory that is read-only."""
    (top / "d/e").mkdir(parents=True)
    (top / "d/closed").mkdir()
    for path in ("a", "b", "d/x", "d/e/f", "d/closed/in"):
        (top / path).write_text(f"content of {path}\n")
    (top / "l").symlink_to("a")
    (top / "h").hardlink_to(top / "b")
    (top / "a").chmod(0o600)


def check(ordinary: Ordinary, document: str) -> None:
    """Carry out a document that fails, as an ordinary user, and compare the trees before and after."""
    top = ordinary.top / "workspace"
    make(top)

    def fail() -> None:
        (top / "d/closed").chmod(0o555)
        before = tree(top)
        report = clada.execute(
            f"{document}{FAILING}", workspace=top, record="none", atomic=True, approve_all=True, sandbox="off"
        )
        assert tree(top) == before, document
        assert report.error is None, document
        assert "success" not in {task.status for task in report.tasks}
        (top / "d/closed").chmod(0o755)

    ordinary.do(fail)


@pytest.mark.parametrize(
    "document",
    [
        "<---RUN--->\nchmod 755 d/closed/in\n<---END--->\n",
        "<---RUN--->\nrm d/e/f && chmod 444 d/e\n<---END--->\n",
        "<---RUN--->\nrm d/e/f && chmod 000 d/e && chmod 000 d\n<---END--->\n",
        '<---RUN--->\nrm a\n<---END--->\n<---WRITE file="a"--->\nanother\n<---END--->\n',
        "<---RUN--->\nmv a d/x && mv b a && mv d/x b\n<---END--->\n",
        '<---RUN--->\nrm -r d/e\n<---END--->\n<---WRITE file="d/e"--->\na file\n<---END--->\n',
        '<---RUN--->\nrm l && mkdir l\n<---END--->\n<---WRITE file="l/in"--->\nx\n<---END--->\n',
    ],
    ids=["read-only", "closed", "closed twice", "made anew", "around", "file for directory", "for a link"],
)
def test_what_stands_in_the_way_of_putting_back_is_put_aside(ordinary: Ordinary, document: str) -> None:
    check(ordinary, document)


def test_a_directory_that_a_command_opened_for_a_moment(ordinary: Ordinary) -> None:
    change = "chmod u+w d/closed; echo changed > d/closed/in; rm -f a; chmod u-w d/closed"
    check(ordinary, f"<---RUN--->\nsh -c '{change}'\n<---END--->\n")


def test_a_run_that_closed_a_directory_can_be_undone_and_done_again(ordinary: Ordinary) -> None:
    top = ordinary.top / "workspace"
    make(top)

    def undo_twice() -> None:
        before = tree(top)
        clada.execute(
            "<---RUN--->\nrm d/e/f && chmod 444 d/e\n<---END--->\n", workspace=top, record="snapshots"
        )
        after = tree(top)
        clada.undo(top, dry_run=True)
        assert tree(top) == after
        clada.undo(top)
        assert tree(top) == before
        clada.undo(top)
        assert tree(top) == after
        (top / "d/e").chmod(0o755)

    ordinary.do(undo_twice)


@pytest.mark.parametrize("documents", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_random_documents(ordinary: Ordinary, documents: int) -> None:
    top = ordinary.top / "workspace"
    top.mkdir()

    def all_of_them() -> None:
        for seed in range(documents):
            _random(top / str(seed), random.Random(seed))

    ordinary.do(all_of_them)


def _random(top: Path, chance: random.Random) -> None:
    make(top)
    (top / "d/closed").chmod(0o555)
    before = tree(top)
    document = "".join(
        chance.choice(OPERATIONS).format(
            chance.choice(PATHS), chance.choice(PATHS), chance.choice(("600", "755", "000", "+x", "444"))
        )
        for _ in range(chance.randrange(2, 7))
    )
    report = clada.execute(f"{document}{FAILING}", workspace=top, record="none", atomic=True)
    assert tree(top) == before, document
    assert report.error is None, document
