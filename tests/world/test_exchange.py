"""What another program saves right before the system call that replaces, removes or moves its file.

No system call compares a file and replaces it, so the file is compared afterwards and given its name back.
"""

from __future__ import annotations

import errno
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pytest
from tests import command_line

import clada
from clada.errors import CladaError
from clada.world import libc
from clada.world.files import exchange
from clada.world.files.scratch import LEFTOVER, Scratch
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import Place

PUT_BACK = "put back, because clada was killed while it worked on this file: "
OLD, OURS, THEIRS = "old", "ours", "theirs"
DOCUMENTS = {
    "edit": f'<---SEARCH file="file"--->\n{OLD}\n<---REPLACE--->\n{OURS}\n<---END--->\n',
    "write": f'<---WRITE file="file"--->\n{OURS}\n<---END--->\n',
    "remove": '<remove path="file"/>\n',
    "move": '<move from="file" to="new"/>\n',
    "move over": '<move from="file" to="other"/>\n',
    "be replaced": '<move from="other" to="file"/>\n',
}
FAILING = {
    "<---": '<---SEARCH file="missing"--->\nold\n<---REPLACE--->\nnew\n<---END--->\n',
    "<rem": '<remove path="missing"/>\n',
    "<mov": '<remove path="missing"/>\n',
}  # in the notation of the document


def save(file: Path) -> None:
    """Write into a file."""
    file.write_text(THEIRS)


def replace(file: Path) -> None:
    """Put another file in its place, as editors do."""
    (file.parent.parent / "swap").write_text(THEIRS)
    (file.parent.parent / "swap").rename(file)


SAVES = {"save": save, "replace": replace}


class Scene:
    """A workspace with a file that its user saves right before one of clada's renames."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch, number: int = 0) -> None:
        self.place, self.monkeypatch, self.calls = place, monkeypatch, 0
        self.report: clada.Report | None = None
        self.folder = place.inside / f"folder{number}"
        for name in ("file", "other"):
            place.write(f"folder{number}/{name}", OLD)

    def act(self, number: int, action: Callable[[], None]) -> None:
        """Let the user act right before the so-manieth rename."""
        real = libc.renameat2

        def rename(*arguments: Any) -> None:
            self.calls += 1
            if self.calls == number:
                action()
            real(*arguments)

        self.monkeypatch.setattr(libc, "renameat2", rename)

    def run(self, document: str, **options: Any) -> clada.Report:
        """Execute a document in the folder."""
        plan = clada.parse(document)
        return clada.execute(plan, workspace=self.folder, record="snapshots", **options)

    def contents(self) -> dict[str, str]:
        """Return all files of the workspace."""
        return {
            str(path.relative_to(self.folder)): path.read_text()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def leftovers(self) -> list[str]:
        """Return temporary files and notes."""
        return [path.name for path in self.place.top.rglob(f"{LEFTOVER}*")]


@pytest.fixture(autouse=True)
def state(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the record beside the workspace."""
    monkeypatch.setenv("XDG_STATE_HOME", str(place.top / "state"))


