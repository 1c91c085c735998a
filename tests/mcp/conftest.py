"""The fixtures of the tests of `clada mcp`; where its SDK is missing, tests/test_extras.py says so."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("mcp") is None:
    collect_ignore_glob = ["*"]
else:
    from tests.mcp.agents import place, portal, shared

    __all__ = ["place", "portal", "shared"]
