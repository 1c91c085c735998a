"""remove: files, links, and directories with all that is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clada.commands.judgements import BuiltIn
from clada.errors import CladaError
from clada.model import Change, Done, Failed
from clada.operations.builtins import run
from clada.operations.remove import Remove
from clada.settings import Settings
from clada.world import libc
from clada.world.files.workspace import Workspace
from clada.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

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


def test_what_is_gone_when_a_removal_fails_is_reported(
    place: Place, attempt: Attempt, ordinary_user: Callable[[], AbstractContextManager[None]]
) -> None:
    """By its topmost directories; and what could not be removed is named."""
    for file in ("tree/a/deep/x", "tree/closed/keep", "tree/z/x", "tree/z/y"):
        place.write(file)
    for folder in (place.inside, *place.inside.rglob("*")):
        folder.chmod(0o777)
    (place.inside / "tree/closed").chmod(0o555)
    with Workspace(str(place.inside)) as files, ordinary_user():
        outcome = attempt(files, "remove", path="tree")
    assert isinstance(outcome, Failed)
    assert (outcome.error.type, outcome.error.message) == (
        "permission_denied",
        "tree/closed/keep: permission denied",
    )
    gone = {change.path for change in outcome.changes if change.how == "removed"}
    left = {path.name for path in (place.inside / "tree").iterdir()}
    assert gone == {f"tree/{name}" for name in {"a", "closed", "z"} - left}
    assert gone
    assert left >= {"closed"}


def test_what_rm_has_removed_when_it_fails_is_reported(
    place: Place, ordinary_user: Callable[[], AbstractContextManager[None]]
) -> None:
    """It goes on with the rest, as coreutils do."""
    for file in ("tree/a/deep/x", "tree/closed/keep", "tree/z/x", "tree/z/y"):
        place.write(file)
    for folder in (place.inside, *place.inside.rglob("*")):
        folder.chmod(0o777)
    (place.inside / "tree/closed").chmod(0o555)
    with Workspace(str(place.inside)) as files, ordinary_user():
        ran = run(BuiltIn("rm", {"r": True}, ("tree",)), files, (), lambda _line: None)
    assert ran.exit_code == 1
    assert {(change.path, change.how) for change in ran.changes} == {
        ("tree/a", "removed"),
        ("tree/z", "removed"),
    }


def test_what_is_taken_away_in_the_middle_of_a_removal_is_said(
    place: Place, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody rescues the directory: nothing more of it is removed, and what is gone is reported."""
    for name in "abcd":
        place.write(f"tree/{name}")
    real, calls = libc.renameat2, iter(range(10))

    def rescued(*arguments: Any, **options: Any) -> None:
        if next(calls) == 2:
            (place.inside / "tree").rename(place.outside / "rescued")
        real(*arguments, **options)

    monkeypatch.setattr(libc, "renameat2", rescued)
    with Workspace(str(place.inside)) as files:
        outcome = attempt(files, "remove", path="tree")
    assert isinstance(outcome, Failed)
    assert "was moved or removed by another program meanwhile" in outcome.error.message
    assert len(outcome.changes) == 3
    assert len(list((place.outside / "rescued").iterdir())) == 1


def removing(files: Files, **fields: Any) -> Done | Failed:
    """Remove a file as a patch does that says what is in it."""
    world = World(files, Settings(), lambda _event: None)
    try:
        outcome = Remove(1, (0, 0), {}, "file", **fields).apply(world)
    except CladaError as trouble:
        return Failed(trouble.error)
    assert isinstance(outcome, Done | Failed)
    return outcome


@pytest.mark.parametrize("content", ["a\nb\n", "a\nb", "a  \nb\n"])
def test_a_file_is_removed_if_it_is_what_was_given(files: Files, place: Place, content: str) -> None:
    """But for blanks at the ends of lines, and the last line break."""
    place.write("file", "a\nb\n")
    assert isinstance(removing(files, content=content, file_only=True), Done)
    assert files.entry(("file",)) is None


@pytest.mark.parametrize(("content", "line"), [("a\nc\n", 2), ("a\n", 2), ("a\nb\nc\n", 3), ("", 1)])
def test_another_file_is_not_removed(files: Files, place: Place, content: str, line: int) -> None:
    """The first line that differs is named."""
    place.write("file", "a\nb\n")
    outcome = removing(files, content=content)
    assert isinstance(outcome, Failed)
    message = f"file is not what the answer removes: line {line} differs"
    assert (outcome.error.type, outcome.error.message) == ("invalid_operation", message)
    assert files.load(("file",)) == b"a\nb\n"


def test_what_removes_a_file_removes_no_directory(files: Files, place: Place) -> None:
    """A missing file is missing, as ever."""
    place.write("file/in it")
    outcome = removing(files, file_only=True)
    assert isinstance(outcome, Failed)
    assert outcome.error.message == "file is a directory, the answer removes a file"
    assert files.entry(("file", "in it"))


def test_a_plan_shows_what_a_removal_asks_for() -> None:
    """Where it does."""
    assert Remove(1, (0, 0), {}, "a").values() == {"path": "a"}
    assert Remove(1, (0, 0), {}, "a", "x\n", file_only=True).values() == {
        "path": "a",
        "content": "x\n",
        "file_only": True,
    }
