"""move: where things end up, by the table of the specification; on disk and on the overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.model import Change, Done, Failed

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files

BEFORE = ("file", "other", "folder/inside", "full/folder/x", "full/inside")

# From, to, and the place where it is then, which the report names.
MOVES = {
    ("file", "new"): "new",
    ("file", "deep/er/new"): "deep/er/new",
    ("file", "new/"): "new/file",
    ("file", "deep/er/"): "deep/er/file",
    ("file", "other"): "other",
    ("file", "folder"): "folder/file",
    ("file", "folder/"): "folder/file",
    ("file", "folder/inside"): "folder/inside",
    ("folder", "new"): "new",
    ("folder", "new/"): "new",
    ("folder", "deep/er/new/"): "deep/er/new",
    ("folder/inside", "."): "inside",
    ("full/inside", "full/folder/../renamed"): "full/renamed",
    ("folder\\inside", "new\\"): "new/inside",
}


@pytest.fixture(autouse=True)
def tree(place: Place) -> None:
    """Set up the tree."""
    for path in BEFORE:
        place.write(path, path)


@pytest.mark.parametrize(("source", "to"), MOVES)
def test_where_it_goes(files: Files, attempt: Attempt, source: str, to: str) -> None:
    """Onto a directory means into it; a slash means a directory; parents are made; a file is overwritten."""
    end = MOVES[source, to]
    outcome = attempt(files, "move", source=source, to=to)
    assert isinstance(outcome, Done)
    assert (outcome.how, outcome.target) == ("moved", f"{source} -> {to}")
    start = source.replace("\\", "/")
    assert outcome.changes == (Change(start, "removed"), Change(end, "moved"))
    assert files.entry(tuple(start.split("/"))) is None
    inside = tuple(end.split("/")) + (("inside",) if source == "folder" else ())
    expected = "folder/inside" if source == "folder" else start
    assert files.load(inside) == expected.encode()


def test_a_file_goes_over_one_in_the_directory_that_it_is_moved_into(files: Files, attempt: Attempt) -> None:
    """As it would if the place were named in full."""
    assert isinstance(attempt(files, "move", source="folder/inside", to="full"), Done)
    assert files.load(("full", "inside")) == b"folder/inside"


def test_a_directory_is_merged_into_no_other(files: Files, attempt: Attempt) -> None:
    """Into a directory that has a full one of the same name: refused. An empty one is replaced."""
    outcome = attempt(files, "move", source="folder", to="full")
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "permission_denied"
    attempt(files, "remove", path="full/folder/x")
    assert isinstance(attempt(files, "move", source="folder", to="full"), Done)
    assert files.names(("full", "folder")) == ["inside"]


def test_a_moved_tree_can_be_worked_on(files: Files, attempt: Attempt) -> None:
    """Moved, edited, moved on, and partly moved back."""
    attempt(files, "move", source="full", to="a/b")
    attempt(files, "edit", path="a/b/folder/x", search="full", replace="FULL")
    attempt(files, "move", source="a", to="c")
    attempt(files, "move", source="c/b/folder", to="folder/")
    assert files.names(()) == ["c", "file", "folder", "other"]
    assert files.load(("folder", "folder", "x")) == b"FULL/folder/x"
    assert files.load(("c", "b", "inside")) == b"full/inside"
    assert files.entry(("c", "b", "folder")) is None
