"""The published JSON Schemas of plans and reports."""

from __future__ import annotations

import os

from clada.notations.registry import NOTATIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def schema(name: str) -> dict[str, Any]:
    """Return a schema: plan or report. The notations in it are those that there are."""
    import json

    with open(os.path.join(os.path.dirname(__file__), f"{name}.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    found["properties"]["notation"]["enum"] = [*NOTATIONS, None]
    return found
