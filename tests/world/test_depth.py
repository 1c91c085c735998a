"""Deep trees: what is done to one costs as much as it has entries, and few handles, whatever its depth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.counting import calls
from tests.handles import few_handles, open_handles

from clada.commands.judgements import BuiltIn
from clada.errors import CladaError
from clada.operations.builtins import run
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from tests.conftest import Place

    from clada.world.files.tree import Files


def _do(files: Files, name: str, *operands: str, **options: bool) -> None:
    done = run(BuiltIn(name, options, operands), files, (), lambda _line: None)
    assert (done.refused, done.exit_code) == (None, 0)


def _make_a_tree(files: Files, depth: int) -> None:
    """Make a tree with two directories and a file at each level."""
    way = "/".join(["d"] * depth)
    _do(files, "mkdir", way, p=True)
    _do(files, "mkdir", *(f"{way[: 2 * level - 1]}/beside" for level in range(1, depth)))
    _do(files, "touch", *(f"{way[: 2 * level - 1]}/file" for level in range(1, depth)))


def _handle_a_tree(files: Files) -> None:
    """Copy, move and remove such a tree."""
    _do(files, "cp", "d", "copy", a=True)
    _do(files, "mv", "copy", "moved")
    _do(files, "rm", "moved", "d", r=True)
    assert files.names(()) == []


def _calls_for(files: Files, depth: int) -> int:
    """Count what a tree takes, but for making it: its paths together grow with the square of the depth."""
    _make_a_tree(files, depth)
    return calls(lambda: _handle_a_tree(files))


@pytest.mark.slow
def test_twice_the_depth_costs_twice_the_work(place: Place) -> None:
    """And a little more, for the ways down that are walked again; the square would be four times."""
    with Workspace(str(place.inside)) as files:
        assert _calls_for(files, 200) < 2.5 * _calls_for(files, 100)


@pytest.mark.slow
def test_a_deep_tree_takes_few_handles(place: Place) -> None:
    """However deep it is; and all are given back."""
    before = open_handles()
    with few_handles(50), Workspace(str(place.inside)) as workspace:
        _make_a_tree(workspace, 300)
        _handle_a_tree(workspace)
    assert open_handles() == before


def test_a_way_that_ends_at_a_link_leaves_no_handle_open(place: Place) -> None:
    """Nor one that leads nowhere, or into a file; however often it is walked."""
    deep = ("d",) * 100
    os.makedirs(place.inside / "/".join(deep))
    os.symlink("d", place.inside / "/".join(deep) / "link")
    place.write("/".join((*deep, "file")))
    with few_handles(50), Workspace(str(place.inside)) as workspace:
        for name, error in (("link", "symlink_not_allowed"), ("file", "file_not_found")) * 30:
            workspace.forget()
            with pytest.raises(CladaError) as raised:
                workspace.names((*deep, name, "more"))
            assert raised.value.error.type == error
        workspace.forget()
        before = open_handles()
        assert workspace.entry((*deep, "none", "more")) is None
        workspace.forget()
        assert open_handles() == before


def test_what_is_moved_away_from_a_deep_way_is_not_found_there(place: Place) -> None:
    """The handles on the way are kept, and each is looked at before it is used again."""
    deep = ("d",) * 100
    os.makedirs(place.inside / "/".join(deep) / "beside")
    with Workspace(str(place.inside)) as workspace:
        assert workspace.names(deep) == ["beside"]
        top = place.inside / "/".join(deep[:40])
        top.rename(place.outside / "moved")
        assert workspace.entry(deep) is None
        top.symlink_to(place.outside / "moved")
        with pytest.raises(CladaError, match="is a symbolic link"):
            workspace.names((*deep, "beside"))
        for size in range(99, 40, -1):
            with pytest.raises(CladaError, match="is a symbolic link"):
                workspace.make(("d",) * size + ("new",))
    assert os.listdir(place.outside / "moved") == ["d"]
