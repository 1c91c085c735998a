"""The published JSON Schemas of plans, reports and events, and of the jobs and results of a batch."""

from __future__ import annotations

import json
from pkgutil import get_data

from clada.notations.registry import NOTATIONS
from clada.operations import OPERATIONS, find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.public_types import SchemaName

TEXTS = ("path", "text", "range")  # kinds of fields that are texts


def schema(name: SchemaName) -> dict[str, Any]:
    """Return a schema: plan, report, event, batch-job or batch-result.

    It knows the notations and the operations that there are.
    """
    found: dict[str, Any] = json.loads(get_data(__name__, f"{name}.json") or b"")
    if name == "event":
        return _with_report(found)
    if "notation" in found["properties"]:
        found["properties"]["notation"]["enum"] = [*NOTATIONS, None]
    operations = list(filter(None, map(find, OPERATIONS)))
    if name == "plan":
        known = found["$defs"]["operation"]["properties"]
        for field in (field for operation in operations for field in operation.fields):
            known.setdefault(field.name, {"type": "string"} if field.kind in TEXTS else {})
    elif name == "report":
        results = dict.fromkeys(result for operation in operations for result in operation.phrases)
        found["$defs"]["task"]["properties"]["result"]["enum"] = [*results, None]
    return found


def _with_report(event: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of events as one document: it refers to the file of reports beside its own."""
    whole: dict[str, Any] = json.loads(json.dumps(event).replace("report.json#/", "#/$defs/report/"))
    report = json.dumps(schema("report")).replace("#/$defs/", "#/$defs/report/$defs/")
    whole["$defs"]["report"] = {
        key: value for key, value in json.loads(report).items() if key in ("properties", "$defs")
    }
    return whole
