"""With --allow-escape, the workspace by its other names: links to it and mounts of it are the workspace."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError
from clada.model import Done, Failed
from clada.world.files.overlay import Overlay
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.fixture(params=["disk", "overlay"])
def files(request: pytest.FixtureRequest, place: Place) -> Iterator[Files]:
    """Return both kinds of access to a workspace that has links to it outside."""
    place.write("sub/file", "old")
    place.write("../outside/file", "outside")
    (place.inside / ".git").mkdir()
    (place.outside / "whole").symlink_to(place.inside)
    (place.outside / "part").symlink_to("../workspace/sub")
    (place.outside / "above").symlink_to(place.top)
    (place.outside / "chain").symlink_to("above")
    (place.outside / "higher").symlink_to(place.top.parent)
    with Workspace(str(place.inside), allow_escape=True) as workspace:
        yield workspace if request.param == "disk" else Overlay(workspace)


INSIDE = {
    "whole/new": ("new",),
    "whole/sub/new": ("sub", "new"),
    "part/new": ("sub", "new"),
    "part/deep/new": ("sub", "deep", "new"),
    "above/workspace/new": ("new",),
    "chain/workspace/sub/new": ("sub", "new"),
    "whole/../whole/sub/../new": ("new",),
}


@pytest.mark.parametrize("path", INSIDE)
def test_what_leads_into_the_workspace_is_inside(
    place: Place, files: Files, attempt: Attempt, path: str
) -> None:
    """So it is recorded as what it is."""
    expected = INSIDE[path]
    outcome = attempt(files, "write", path=str(place.outside / path), content="new")
    assert isinstance(outcome, Done)
    assert outcome.changes[0].path == "/".join(expected)
    assert expected in files.touched
    assert files.load(expected) == b"new"


OUTSIDE = ("file", "other/new", "above/outside/file", "whole-2/new")


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_does_not_is_outside(place: Place, files: Files, path: str) -> None:
    """And stays as it is written."""
    located = files.locate(str(place.outside / path))
    assert "/" + "/".join(located[1:]) == str(place.outside / path)


@pytest.mark.parametrize("path", ["above/workspace", "chain/workspace", "above", "higher/{}"])
@pytest.mark.parametrize("operation", ["remove", "move"])
def test_the_workspace_is_not_taken_away_by_another_name(
    place: Place, files: Files, attempt: Attempt, path: str, operation: str
) -> None:
    """Nor is a directory that it lies in; a link to it may go."""
    before = place.picture()
    taken = f"{place.outside}/{path.format(place.top.name)}"
    fields = {"path": taken} if operation == "remove" else {"source": taken, "to": f"{place.outside}/moved"}
    outcome = attempt(files, operation, **fields)
    if path == "above":
        assert isinstance(outcome, Done)
        assert files.entry(()) is not None
        assert (place.inside / "sub/file").exists()
    else:
        assert isinstance(outcome, Failed)
        assert outcome.error.type == "permission_denied"
        assert place.picture() == before


def test_what_is_protected_is_so_by_all_names(place: Place, files: Files) -> None:
    """A link that leads to git's directory does not say so by its own name."""
    (place.outside / "innocent").symlink_to(place.inside / ".git")
    for path in ("innocent/config", "whole/.git/config"):
        with pytest.raises(CladaError) as raised:
            files.locate(str(place.outside / path))
        assert raised.value.error.type == "permission_denied"


@pytest.fixture
def mounted(place: Place, files: Files) -> Iterator[Files]:
    """Have the workspace mounted once more, outside."""
    (place.outside / "holder/mount").mkdir(parents=True)
    command = ["mount", "--bind", str(place.inside), str(place.outside / "holder/mount")]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("nothing can be mounted here: " + done.stderr.decode().strip())
    yield files
    subprocess.run(["umount", "--lazy", str(place.outside / "holder/mount")], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")
def test_a_mount_of_the_workspace_is_the_workspace(place: Place, mounted: Files, attempt: Attempt) -> None:
    """It has no other path, and yet it is the same directory."""
    path = str(place.outside / "holder/mount")
    assert isinstance(attempt(mounted, "write", path=f"{path}/sub/new", content="new"), Done)
    assert ("sub", "new") in mounted.touched
    for taken in (path, str(place.outside / "holder"), str(place.outside)):
        assert attempt.refusal(mounted, "remove", path=taken) == "permission_denied"
    assert (place.inside / "sub/file").exists()
