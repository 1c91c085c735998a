"""Directories that somebody moves while a run is at work in them: nothing lands, or is removed, outside."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import picture

from clada.model import Done, Failed
from clada.world import libc
from clada.world.files.workspace import Workspace
from clada.world.record.journal import Journal
from clada.world.record.snapshot import MB, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Attempt, Place

DEPTHS = pytest.mark.parametrize("folder", ["folder", "top/folder", "top/deep/folder"])

Operation = tuple[str, dict[str, Any]]


@pytest.fixture
def workspace(place: Place) -> Iterator[Workspace]:
    """Return access to the workspace on disk."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace


def _rescue(place: Place, folder: str) -> Path:
    """Move a directory out of the workspace, as a person would who needs it elsewhere."""
    rescued = place.outside / "rescued"
    (place.inside / folder).rename(rescued)
    return rescued


def _in_folder(folder: str, operation: Operation) -> Operation:
    name, fields = operation
    return name, {key: each.format(folder) if isinstance(each, str) else each for key, each in fields.items()}


MAKING: list[Operation] = [
    ("write", {"path": "{}/new", "content": "new"}),
    ("write", {"path": "{}/file", "content": "new"}),
    ("write", {"path": "{}/file", "content": "new", "append": True}),
    ("write", {"path": "{}/deep/new", "content": "new"}),
    ("move", {"source": "plain", "to": "{}/plain"}),
]
NEEDING: list[Operation] = [
    ("edit", {"path": "{}/file", "search": "old", "replace": "new"}),
    ("move", {"source": "{}/file", "to": "elsewhere"}),
    ("remove", {"path": "{}/file"}),
]


@DEPTHS
@pytest.mark.parametrize("operation", [*MAKING, *NEEDING])
def test_a_directory_that_was_moved_out_is_left_alone(
    place: Place, workspace: Workspace, attempt: Attempt, folder: str, operation: Operation
) -> None:
    """Though a handle of it is kept: what the path names now counts, which is made anew or missing."""
    place.write(f"{folder}/file", "old")
    place.write("plain", "plain")
    assert isinstance(attempt(workspace, "write", path=f"{folder}/first", content="x"), Done)
    rescued = _rescue(place, folder)
    before = picture(rescued)
    name, fields = _in_folder(folder, operation)
    assert isinstance(attempt(workspace, name, **fields), Done if operation in MAKING else Failed)
    assert picture(rescued) == before


@pytest.mark.parametrize("link", ["top", "top/folder"])
def test_a_link_to_where_it_was_moved_does_not_help(
    place: Place, workspace: Workspace, attempt: Attempt, link: str
) -> None:
    """The path leads to the same directory again, but through a link, and outside."""
    place.write("top/folder/file", "old")
    assert isinstance(attempt(workspace, "edit", path="top/folder/file", search="old", replace="new"), Done)
    (place.inside / link).rename(place.outside / "moved")
    (place.inside / link).symlink_to(place.outside / "moved")
    before = place.picture()
    assert attempt.refusal(workspace, "write", path="top/folder/file", content="x") == "symlink_not_allowed"
    assert attempt.refusal(workspace, "remove", path="top/folder/file") == "symlink_not_allowed"
    assert place.picture() == before


def test_a_directory_that_got_another_name_is_no_longer_meant(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """What is written goes where the path says, even though the other name is in the workspace too."""
    place.write("folder/file", "old")
    attempt(workspace, "write", path="folder/first", content="x")
    (place.inside / "folder").rename(place.inside / "renamed")
    attempt(workspace, "write", path="folder/second", content="x")
    assert [path.name for path in (place.inside / "folder").iterdir()] == ["second"]
    assert sorted(path.name for path in (place.inside / "renamed").iterdir()) == ["file", "first"]


def test_a_directory_that_was_replaced_is_the_new_one(
    place: Place, workspace: Workspace, attempt: Attempt
) -> None:
    """As when somebody checks out another branch."""
    place.write("folder/file", "old")
    attempt(workspace, "edit", path="folder/file", search="old", replace="older")
    shutil.rmtree(place.inside / "folder")
    place.write("folder/file", "theirs old")
    assert isinstance(attempt(workspace, "edit", path="folder/file", search="old", replace="new"), Done)
    assert (place.inside / "folder/file").read_text() == "theirs new"


def _when(monkeypatch: pytest.MonkeyPatch, call: str, action: Callable[[], object], number: int = 1) -> None:
    """Do something right before the so-manieth call of a function of os, or of ours for the C library."""
    module = os if hasattr(os, call) else libc
    real, calls = getattr(module, call), iter(range(1, 10**6))

    def intercepted(*arguments: Any, **options: Any) -> Any:
        if next(calls) == number:
            action()
        return real(*arguments, **options)

    monkeypatch.setattr(module, call, intercepted)


LAST_STEPS: dict[str, Operation] = {
    "link": ("write", {"path": "{}/new", "content": "new"}),
    "renameat2": ("write", {"path": "{}/file", "content": "new"}),
    "renameat2 of an edit": ("edit", {"path": "{}/file", "search": "old", "replace": "new"}),
    "renameat2 of a move": ("move", {"source": "plain", "to": "{}/plain"}),
}


@DEPTHS
@pytest.mark.parametrize("step", LAST_STEPS)
def test_a_move_at_the_very_moment_of_writing_is_no_success(
    place: Place, attempt: Attempt, monkeypatch: pytest.MonkeyPatch, folder: str, step: str
) -> None:
    """No check can come closer to the step itself; what is done is said, and where to look."""
    place.write(f"{folder}/file", "old")
    place.write("plain", "plain")
    _when(monkeypatch, step.split(maxsplit=1)[0], lambda: _rescue(place, folder))
    name, fields = _in_folder(folder, LAST_STEPS[step])
    with Workspace(str(place.inside)) as workspace:
        outcome = attempt(workspace, name, **fields)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == f"{folder} was moved or removed by another program at this moment"
    assert not (place.inside / folder).exists()


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("to", ["elsewhere", "top/folder/deep/file"])
def test_nothing_is_taken_out_of_a_directory_that_was_replaced_at_the_last_moment(
    place: Place, attempt: Attempt, monkeypatch: pytest.MonkeyPatch, to: str, *, recorded: bool
) -> None:
    """Though another one stands at its place by then: neither is what was looked at, and still there."""
    place.write("top/folder/file", "old")

    def replace() -> None:
        _rescue(place, "top/folder")
        place.write("top/folder/file", "theirs")

    with Workspace(str(place.inside)) as workspace, Journal(str(place.outside / "journal")) as journal:
        if recorded:
            workspace.record_in(Snapshot(journal, MB))
        _when(monkeypatch, "dup", replace)
        outcome = attempt(workspace, "move", source="top/folder/file", to=to)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "top/folder was moved or removed by another program at this moment"
    assert (place.outside / "rescued/file").read_text() == "old"
    assert [path.name for path in (place.inside / "top/folder").iterdir()] == ["file"]
    assert (place.inside / "top/folder/file").read_text() == "theirs"


def test_a_directory_that_is_rescued_from_a_removal_keeps_what_it_has(
    place: Place, workspace: Workspace, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From that moment on nothing of it is removed."""
    for number in range(6):
        place.write(f"folder/file{number}", "content")
    _when(monkeypatch, "renameat2", lambda: _rescue(place, "folder"), number=3)
    outcome = attempt(workspace, "remove", path="folder")
    assert isinstance(outcome, Failed)
    assert len(list((place.outside / "rescued").iterdir())) == 3
