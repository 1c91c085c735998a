"""What one document may create: files and bytes, on disk and in a dry run, whatever doubles them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.commands.judgements import BuiltIn
from clada.model import Done, Failed
from clada.operations.builtins import BuiltInResult, run
from clada.world.files.directories import Limits
from clada.world.files.overlay import Overlay
from clada.world.files.tree import walk
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Attempt, Place

    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry
    from clada.world.files.tree import Files


@pytest.fixture(params=["disk", "overlay"])
def files(request: pytest.FixtureRequest, place: Place) -> Iterator[Files]:
    """Return both kinds of access to a workspace, held to 20 files and 1,000 bytes."""
    with Workspace(str(place.inside), limits=Limits(20, 1000)) as workspace:
        yield workspace if request.param == "disk" else Overlay(workspace)


def _run(files: Files, name: str, *operands: str, **options: bool) -> BuiltInResult:
    return run(BuiltIn(name, options, operands), files, (), lambda _line: None)


def _count(files: Files) -> int:
    return len(list(walk(files, ())))


def test_a_tree_is_not_doubled_without_end(place: Place, files: Files) -> None:
    """The copy that would be too much is not begun, and the figures are named."""
    place.write("tree/file", "x")
    for number in range(3):
        assert _run(files, "cp", "tree", f"copy{number}", r=True).refused is None
        assert _run(files, "mv", f"copy{number}", "tree").refused is None
    before = _count(files)
    assert before == 16
    refused = _run(files, "cp", "tree", "last", r=True).refused
    assert refused is not None
    assert refused.type == "io_error"
    assert refused.message == (
        "last: this document would create 30 files and directories, and 20 are allowed"
    )
    assert refused.hint == "the setting max_files allows more"
    assert _count(files) == before


def test_files_and_directories_count(files: Files, attempt: Attempt) -> None:
    """By whatever they are made, those on the way included; what is replaced does not count."""
    assert isinstance(attempt(files, "write", path="a/b/c/file", content="x"), Done)  # 4
    assert _run(files, "mkdir", "d/e/f/g", p=True).refused is None  # 8
    assert _run(files, "mkdir", "h").refused is None  # 9
    assert _run(files, "touch", *(f"t{number}" for number in range(10))).refused is None  # 19
    for _ in range(5):
        assert isinstance(attempt(files, "write", path="t1", content="more"), Done)
        assert isinstance(attempt(files, "edit", path="t1", search="more", replace="less"), Done)
    assert _run(files, "cp", "t1", "last").refused is None  # 20
    for refused in (_run(files, "mkdir", "x"), _run(files, "touch", "x"), _run(files, "cp", "t1", "x")):
        assert refused.refused is not None
        assert "would create 21 files and directories, and 20 are allowed" in refused.refused.message
    outcome = attempt(files, "write", path="x", content="x")
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "io_error"
    assert files.entry(("x",)) is None
    assert isinstance(attempt(files, "move", source="t2", to="moved"), Done)
    assert isinstance(attempt(files, "write", path="t3", content="x"), Done)


def test_bytes_count(place: Place, files: Files, attempt: Attempt) -> None:
    """All that are written, by copies, additions and replacements alike."""
    place.write("large", "x" * 400)
    assert _run(files, "cp", "large", "copy").refused is None  # 400
    assert isinstance(attempt(files, "write", path="copy", content="y" * 500), Done)  # 900
    assert isinstance(attempt(files, "write", path="copy", content="z" * 100, append=True), Done)  # 1,000
    for outcome in (
        attempt(files, "write", path="copy", content="z", append=True),
        attempt(files, "write", path="copy", content="z"),
        attempt(files, "edit", path="large", search="x", replace="y", count="all"),
    ):
        assert isinstance(outcome, Failed)
        assert "bytes, and 1,000 are allowed" in outcome.error.message
    refused = _run(files, "cp", "large", "another").refused
    assert refused is not None
    assert refused.hint == "the setting max_bytes allows more"
    assert len(files.load(("copy",))) == 601
    assert files.load(("large",)) == b"x" * 400


def test_copies_in_a_dry_run_share_what_is_on_disk(place: Place) -> None:
    """However many there are, they take no more memory than the file itself."""
    place.write("tree/file", "content\n")
    with Workspace(str(place.inside)) as workspace:
        overlay = Overlay(workspace)
        for number in range(5):
            assert _run(overlay, "cp", "tree", f"copy{number}", r=True).exit_code == 0
        assert _run(overlay, "cp", "copy1", "again", r=True).exit_code == 0
        changes = overlay.changes()
    assert [(path, old, new) for path, old, new in changes if new != b"content\n"] == []
    assert len(changes) == 6
    assert len({id(new) for _path, _old, new in changes}) == 1


def test_the_limits_are_generous() -> None:
    """Every task of the largest document may make a file, and a directory for it."""
    assert Limits().max_files >= 200_000
    assert Limits().max_bytes >= 10 * 10**9


class Counting(Overlay):
    """Counts how often it is asked what stands at a place."""

    looks = 0

    def entry(self, parts: Parts) -> Entry | None:
        """Count, and tell."""
        self.looks += 1
        return super().entry(parts)


def test_a_plan_of_nested_directories_looks_at_each_as_often_whatever_its_depth(place: Place) -> None:
    """One by one, each in the last: to look at all above each would cost the square of their number."""
    with Workspace(str(place.inside)) as workspace:
        overlay = Counting(workspace)
        for depth in range(1, 201):
            assert overlay.make_all(("d",) * depth) == [("d",) * depth]
        assert overlay.looks <= 3 * 200
