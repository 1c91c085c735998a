"""Under Landlock alone, what a command changes in `.git` is put back, with any rights it leaves it."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from tests.locked.conftest import Place

pytestmark = pytest.mark.skipif(not has_landlock(), reason="Landlock does not work on this machine")

PLANT = "echo touch marker > .git/hooks/post-checkout && chmod 755 .git/hooks/post-checkout"
CLOSED = [
    f"{PLANT} && chmod 0 .git/hooks",
    f"{PLANT} && chmod 0 .git/hooks .git",
    f"{PLANT} && chmod 111 .git/hooks",
]


@pytest.mark.parametrize("script", CLOSED)
def test_what_is_planted_in_a_folder_that_is_then_closed_goes(place: Place, script: str) -> None:
    place.environment["CLADA_SANDBOX_LAYER"] = "landlock"
    done = place.clada(f"sh -c '{script}'", arguments=("--no-git", "--approve-all"))
    assert done.errors == ["permission_denied"], done.text
    assert "was undone" in done.text
    assert not (place.inside / ".git/hooks/post-checkout").exists()
    assert place.git("status", "--porcelain") == ""
