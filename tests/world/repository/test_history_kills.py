"""Runs that are killed at any moment leave a sound repository, and lose nobody's work."""

from __future__ import annotations

import os

import pytest
from tools.prove.kills import WORKER, kills


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_a_few_kills_lose_nothing() -> None:
    """The repository is sound, and every content from before is in a commit, a journal or the tree."""
    assert kills(6, seed=1) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_the_proof_notices_lost_work() -> None:
    """Without a record, work is lost, and the proof says so."""
    careless = WORKER.replace('"record": "commits"', '"record": "none"')
    assert careless != WORKER
    assert any("lost what was in" in complaint for complaint in kills(12, worker=careless))