@pytest.fixture
def scene(place: Place, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Make a workspace."""
    return Scene(place, monkeypatch)


def before_each_rename(place: Place, document: str, how: str, **options: Any) -> Iterator[Scene]:
    """Execute a document, and let the user save a file right before each of its renames in turn."""
    for number in range(1, 20):
        with pytest.MonkeyPatch.context() as patch:
            scene = Scene(place, patch, number)
            scene.act(number, partial(SAVES[how], scene.folder / "file"))
            scene.report = scene.run(document, **options)
        if scene.calls < number:
            assert number > 1
            return
        assert scene.leftovers() == []
        yield scene
    pytest.fail("there is no end of renames")


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("operation", DOCUMENTS)
def test_a_save_at_the_last_moment_is_in_the_tree_or_in_the_record(
    place: Place, operation: str, how: str
) -> None:
    """And an undo puts it back to where it was saved."""
    for scene in before_each_rename(place, DOCUMENTS[operation], how):
        if scene.contents().get("file") != THEIRS:
            assert scene.report
            assert scene.report.ok
            clada.undo(scene.folder)
            assert scene.contents()["file"] == THEIRS


@pytest.mark.parametrize("how", SAVES)
@pytest.mark.parametrize("operation", DOCUMENTS)
def test_a_save_at_the_last_moment_stays_when_all_is_rolled_back(
    place: Place, operation: str, how: str
) -> None:
    """The other file is as before."""
    document = DOCUMENTS[operation]
    for scene in before_each_rename(place, document + FAILING[document[:4]], how, atomic=True):
        assert scene.contents() == {"file": THEIRS, "other": OLD}


def test_a_save_in_a_directory_right_before_its_move_stays_when_that_is_rolled_back(scene: Scene) -> None:
    """So does a new file."""
    (scene.folder / "inner").mkdir()
    for name in ("file", "other"):
        (scene.folder / name).rename(scene.folder / "inner" / name)

    def act() -> None:
        save(scene.folder / "inner/file")
        (scene.folder / "inner/new").write_text(THEIRS)

    scene.act(1, act)
    scene.run('<move from="inner" to="moved"/>\n' + FAILING["<mov"], atomic=True)
    assert scene.contents() == {"inner/file": THEIRS, "inner/new": THEIRS, "inner/other": OLD}


def test_a_save_over_our_file_while_theirs_goes_back_is_the_one_that_stays(scene: Scene) -> None:
    """The newest of two saves has the name in the end."""
    real, texts = libc.renameat2, iter(["first", "second"])

    def rename(*arguments: Any) -> None:
        text = next(texts, None)
        if text:
            (scene.folder / "file").write_text(text)
        real(*arguments)

    scene.monkeypatch.setattr(libc, "renameat2", rename)
    report = scene.run(DOCUMENTS["edit"])
    assert not report.ok
    assert scene.contents() == {"file": "second", "other": OLD}
    assert scene.leftovers() == []


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("operation", ["edit", "remove", "move", "move over"])
def test_a_save_and_a_kill_at_the_last_moment(scene: Scene, operation: str, moment: str) -> None:
    """The next run of any kind gives the file its name back."""
    child = os.fork()
    if child == 0:
        real = libc.renameat2

        def rename(*arguments: Any) -> None:
            save(scene.folder / "file")
            if moment == "after":
                real(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        scene.monkeypatch.setattr(libc, "renameat2", rename)
        scene.run(DOCUMENTS[operation])
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    scene.run('<---WRITE file="more"--->\nmore\n<---END--->\n')
    assert scene.contents() == {"file": THEIRS, "other": OLD, "more": "more\n"}
    assert scene.leftovers() == []


@pytest.mark.parametrize("record", ["snapshots", "none"])
@pytest.mark.parametrize("command", ["recover", "undo", "history", "doctor", "plan"])
def test_a_file_whose_move_was_killed_is_put_back_by_the_next_command(
    scene: Scene, command: str, record: Literal["snapshots", "none"]
) -> None:
    """Of any kind, and the command says so."""
    child = os.fork()
    if child == 0:
        real = libc.renameat2

        def rename(*arguments: Any) -> None:
            real(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        scene.monkeypatch.setattr(libc, "renameat2", rename)
        clada.execute(DOCUMENTS["move"], workspace=scene.folder, record=record)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert scene.contents() == {"other": OLD}
    done = command_line.run(command, document=b"Nothing to do.\n", directory=scene.folder)
    assert f"{PUT_BACK}{scene.folder}/file\n" in (done.stdout + done.stderr).decode()
    assert scene.contents() == {"file": OLD, "other": OLD}
    assert scene.leftovers() == []


def test_a_file_that_cannot_be_noted_stays_in_its_directory_while_it_is_moved(scene: Scene) -> None:
    """The disk is full. After a kill, it has another name there, and the next run does not remove it."""
    child = os.fork()
    if child == 0:
        real = libc.renameat2

        def rename(*arguments: Any) -> None:
            real(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        def symlink(*_arguments: Any, **_named: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        scene.monkeypatch.setattr(libc, "renameat2", rename)
        scene.monkeypatch.setattr(os, "symlink", symlink)
        clada.execute(DOCUMENTS["move"], workspace=scene.folder, record="none")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    scene.run('<---WRITE file="more"--->\nmore\n<---END--->\n')
    assert sorted(scene.contents().values()) == ["more\n", OLD, OLD]


def test_a_save_that_cannot_go_back_at_once_goes_back_with_the_next_run(scene: Scene) -> None:
    """The disk fails for a moment, right after the file was exchanged."""
    child = os.fork()
    if child == 0:
        real, calls = libc.renameat2, iter([save])

        def rename(*arguments: Any) -> None:
            first = next(calls, None)
            if first is None:
                raise OSError(errno.EIO, "Input/output error")
            first(scene.folder / "file")
            real(*arguments)

        scene.monkeypatch.setattr(libc, "renameat2", rename)
        os._exit(scene.run(DOCUMENTS["edit"]).ok)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    scene.run('<---WRITE file="more"--->\nmore\n<---END--->\n')
    assert scene.contents() == {"file": THEIRS, "other": OLD, "more": "more\n"}
    assert scene.leftovers() == []


def test_a_newer_file_at_its_name_is_not_replaced_after_a_kill(scene: Scene) -> None:
    """And the older one is not removed either."""
    scratch = scene.place.top / "scratch"
    scratch.mkdir()
    name = f"{LEFTOVER}{dead_process()}-0123456789abcdef"
    (scratch / name).write_text("older")
    (scratch / f"{name}.note").symlink_to(f"1.1.1 2.2.2 scratch {scene.folder}/file")
    Scratch(str(scratch)).clear()
    assert scene.contents()["file"] == OLD
    assert (scratch / name).read_text() == "older"


def dead_process() -> int:
    """Return the number of a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.parametrize("operation", DOCUMENTS)
def test_a_file_system_without_exchange_compares_first(scene: Scene, operation: str) -> None:
    """A save before that is seen; all works otherwise."""

    def missing(*_arguments: Any) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    scene.monkeypatch.setattr(libc, "renameat2", missing)
    before = scene.contents()
    assert scene.run(DOCUMENTS[operation]).ok
    assert scene.contents() != before
    clada.undo(scene.folder)
    assert scene.contents() == before
    assert scene.leftovers() == []


def test_a_file_that_is_replaced_by_a_directory_meanwhile_is_not_exchanged(scene: Scene) -> None:
    """It is refused, and the directory stays."""

    def act() -> None:
        (scene.folder / "file").unlink()
        (scene.folder / "file").mkdir()

    scene.act(1, act)
    with Workspace(str(scene.folder)) as workspace, pytest.raises(CladaError):
        workspace.store(("file",), b"new")
    assert (scene.folder / "file").is_dir()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_system_without_handles_by_path_removes_and_moves_any_entry(scene: Scene, kind: str) -> None:
    """As macOS: there a pipe could not be opened without waiting for its writer."""
    scene.monkeypatch.setattr(exchange, "PATH_ONLY", 0)
    entry = scene.folder / "entry"
    if kind == "link":
        entry.symlink_to("nowhere")
    else:
        os.mkfifo(entry)
    with Workspace(str(scene.folder)) as workspace:
        workspace.rename(("entry",), ("moved",))
        workspace.unlink(("moved",))
        workspace.store(("file",), b"new")
    assert scene.contents() == {"file": "new", "other": OLD}
