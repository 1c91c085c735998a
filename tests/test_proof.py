"""The quick part of the proof: every part of tools/prove on a smaller scale; and the page of the long one."""

from __future__ import annotations

import os

import pytest
from tools.prove import page
from tools.prove.__main__ import PARTS
from tools.prove.adversarial import layers
from tools.prove.place import users
from tools.prove.rows import Row, failures

pytestmark = pytest.mark.slow
LIMIT = 600  # seconds: each part is hundreds of runs, some minutes of them on a busy machine
SMALLEST = {
    "Adversarial: Commands": 700,
    "Adversarial: Links": 150,
    "Adversarial: Forging": 50,
    "Adversarial: Reading": 200,
    "Adversarial: Git confined": 40,
    "Adversarial: Trust": 40,
}


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("part", PARTS)
def test_what_is_required_is_observed(part: str) -> None:
    """No row of the part disproves anything, and there are rows."""
    rows = PARTS[part](True)
    assert len(rows) >= SMALLEST.get(part, 1)
    assert not failures(rows), "\n".join(map(str, failures(rows)))


# What takes more than root, or what leaves its effect to others to see.
NOT_EVERYWHERE = {
    *("talk_to_a_virtual_machine", "read_the_keyring", "set_an_attribute", "read_other_homes"),
    *("resolve_a_name", "outlive_the_supervisor", "listen_to_the_kernel"),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="others can do less without a sandbox, too")
def test_the_attempts_on_layers_are_real() -> None:
    """Without a sandbox they work: a row of the proof that says "stopped" says something."""
    names = list(layers.functions_of(layers.HOSTILE))
    found = layers.attempted(users()[0], layers.UNCONFINED, layers.HOSTILE, names)
    assert {name for name, (said, _effect) in found.items() if said != "success"} <= NOT_EVERYWHERE
    effects = found[names[0]][1]
    assert all(text in effects for text in ("was stopped", "has priority 19", "left /etc/"))


def test_the_page_is_made_from_its_data() -> None:
    """All parts stand there, and nothing is changed by hand: `python -m tools.prove PART` writes both."""
    proof = page.load()
    assert list(proof.parts) == list(PARTS)
    assert page.DATA.read_text(encoding="utf-8").splitlines() == "\n".join(page.data(proof)).splitlines()
    assert page.PAGE.read_text(encoding="utf-8").splitlines() == list(page.page(proof))


def test_the_page_shows_every_case_that_fails() -> None:
    """Also where cases are only counted."""
    rows = [Row(f"case {number}", "nothing", "nothing", number != 70) for number in range(100)]
    shown = list(page.page(page.Proof("a machine", {"Load": page.Part(rows, 1, "2026-11-16")})))
    assert "| nothing | 99 of 100 hold | case 0 |" in shown
    assert [line for line in shown if "case 70" in line] == ["| case 70 | nothing | nothing | **✗** |"]
