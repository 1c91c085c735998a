"""The appliers: each module here is one, or several of a family, listed in its APPLIERS."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from applybench.appliers.base import Applier


def all_appliers(tools: Path) -> list[Applier]:
    """Return every applier, installed or not; programs of their own are below `tools`."""
    modules = [
        importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return [kind(tools) for module in modules for kind in getattr(module, "APPLIERS", ())]
