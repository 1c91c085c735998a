"""Says which extras are not installed, so that their tests are left out; and all that are named exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("module", "extra"), [("mcp", "clada[mcp]")])
def test_the_extra_is_installed(module: str, extra: str) -> None:
    """Else what it is for cannot be tested here."""
    pytest.importorskip(module, reason=f"{extra} is not installed: its tests are left out")


def test_each_extra_that_is_named_is_there() -> None:
    """In the documentation, and in what clada tells to install."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/clada/**/*.py")]
    named = {
        name for page in pages for name in re.findall(r"clada\[([a-z]+)\]", page.read_text(encoding="utf-8"))
    }
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "mcp" in named
    assert named <= set(extras["project"]["optional-dependencies"])
