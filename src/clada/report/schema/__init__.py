"""The published JSON Schemas of plans and reports."""

from __future__ import annotations

import os

from clada.notations.registry import NOTATIONS
from clada.operations import OPERATIONS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TEXTS = ("path", "text")  # kinds of fields that are texts


def schema(name: str) -> dict[str, Any]:
    """Return a schema: plan or report. It knows the notations and the operations that there are."""
    import json

    with open(os.path.join(os.path.dirname(__file__), f"{name}.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    found["properties"]["notation"]["enum"] = [*NOTATIONS, None]
    operations = list(filter(None, map(find, OPERATIONS)))
    if name == "plan":
        known = found["$defs"]["operation"]["properties"]
        for field in (field for operation in operations for field in operation.fields):
            known.setdefault(field.name, {"type": "string"} if field.kind in TEXTS else {})
    else:
        results = [result for operation in operations for result in operation.phrases]
        found["$defs"]["task"]["properties"]["result"]["enum"] = [*results, None]
    return found
