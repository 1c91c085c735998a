"""File systems that ignore letter case: a name can be given in other letters, and nothing is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clada.commands.judgements import BuiltIn
from clada.model import Done, Failed
from clada.operations.builtins import run
from clada.world.files.overlay import Overlay
from clada.world.files.tree import relation_of
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files

FOLDING = Path(__file__).parent / "folding.py"


def _ignores_case(directory: Path) -> bool:
    (directory / "probe").touch()
    found = (directory / "PROBE").exists()
    (directory / "probe").unlink()
    return found


@pytest.fixture
def folding(place: Place) -> Iterator[Place]:
    """Have the workspace on such a file system: the machine's own, as on macOS, or one of ours."""
    if _ignores_case(place.inside):
        yield place
        return
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        pytest.skip("no file system that ignores case can be mounted here")
    command = [sys.executable, str(FOLDING), str(place.inside)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdout
        assert server.stderr
        if server.stdout.readline() != b"mounted\n":
            pytest.skip("no file system can be mounted here: " + server.stderr.read().decode())
        try:
            assert _ignores_case(place.inside)
            yield place
        finally:
            subprocess.run(["umount", "--lazy", str(place.inside)], check=True)
            server.terminate()


@pytest.fixture(params=["disk", "overlay"])
def files(request: pytest.FixtureRequest, folding: Place) -> Iterator[Files]:
    """Return both kinds of access to it."""
    with Workspace(str(folding.inside)) as workspace:
        yield workspace if request.param == "disk" else Overlay(workspace)


def _mv(files: Files, *operands: str) -> tuple[int, list[str]]:
    said: list[str] = []
    ran = run(BuiltIn("mv", {}, operands), files, (), said.append)
    return ran.exit_code, said


MOVES = {
    "a file": ("readme", "README"),
    "a directory": ("folder", "Folder"),
    "a file in a directory": ("folder/file", "folder/FILE"),
    "a file in a directory by another spelling": ("folder/file", "FOLDER/File"),
}


@pytest.mark.parametrize("way", ["move", "mv"])
@pytest.mark.parametrize("what", MOVES)
def test_a_name_is_given_in_other_letters(
    folding: Place, files: Files, attempt: Attempt, way: str, what: str
) -> None:
    """By the operation and by the command; what is there is there afterwards, under the new name."""
    if isinstance(files, Overlay) and "another spelling" in what:
        pytest.skip("a dry run knows a directory by one spelling")
    folding.write("readme", "content\n")
    folding.write("folder/file", "content\n")
    source, target = MOVES[what]
    if way == "move":
        assert isinstance(attempt(files, "move", source=source, to=target), Done)
    else:
        assert _mv(files, source, target) == (0, [])
    *above, name = target.split("/")
    names = files.names(tuple(above))
    assert (name in names, source.rpartition("/")[2] in names) == (True, False)
    inner = ("file",) if what == "a directory" else ()
    assert files.load((*above, name, *inner)) == b"content\n"
    assert len(files.names(())) == 2


def test_what_is_already_written_so_is_the_same_file(folding: Place, files: Files, attempt: Attempt) -> None:
    """Its directory may be spelled as one likes."""
    folding.write("folder/file", "content\n")
    assert isinstance(attempt(files, "move", source="folder/file", to="FOLDER/file"), Failed)
    said = "mv: 'folder/file' and 'FOLDER/file' are the same file"
    assert _mv(files, "folder/file", "FOLDER/file") == (1, [said])
    assert files.load(("folder", "file")) == b"content\n"


def test_a_copy_onto_itself_is_refused(folding: Place, files: Files) -> None:
    """Whatever the letters."""
    folding.write("file", "content\n")
    said: list[str] = []
    assert run(BuiltIn("cp", {}, ("file", "FILE")), files, (), said.append).exit_code == 1
    assert said == ["cp: 'file' and 'FILE' are the same file"]


def test_another_file_is_replaced_whatever_its_letters(
    folding: Place, files: Files, attempt: Attempt
) -> None:
    """As anywhere: there is one file then, with the content of the source."""
    folding.write("one", "new\n")
    folding.write("Two", "old\n")
    assert isinstance(attempt(files, "move", source="one", to="TWO"), Done)
    assert files.load(("TWO",)) == b"new\n"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("one", "one", "same"),
        ("one", "two", "links"),
        ("one", "folder/three", "links"),
        ("one", "other", None),
        ("one", "missing", None),
        ("folder", "folder", "same"),
        ("folder", "deep", None),
    ],
)
def test_hard_links_are_told_from_other_spellings(
    place: Place, source: str, target: str, expected: str | None
) -> None:
    """Where letters count: two names of one file are links, not one name."""
    os.link(place.write("one"), place.inside / "two")
    (place.inside / "folder").mkdir()
    (place.inside / "deep").mkdir()
    os.link(place.inside / "one", place.inside / "folder/three")
    place.write("other")
    with Workspace(str(place.inside)) as workspace:
        for files in (workspace, Overlay(workspace)):
            old, new = tuple(source.split("/")), tuple(target.split("/"))
            entry = files.entry(old)
            assert entry
            assert relation_of(files, (old, entry), (new, files.entry(new))) == expected
