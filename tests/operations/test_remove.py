"""remove: files, links, and directories with all that is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.model import Change, Done

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("file", ["folder", "folder/deep", "folder/deep/file", "folder/file"]),
        ("./file", ["folder", "folder/deep", "folder/deep/file", "folder/file"]),
        ("folder", ["file"]),
        ("folder/", ["file"]),
        ("folder/deep", ["file", "folder", "folder/file"]),
        ("folder/deep/file", ["file", "folder", "folder/deep", "folder/file"]),
        ("folder\\file", ["file", "folder", "folder/deep", "folder/deep/file"]),
    ],
)
def test_it_goes_with_all_that_is_in_it(
    files: Files, place: Place, attempt: Attempt, path: str, left: list[str]
) -> None:
    """And nothing else does; the directory that it was in stays."""
    from clada.world.files.tree import walk

    for file in ("file", "folder/file", "folder/deep/file"):
        place.write(file)
    outcome = attempt(files, "remove", path=path)
    assert isinstance(outcome, Done)
    normal = path.replace("\\", "/").removeprefix("./").rstrip("/")
    assert (outcome.how, outcome.target, outcome.changes) == ("removed", path, (Change(normal, "removed"),))
    assert sorted("/".join(parts) for parts, _ in walk(files, ())) == left


def test_a_wide_tree_goes(files: Files, place: Place, attempt: Attempt) -> None:
    """More directories than handles are kept open."""
    for number in range(100):
        place.write(f"tree/{number}/a/file")
    assert isinstance(attempt(files, "remove", path="tree"), Done)
    assert files.names(()) == []


def test_what_was_removed_can_be_written_again(files: Files, place: Place, attempt: Attempt) -> None:
    """Nothing of what was there comes back with it."""
    place.write("folder/old")
    place.write("folder/deep/old")
    attempt(files, "remove", path="folder")
    attempt(files, "write", path="folder/new", content="x")
    assert files.names(("folder",)) == ["new"]
    attempt(files, "remove", path="folder")
    attempt(files, "write", path="folder", content="now a file")
    assert files.load(("folder",)) == b"now a file"
