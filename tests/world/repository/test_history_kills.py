"""Runs that are killed at any moment leave a sound repository, and lose no work."""

from __future__ import annotations

import os

import pytest
from tests.world.repository.kills import WORKER, kills

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc"),
]


def test_kills_lose_nothing() -> None:
    """The repository is sound, every content from before is kept, and undo gives the tree as it was."""
    assert kills(60, seed=1) == []


def test_the_proof_notices_lost_work() -> None:
    """Without a record, work is lost, and the proof says so."""
    careless = WORKER.replace('"record": "commits"', '"record": "none"')
    assert careless != WORKER
    assert any("lost what was in" in complaint for complaint in kills(12, worker=careless))


def test_the_proof_notices_what_undo_does_not_take_back() -> None:
    """A run that changes something behind its record's back."""
    note = "    try:\n        if chance"
    stray = WORKER.replace(note, f"    open(os.path.join(root, 'stray'), 'a').write('x')\n{note}")
    assert stray != WORKER
    assert any("['stray'] is not as before" in complaint for complaint in kills(3, worker=stray))
