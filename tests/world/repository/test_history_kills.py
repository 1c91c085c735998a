"""Runs that are killed at any moment leave a sound repository, and lose nobody's work."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

PROOF = Path(__file__).parents[3] / "tools" / "prove_git.py"


@pytest.fixture
def proof() -> ModuleType:
    """Return the proof, of which `make prove` makes hundreds of rounds."""
    spec = importlib.util.spec_from_file_location("prove_git", PROOF)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_a_few_kills_lose_nothing(proof: ModuleType) -> None:
    """The repository is sound, and every content from before is in a commit or in the tree."""
    assert proof.kills(6, seed=1) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_the_proof_notices_lost_work(proof: ModuleType) -> None:
    """Without the commit before a run, work is lost, and the proof says so."""
    careless = proof.WORKER.replace(
        'with find(root).recorded(describe="random") as record:', "if record := Careless():"
    )
    careless = "class Careless:\n    error = None\n" + careless.replace("undo(root)\n", "pass\n")
    assert careless != proof.WORKER
    assert any("lost what was in" in complaint for complaint in proof.kills(6, worker=careless))
