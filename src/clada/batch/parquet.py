"""Results as Parquet, where pyarrow is installed: a column for each field, nested ones as JSON."""

from __future__ import annotations

import json
import os
from importlib import import_module
from itertools import islice

from clada.batch.results import read_results
from clada.errors import CladaError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROWS = 1000  # that are in memory at a time
MISSING = "--parquet needs pyarrow: pip install pyarrow"
NUMBERS = {
    "attempts": "int64", "peak_memory": "int64", "seconds": "float64", "seconds_workspace": "float64",
    "seconds_run": "float64", "seconds_checks": "float64", "cpu_seconds": "float64",
}  # fmt: skip


def check() -> None:
    """Raise UsageError where pyarrow is missing, before anything is begun."""
    try:
        import_module("pyarrow")
    except ImportError:
        raise UsageError(MISSING) from None


def write(results: str, path: str) -> None:
    """Write a file of results as Parquet; the file appears when it is whole."""
    pyarrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    types = _types(results)
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in types.items()])
    rows = read_results(results)
    unfinished = f"{path}.new"
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            while some := [_row(result, types) for result in islice(rows, ROWS)]:
                writer.write_table(pyarrow.Table.from_pylist(some, schema))
        os.replace(unfinished, path)
    except OSError as error:
        raise CladaError("io_error", f"{path} cannot be written: {error.strerror or error}") from None


def _types(results: str) -> dict[str, str]:
    """Return the type of each column: that which holds all of its values."""
    found: dict[str, str] = {}
    for result in read_results(results):
        for name, value in result.items():
            if value is not None or name not in found:
                found[name] = _wider(found.get(name), NUMBERS.get(name) or _type(value))
    return {name: "string" if kind == "null" else kind for name, kind in found.items()}


def _type(value: object) -> str:
    match value:
        case bool():
            return "bool_"
        case int():
            return "int64" if -(1 << 63) <= value < 1 << 63 else "string"
        case float():
            return "float64"
        case None:
            return "null"
        case _:
            return "string"


def _wider(one: str | None, other: str) -> str:
    if one in (None, "null", other):
        return other
    return "float64" if {one, other} == {"int64", "float64"} else "string"


def _row(result: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    return {name: _cell(result.get(name), kind) for name, kind in types.items()}


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "string":
        return value if isinstance(value, str) else json.dumps(value)
    return float(value) if kind == "float64" else value
