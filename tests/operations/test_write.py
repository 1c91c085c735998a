"""write: what it says of what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.errors import CladaError
from clada.model import Change, Done, Failed, Outcome
from clada.operations.edit import Edit, Hunk
from clada.operations.write import Write
from clada.settings import Settings
from clada.world.world import World

if TYPE_CHECKING:
    from tests.conftest import Attempt, Place

    from clada.world.files.tree import Files


@pytest.mark.parametrize(
    "case",
    [
        ("new", "x", False, "created"),
        ("new/deep/./file", "x", False, "created"),
        ("new", "x", True, "created"),
        ("new", "", True, "created"),
        ("old", "x", False, "overwritten"),
        ("old", "dlo", False, "overwritten"),
        ("old", "", False, "overwritten"),
        ("old", "old", False, "unchanged"),
        ("./old", "x", True, "appended"),
        ("old", "", True, "unchanged"),
        ("empty", "", False, "unchanged"),
    ],
)
def test_it_says_how_and_what_it_changed(
    files: Files, place: Place, attempt: Attempt, case: tuple[str, str, bool, str]
) -> None:
    """The bytes are those of the content; a change has the path as it is in the tree."""
    path, content, append, how = case
    place.write("old", "old")
    place.write("empty", "")
    outcome = attempt(files, "write", path=path, content=content, append=append)
    assert isinstance(outcome, Done)
    assert (outcome.how, outcome.target, outcome.bytes) == (how, path, len(content))
    normal = "/".join(part for part in path.split("/") if part != ".")
    assert outcome.changes == (() if how == "unchanged" else (Change(normal, how),))


@pytest.mark.parametrize(
    ("content", "written"), [("x", b"x\n"), ("x\n", b"x\n"), ("x\r\n", b"x\r\n"), ("", b""), ("\n", b"\n")]
)
def test_a_final_newline_can_be_asked_for(files: Files, content: str, written: bytes) -> None:
    """It is added where there is none; an empty file stays empty."""
    world = World(files, Settings(final_newline=True), lambda _event: None)
    Write(1, (0, 0), {}, "file", content).apply(world)
    assert files.load(("file",)) == written


def test_a_write_over_an_edit_that_waits_comes_after_it(files: Files, place: Place, attempt: Attempt) -> None:
    """What is held in memory is in the file before anything is added to it."""
    place.write("file", "one")
    world = World(files, Settings(), lambda _event: None)
    Edit(1, (0, 0), {}, "file", (Hunk("one", "1"),)).apply(world)
    attempt(files, "write", path="file", content="two", append=True)
    assert files.load(("file",)) == b"1\ntwo"


LINES = [f"line {number}" for number in range(10)]
OLD = "\n".join(LINES) + "\n"
PARTIAL = "this looks like a part of file: lines {} are missing"

ELIDED = '"# ..." stands for code that is not there: send the whole file or a SEARCH block'


def writing(files: Files, if_exists: str, content: str) -> Outcome:
    """Write the file, if what is to be done where it exists allows that."""
    world = World(files, Settings(), lambda _event: None)
    try:
        return Write(1, (0, 0), {}, "file", content, if_exists=if_exists).apply(world)
    except CladaError as trouble:
        return Failed(trouble.error)


@pytest.mark.parametrize(
    ("old", "fields", "message"),
    [
        ("old", ("refuse", "new"), "file exists, the answer creates it"),
        ("", ("refuse", "new"), "file exists, the answer creates it"),
        (
            "old",
            ("empty", "new"),
            "SEARCH is empty but file has content: give the whole file, or a line of it",
        ),
        (OLD, ("guard", "\n".join(LINES[:4])), PARTIAL.format("5-10")),
        (OLD, ("guard", "\n".join(LINES[4:])), PARTIAL.format("1-4")),
        (OLD, ("guard", ""), PARTIAL.format("1-10")),
        ("a\nb\n", ("guard", "new"), PARTIAL.format("1-2")),
        (OLD, ("overwrite", "# ...\n"), ELIDED),
        (OLD, ("guard", OLD + "# ...\n"), ELIDED),
    ],
)
def test_a_file_that_is_there_may_be_refused(
    files: Files, place: Place, old: str, fields: tuple[str, str], message: str
) -> None:
    """It stays as it is, and the message says what to do."""
    place.write("file", old)
    outcome = writing(files, *fields)
    assert isinstance(outcome, Failed)
    assert (outcome.error.type, outcome.error.message) == ("invalid_operation", message)
    assert files.load(("file",)) == old.encode()


@pytest.mark.parametrize(
    ("old", "fields", "how"),
    [
        (None, ("refuse", "new"), "created"),
        ("same", ("refuse", "same"), "unchanged"),
        (None, ("empty", "new"), "created"),
        ("", ("empty", "new"), "overwritten"),
        (None, ("guard", "new"), "created"),
        (OLD, ("guard", "\n".join(LINES[:9])), "overwritten"),  # one line less
        (OLD, ("guard", OLD.replace("line", "    line").replace("9", "ten")), "overwritten"),
        ("a\n", ("guard", "new"), "overwritten"),  # not shorter
        (f"# ...\n{OLD}", ("overwrite", "x\n  # ...\n"), "overwritten"),  # the file has this line
        (None, ("guard", "# ...\n"), "created"),
        (OLD, ("overwrite", "new"), "overwritten"),
    ],
)
def test_what_speaks_for_writing(
    files: Files, place: Place, old: str | None, fields: tuple[str, str], how: str
) -> None:
    """A file that is not there, or has nothing to lose."""
    if old is not None:
        place.write("file", old)
    outcome = writing(files, *fields)
    assert isinstance(outcome, Done)
    assert outcome.how == how
    assert files.load(("file",)) == fields[1].encode()


def test_an_example_path_is_written_only_if_it_is_there(files: Files, place: Place) -> None:
    """Nobody means a file of that name."""
    world = World(files, Settings(), lambda _event: None)
    write = Write(1, (0, 0), {}, "path/to/file", "x", placeholder=True)
    with pytest.raises(CladaError, match=r"^path/to/file is an example, not a file$"):
        write.apply(world)
    place.write("path/to/file")
    assert isinstance(done := write.apply(world), Done)
    assert done.how == "overwritten"
    assert Write(1, (0, 0), {}, "path/to/file", "x", placeholder=True).values()["placeholder"] is True


def test_what_is_no_file_is_told_as_ever(files: Files, place: Place, attempt: Attempt) -> None:
    """Whatever is to be done where something is there."""
    (place.inside / "directory").mkdir()
    for if_exists in ("refuse", "guard", "empty"):
        assert attempt.refusal(files, "write", path="directory", content="x", if_exists=if_exists) == (
            "permission_denied"
        )
