"""Files that somebody else saves while a run edits them: their work is never overwritten without a word."""

from __future__ import annotations

import itertools
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from clada.model import Done, Failed
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Attempt, Place

    Operation = tuple[str, dict[str, Any]]

OLD = "one old line\n"
THEIRS = "one odd line\n"  # of the same length
EDIT: Operation = ("edit", {"path": "folder/file", "search": "old", "replace": "new"})
# This reads, too: by its size, the file might have this content already.
REWRITE: Operation = ("write", {"path": "folder/file", "content": "one new line\n"})
CHANGED = "changed while it was being edited"


@pytest.fixture
def workspace(place: Place) -> Iterator[Workspace]:
    """Return access to the workspace on disk."""
    with Workspace(str(place.inside)) as workspace:
        yield workspace


@pytest.fixture
def file(place: Place) -> Path:
    """Return a file that is edited and saved."""
    return place.write("folder/file", OLD)


def _save(file: Path) -> None:
    """Write into the file, as `>` does."""
    with file.open("r+") as opened:
        opened.write(THEIRS)


def _save_and_keep_times(file: Path) -> None:
    """Write into the file, and set its times back: only the time of the change itself cannot be set."""
    before = file.stat()
    _save(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(file: Path) -> None:
    """Put a new file in its place, as editors do."""
    other = file.with_name("other")
    other.write_text(THEIRS)
    other.rename(file)


def _append(file: Path) -> None:
    with file.open("a") as opened:
        opened.write("a line of theirs\n")


SAVES: dict[str, Callable[[Path], object]] = {
    "written into": _save,
    "written into, times kept": _save_and_keep_times,
    "replaced": _replace,
    "appended to": _append,
    "made private": lambda file: file.chmod(0o600),
    "removed": lambda file: file.unlink(),
}
saving = pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)


def _before(monkeypatch: pytest.MonkeyPatch, call: str, action: Callable[[], object]) -> None:
    """Do something right before the first call of a function of os."""
    real = getattr(os, call)

    def intercepted(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(os, call, real)
        action()
        return real(*arguments, **options)

    monkeypatch.setattr(os, call, intercepted)


@saving
@pytest.mark.parametrize("moment", ["write", "fchmod", "link"])
def test_what_somebody_saves_meanwhile_stays(
    file: Path, monkeypatch: pytest.MonkeyPatch, attempt: Attempt, save: Callable[[Path], object], moment: str
) -> None:
    """However it is saved, and at whichever step of ours; no file of ours is left.

    A file that was written just before may have the same times when it is saved again.
    """
    for (name, fields), pause in itertools.product((EDIT, REWRITE), (0, 0.05)):
        file.unlink(missing_ok=True)
        file.write_text(OLD)
        file.chmod(0o666)  # which the umask gives to no new file: it has to be set
        time.sleep(pause)
        _before(monkeypatch, moment, lambda: save(file))
        with Workspace(str(file.parent.parent)) as workspace:
            outcome = attempt(workspace, name, **fields)
        assert isinstance(outcome, Failed)
        assert (outcome.error.type, outcome.error.message) == ("io_error", CHANGED)
        assert not file.exists() or file.read_text() in (THEIRS, OLD, f"{OLD}a line of theirs\n")
        assert {path.name for path in file.parent.iterdir()} <= {"file"}


def test_edits_that_are_held_are_edits_of_what_was_read_first(
    place: Place, workspace: Workspace, attempt: Attempt, file: Path
) -> None:
    """The second builds on the first, and what is saved between them is seen when both are written."""
    text = workspace.text(("folder", "file"))
    workspace.hold(("folder", "file"), text.replaced(text.locate(b"old"), b"older"))
    _save(file)
    outcome = attempt(workspace, "edit", path="folder/file", search="line", replace="text")
    assert isinstance(outcome, Failed)
    assert outcome.error.message == CHANGED
    assert file.read_text() == THEIRS
    assert [path.name for path in place.inside.iterdir()] == ["folder"]


def test_an_edit_after_a_failed_one_is_an_edit_of_what_is_there_then(
    workspace: Workspace, attempt: Attempt, file: Path
) -> None:
    """What was read and not written is no matter any more."""
    assert isinstance(attempt(workspace, "edit", path="folder/file", search="none", replace="x"), Failed)
    _save(file)
    assert isinstance(attempt(workspace, "write", path="folder/file", content="longer than that\n"), Done)
    assert isinstance(attempt(workspace, "edit", path="folder/file", search="that", replace="x"), Done)


def test_edits_of_a_file_that_was_just_written_succeed(
    workspace: Workspace, attempt: Attempt, file: Path
) -> None:
    """One after the other, each written at once: nobody else is at work."""
    for number in range(50):
        old, new = "old" if number % 2 == 0 else "new", "new" if number % 2 == 0 else "old"
        assert isinstance(attempt(workspace, "edit", path="folder/file", search=old, replace=new), Done), (
            number
        )
    assert file.read_text() == OLD
