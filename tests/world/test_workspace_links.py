"""Links are never followed: each kind of link meets each operation, on disk and on the overlay."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from clada.model import Done
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files

# The name of a link, what it points to, and the path that an operation is given.
LINKS = {
    "leaf to a file inside": ("link", "real/file.txt", "link"),
    "leaf to a file outside": ("link", "../outside/secret.txt", "link"),
    "leaf to a file outside, absolute": ("link", "{outside}/secret.txt", "link"),
    "leaf to a directory inside": ("link", "real", "link"),
    "leaf to a directory outside": ("link", "../outside", "link"),
    "leaf to the workspace itself": ("link", ".", "link"),
    "dangling leaf, inside": ("link", "nowhere", "link"),
    "dangling leaf, outside": ("link", "../outside/nowhere", "link"),
    "leaf to itself": ("link", "link", "link"),
    "leaf in a directory": ("real/link", "../../outside/secret.txt", "real/link"),
    "ancestor, inside": ("link", "real", "link/file.txt"),
    "ancestor, outside": ("link", "../outside", "link/secret.txt"),
    "ancestor, outside, absolute": ("link", "{outside}", "link/secret.txt"),
    "ancestor, to a new file outside": ("link", "../outside", "link/new.txt"),
    "ancestor, to new directories outside": ("link", "../outside", "link/new/new.txt"),
    "ancestor, dangling": ("link", "nowhere", "link/file.txt"),
    "ancestor, to a file": ("link", "real/file.txt", "link/file.txt"),
    "ancestor in a directory": ("real/link", "../../outside", "real/link/secret.txt"),
    "ancestor, to itself": ("link", "link", "link/file.txt"),
}
OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "write": ("write", {"path": "PATH", "content": "new\n"}),
    "append": ("write", {"path": "PATH", "content": "new\n", "append": True}),
    "edit": ("edit", {"path": "PATH", "search": "old", "replace": "new"}),
    "edit a range": (
        "edit",
        {"path": "PATH", "search_start": "o", "search_end": "d", "replace": "new", "count": "all"},
    ),
    "move from": ("move", {"source": "PATH", "to": "moved"}),
    "move from, into a directory": ("move", {"source": "PATH", "to": "folder/"}),
    "move to": ("move", {"source": "plain.txt", "to": "PATH"}),
    "move into": ("move", {"source": "plain.txt", "to": "PATH/"}),
    "move a directory to": ("move", {"source": "folder", "to": "PATH"}),
    "remove": ("remove", {"path": "PATH"}),
}
# These act on a link itself where it is the last component.
LEAVES = {path for link, _, path in LINKS.values() if link == path}
ON_THE_LINK = ("move from", "move from, into a directory", "remove")


@pytest.fixture
def linked(place: Place, request: pytest.FixtureRequest) -> str:
    """Set up a tree with the link of this kind, and return the path to use."""
    link, target, path = LINKS[request.param]
    place.write("real/file.txt")
    place.write("plain.txt")
    place.write("folder/file.txt")
    (place.outside / "secret.txt").write_text("old\n")
    os.symlink(target.format(outside=place.outside), place.inside / link)
    return path


def _fields(operation: str, path: str) -> tuple[str, dict[str, Any]]:
    name, fields = OPERATIONS[operation]
    return name, {
        key: value.replace("PATH", path) if isinstance(value, str) else value for key, value in fields.items()
    }


@pytest.mark.parametrize("linked", LINKS, indirect=True)
def test_what_would_follow_a_link_is_refused(
    files: Files, place: Place, linked: str, attempt: Attempt
) -> None:
    """Nothing is read or written through a link, wherever it leads; and nothing at all is changed."""
    tried = [name for name in OPERATIONS if name not in ON_THE_LINK or linked not in LEAVES]
    before = place.picture()
    for operation in tried:
        name, fields = _fields(operation, linked)
        assert attempt.refusal(files, name, **fields) == "symlink_not_allowed", operation
        assert place.picture() == before, operation
        assert files.changes() == [], operation


@pytest.mark.parametrize("operation", ON_THE_LINK)
@pytest.mark.parametrize("linked", [name for name in LINKS if "leaf" in name], indirect=True)
def test_moving_and_removing_act_on_the_link_itself(
    files: Files, place: Place, linked: str, operation: str, attempt: Attempt
) -> None:
    """The link goes, what it points to stays; on the overlay nothing goes but what it shows."""
    before = place.picture()
    name, fields = _fields(operation, linked)
    expected = dict(before)
    gone = expected.pop(f"workspace/{linked}")
    target = (
        f"{fields['to']}{os.path.basename(linked)}" if fields.get("to") == "folder/" else fields.get("to")
    )
    assert isinstance(attempt(files, name, **fields), Done)
    assert files.entry(files.locate(linked)) is None
    if target:
        expected[f"workspace/{target}"] = gone
        moved = files.entry(files.locate(target))
        assert moved is not None
        assert moved.kind == "link"
    assert place.picture() == (expected if isinstance(files, Workspace) else before)
    assert files.changes() == []


@pytest.mark.parametrize("slash", ["", "/", "//", "/."])
def test_a_slash_behind_a_link_does_not_reach_what_is_behind_it(
    files: Files, place: Place, attempt: Attempt, slash: str
) -> None:
    """`rm -r link/` would empty the directory that the link points to."""
    (place.outside / "secret.txt").write_text("old\n")
    (place.inside / "link").symlink_to(place.outside)
    assert isinstance(attempt(files, "remove", path=f"link{slash}"), Done)
    assert (place.outside / "secret.txt").read_text() == "old\n"


def test_a_directory_is_removed_without_following_the_links_in_it(
    files: Files, place: Place, attempt: Attempt
) -> None:
    """A link inside a directory goes with it; what it points to stays."""
    (place.outside / "secret.txt").write_text("old\n")
    place.write("folder/deep/file.txt")
    (place.inside / "folder/link").symlink_to(place.outside)
    (place.inside / "folder/deep/link").symlink_to(place.outside / "secret.txt")
    outside = {path for path in place.picture() if path.startswith("outside")}
    assert isinstance(attempt(files, "remove", path="folder"), Done)
    assert files.entry(("folder",)) is None
    assert {path for path in place.picture() if path.startswith("outside")} == outside


def test_a_directory_moves_with_the_links_in_it(files: Files, place: Place, attempt: Attempt) -> None:
    """They are not resolved, and not checked: they do not lead anywhere by being moved."""
    place.write("folder/file.txt")
    (place.inside / "folder/link").symlink_to("../../outside")
    assert isinstance(attempt(files, "move", source="folder", to="new/place"), Done)
    moved = files.entry(("new", "place", "link"))
    assert moved is not None
    assert moved.kind == "link"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_links_in_the_workspace_are_refused_even_where_escaping_is_allowed(
    place: Place, operation: str, attempt: Attempt
) -> None:
    """--allow-escape follows links on the way outside of the workspace, not inside."""
    place.write("plain.txt")
    place.write("folder/file.txt")
    place.write("real/file.txt")
    (place.outside / "secret.txt").write_text("old\n")
    (place.inside / "link").symlink_to(place.outside)
    before = place.picture()
    name, fields = _fields(operation, "link/secret.txt")
    with Workspace(str(place.inside), allow_escape=True) as files:
        assert attempt.refusal(files, name, **fields) == "symlink_not_allowed"
    assert place.picture() == before


@pytest.mark.parametrize("operation", ["write", "append", "edit", "move to"])
def test_outside_links_are_followed_on_the_way_but_never_at_the_end(
    place: Place, operation: str, attempt: Attempt
) -> None:
    """Where escaping is allowed, the last component is still not followed."""
    place.write("plain.txt")
    (place.outside / "real").mkdir()
    (place.outside / "real/secret.txt").write_text("old\n")
    (place.outside / "way").symlink_to("real")
    (place.outside / "end").symlink_to("real/secret.txt")
    with Workspace(str(place.inside), allow_escape=True) as files:
        before = place.picture()
        name, fields = _fields(operation, "../outside/end")
        assert attempt.refusal(files, name, **fields) == "symlink_not_allowed"
        assert place.picture() == before
        name, fields = _fields(operation, f"{place.outside}/way/secret.txt")
        assert isinstance(attempt(files, name, **fields), Done)
    assert place.picture() != before
