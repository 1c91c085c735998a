"""Says which extras are not installed, so that their tests are left out."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(("module", "extra"), [("mcp", "clada[mcp]")])
def test_the_extra_is_installed(module: str, extra: str) -> None:
    """Else what it is for cannot be tested here."""
    pytest.importorskip(module, reason=f"{extra} is not installed: its tests are left out")
