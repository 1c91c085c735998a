"""A run that is cut anywhere and resumed leaves the tree of a whole run.

The documents are those of tests/cases and tests/answers with more than one operation, each on the tree that
it is for, and cut at every operation that it begins. Many have an operation that fails by itself: if they are
cut behind it, the resumed run tries it again, it fails again, and the rest is carried out. Once what comes
after it is done it may succeed, too: the one such cut is named, and gives a tree of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.test_atomic import tree
from tests.test_cases import prepare

import clada
from clada.resuming import resume

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parent
DOCUMENTS = sorted([*TESTS.glob("cases/*/document"), *TESTS.glob("answers/*/answer.md")])
PLANS = {path: clada.parse(path.read_bytes()) for path in DOCUMENTS}
NAMES = {
    path: [item.name for block in plan.blocks for item in block.operations] for path, plan in PLANS.items()
}
SIZES = {path: len(names) for path, names in NAMES.items() if {*names} != {"read"}}  # a read is not recorded
LONG_ENOUGH = [path for path, size in SIZES.items() if size > 1 and not PLANS[path].fatal]
CUTS = [(path, at) for path in LONG_ENOUGH for at in range(SIZES[path])]
SUCCEEDS_LATER = {("csl-summary-json", 2)}  # an edit of a file that a later operation writes
STRIDE = 7  # of the cuts, every so manieth is tried by a test that is not slow


def test_there_are_documents_to_cut() -> None:
    """A runner that finds nothing would be content with anything."""
    assert len(LONG_ENOUGH) >= 60
    assert len(CUTS) >= 200


@pytest.mark.parametrize(
    ("path", "at"),
    [
        pytest.param(
            path, at, id=f"{path.parent.name} at {at}", marks=[pytest.mark.slow] if number % STRIDE else []
        )
        for number, (path, at) in enumerate(CUTS)
    ],
)
def test_a_run_that_is_cut_and_resumed_gives_the_tree_of_a_whole_one(
    path: Path, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is done twice, and nothing is left out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    whole = _carried_out(path, tmp_path / "whole")
    with clada.Stop() as stop:
        started = 0

        def cut(event: object) -> None:
            nonlocal started
            if isinstance(event, clada.TaskStarted):
                if started == at:
                    stop.set()
                started += 1

        cut_off = _carried_out(path, tmp_path / "cut", stop=stop, on_event=cut)
    is_cut = cut_off.interrupted and not all(task.ok for task in cut_off.tasks)
    resumed = resume(tmp_path / "cut") if is_cut else cut_off
    failed = [task.index for task in whole.tasks if task.status == "error"]
    assert whole.interrupted is None
    if (path.parent.name, at) in SUCCEEDS_LATER:
        assert any(resumed.tasks[index].ok for index in failed)
        return
    assert {resumed.tasks[index].status for index in failed} <= {"error"}
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")


def _carried_out(
    path: Path,
    workspace: Path,
    stop: clada.Stop | None = None,
    on_event: Callable[[object], None] = lambda _event: None,
) -> clada.Report:
    """Carry out a document on the tree that it is for."""
    prepare(path.parent, workspace)
    return clada.execute(
        path.read_bytes(), workspace=workspace, record="snapshots", stop=stop, on_event=on_event
    )
