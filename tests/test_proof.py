"""The quick part of the proof: every part of tools/prove on a smaller scale, each row a statement."""

from __future__ import annotations

import pytest
from tools.prove.__main__ import PARTS
from tools.prove.rows import failures

SMALLEST = {"Adversarial: Commands": 700, "Adversarial: Links": 150, "Adversarial: Forging": 50}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_required_is_observed(part: str) -> None:
    """No row of the part disproves anything, and there are rows."""
    rows = PARTS[part](True)
    assert len(rows) >= SMALLEST.get(part, 1)
    assert not failures(rows), "\n".join(map(str, failures(rows)))
