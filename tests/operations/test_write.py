"""write: what it says of what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.model import Change, Done
from clada.operations.edit import Edit, Hunk
from clada.operations.write import Write
from clada.settings import Settings
from clada.world.world import World

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.mark.parametrize(
    "case",
    [
        ("new", "x", False, "created"),
        ("new/deep/./file", "x", False, "created"),
        ("new", "x", True, "created"),
        ("new", "", True, "created"),
        ("old", "x", False, "overwritten"),
        ("old", "dlo", False, "overwritten"),
        ("old", "", False, "overwritten"),
        ("old", "old", False, "unchanged"),
        ("./old", "x", True, "appended"),
        ("old", "", True, "unchanged"),
        ("empty", "", False, "unchanged"),
    ],
)
def test_it_says_how_and_what_it_changed(
    files: Files, place: Place, attempt: Attempt, case: tuple[str, str, bool, str]
) -> None:
    """The bytes are those of the content; a change has the path as it is in the tree."""
    path, content, append, how = case
    place.write("old", "old")
    place.write("empty", "")
    outcome = attempt(files, "write", path=path, content=content, append=append)
    assert isinstance(outcome, Done)
    assert (outcome.how, outcome.target, outcome.bytes) == (how, path, len(content))
    normal = "/".join(part for part in path.split("/") if part != ".")
    assert outcome.changes == (() if how == "unchanged" else (Change(normal, how),))


@pytest.mark.parametrize(
    ("content", "written"), [("x", b"x\n"), ("x\n", b"x\n"), ("x\r\n", b"x\r\n"), ("", b""), ("\n", b"\n")]
)
def test_a_final_newline_can_be_asked_for(files: Files, content: str, written: bytes) -> None:
    """It is added where there is none; an empty file stays empty."""
    world = World(files, Settings(final_newline=True), lambda _event: None)
    Write(1, (0, 0), {}, "file", content).apply(world)
    assert files.load(("file",)) == written


def test_a_write_over_an_edit_that_waits_comes_after_it(files: Files, place: Place, attempt: Attempt) -> None:
    """What is held in memory is in the file before anything is added to it."""
    place.write("file", "one")
    world = World(files, Settings(), lambda _event: None)
    Edit(1, (0, 0), {}, "file", (Hunk("one", "1"),)).apply(world)
    attempt(files, "write", path="file", content="two", append=True)
    assert files.load(("file",)) == b"1\ntwo"
