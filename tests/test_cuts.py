"""A run that is cut anywhere and resumed leaves the tree of a whole run, for every document of the corpus."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.test_atomic import tree

import clada
from clada.resuming import resume

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parent
DOCUMENTS = sorted([*TESTS.glob("cases/*/document"), *TESTS.glob("answers/*/answer.md")])
PLANS = {path: clada.parse(path.read_bytes()) for path in DOCUMENTS}
SIZES = {path: sum(len(block.operations) for block in plan.blocks) for path, plan in PLANS.items()}
LONG_ENOUGH = [path for path in DOCUMENTS if SIZES[path] > 1 and not PLANS[path].fatal]
CUTS = [(path, at) for path in LONG_ENOUGH for at in range(SIZES[path])]
STRIDE = 1 if os.environ.get("CLADA_FULL") else 7  # of the cuts, every so many are tried


def test_there_are_documents_to_cut() -> None:
    """A runner that finds nothing would be content with anything."""
    assert len(LONG_ENOUGH) >= 60
    assert len(CUTS) >= 200


@pytest.mark.parametrize(
    ("path", "at"), CUTS[::STRIDE], ids=[f"{path.parent.name} at {at}" for path, at in CUTS[::STRIDE]]
)
def test_a_run_that_is_cut_and_resumed_gives_the_tree_of_a_whole_one(
    path: Path, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is done twice, and nothing is left out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    whole = _carried_out(path, tmp_path / "whole")
    # What has failed by itself may succeed once what comes after it is done: it is cut there at the latest.
    at = min([at, *(number for number, task in enumerate(whole.tasks) if task.status == "error")])
    with clada.Stop() as stop:
        started = 0

        def cut(event: object) -> None:
            nonlocal started
            if isinstance(event, clada.TaskStarted):
                if started == at:
                    stop.set()
                started += 1

        cut_off = _carried_out(path, tmp_path / "cut", stop=stop, on_event=cut)
    if cut_off.interrupted and not all(task.fine for task in cut_off.tasks):
        resume(tmp_path / "cut", record="snapshots", again=True)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")
    assert whole.interrupted is None


def _carried_out(
    path: Path,
    workspace: Path,
    stop: clada.Stop | None = None,
    on_event: Callable[[object], None] = lambda _event: None,
) -> clada.Report:
    """Carry out a document on the tree that it is for."""
    before = path.parent / "before"
    if before.exists():
        shutil.copytree(before, workspace, symlinks=True)
    else:
        workspace.mkdir()
    return clada.execute(
        path.read_bytes(), workspace=workspace, record="snapshots", stop=stop, on_event=on_event
    )
