"""Links that an operation has moved are links still: on disk, and in the overlay of a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("write", {"path": "moved/x", "content": "new"}),
        ("write", {"path": "moved", "content": "new"}),
        ("edit", {"path": "moved/file", "search": "old", "replace": "new"}),
        ("remove", {"path": "moved/file"}),
        ("move", {"source": "moved/file", "to": "here"}),
    ],
)
def test_a_moved_link_is_not_followed(
    place: Place, files: Files, attempt: Attempt, name: str, fields: dict[str, str]
) -> None:
    """Nor is it written to: what it leads to stays as it was."""
    place.write("folder/file")
    (place.inside / "link").symlink_to("folder")
    attempt(files, "move", source="link", to="moved")
    assert attempt.refusal(files, name, **fields) == "symlink_not_allowed"
    assert (place.inside / "folder/file").read_text() == "old\n"
