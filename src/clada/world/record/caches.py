"""Which paths are caches: programs write them all the time, and make them again when they are gone."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

NAMES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
COMPILED = ".pyc"
TAG = "CACHEDIR.TAG"  # by this file, a directory says that it is a cache


def is_cache(workspace: str, path: str, but: Collection[str] = ()) -> bool:
    """Return whether a path below the workspace is a cache, or in one; tags among `but` do not count."""
    parts = path.rstrip("/").split("/")
    if parts[-1].endswith(COMPILED) or not NAMES.isdisjoint(parts):
        return True
    tags = ("/".join((*parts[:count], TAG)) for count in range(1, len(parts) + 1))
    return any(tag not in but and os.path.lexists(os.path.join(workspace, tag)) for tag in tags)
