"""The results of a batch: a file of JSON Lines or a directory of such files, and Parquet."""

from __future__ import annotations

import fcntl
import json
import os
import time
from importlib import import_module
from itertools import islice

from clada.errors import CladaError, UsageError, reason
from clada.world import handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

LOCK_WAIT = 5.0  # seconds to wait for a killed batch to end
PAUSE = 0.05
BACKWARDS = 1 << 16  # bytes that are searched at once for the end of the last whole line
SHARD_BYTES = 1 << 30  # of a file in a directory of results
EXISTS = "{} exists: continue it with --resume, or name another file"


class ResultsFile:
    """The results of a batch, which this process alone writes: it holds a lock."""

    def __init__(self, path: str, *, resume: bool) -> None:
        """Open it; UsageError where it exists, unless the batch is resumed."""
        self.path = path
        self._in_shards = path.endswith("/") or os.path.isdir(path)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            if self._in_shards:
                os.makedirs(path, exist_ok=True)
            shards = result_files(path) if self._in_shards else [path]
            if not resume and any(map(os.path.lexists, shards)):
                raise UsageError(EXISTS.format(path))
            self._shard = shards[-1] if shards else self._shard_name(0)
            self._handle = os.open(self._shard, flags, 0o666)
            self._lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"{path}: {reason(error)}") from None
        try:
            _lock(self._lock, path)
            self._size = self._cut_torn_line()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, and release the lock."""
        os.close(self._handle)
        os.close(self._lock)

    def _shard_name(self, number: int) -> str:
        return os.path.join(self.path, f"results-{number:05}.jsonl")

    def _cut_torn_line(self) -> int:
        """Remove an incomplete last line, as a kill or a full disk leaves it; return the size."""
        end = size = os.fstat(self._handle).st_size
        while end:
            start = max(0, end - BACKWARDS)
            at = os.pread(self._handle, end - start, start).rfind(b"\n")
            end = start + at + 1 if at >= 0 else start
            if at >= 0:
                break
        if end != size:
            os.ftruncate(self._handle, end)
        return end

    def add(self, line: bytes) -> None:
        """Write a result, all of it or nothing; CladaError if that is not possible."""
        if self._in_shards and self._size and self._size + len(line) > SHARD_BYTES:
            os.close(self._handle)
            self._shard, self._size = self._shard_name(int(self._shard[-11:-6]) + 1), 0
            self._handle = os.open(self._shard, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            handles.write(self._handle, line)
        except OSError as error:
            self._cut_torn_line()
            message = f"{self._shard} cannot be written: {reason(error)}"
            raise CladaError("io_error", message, "make room, and continue with --resume") from None
        self._size += len(line)


def _lock(handle: int, path: str) -> None:
    until = time.monotonic() + LOCK_WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > until:
                raise CladaError(
                    "lock_timeout", f"another batch is writing {path}", "wait for its end"
                ) from None
            time.sleep(PAUSE)
        else:
            return


def result_files(path: str) -> list[str]:
    """Return the files of a directory of results in order; of a file, the file itself."""
    if not os.path.isdir(path):
        return [path]
    return sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(".jsonl"))


def read_results(path: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a file or a directory; UsageError names the line that is not one."""
    for file in result_files(path):
        for _at, result in read_results_at(file):
            yield result


def read_results_at(file: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the results of a file, each with the byte at which its line starts."""
    at = number = 0
    try:
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, 1):  # noqa: B007 (the messages below name it)
                yield at, _result(line)
                at += len(line)
    except OSError as error:
        raise UsageError(f"{file}: {reason(error)}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}, line {number}: not a result of a batch: {error}") from None


def _result(line: bytes) -> dict[str, Any]:
    result = json.loads(line)
    if not isinstance(result, dict) or not isinstance(result.get("id"), str) or "status" not in result:
        raise ValueError("id or status is missing")
    return result


# Parquet.

ROWS = 1000  # that are in memory at a time
FLOATS = ("seconds", "seconds_workspace", "seconds_run", "seconds_checks", "cpu_seconds")


def check_pyarrow() -> None:
    """Raise UsageError where pyarrow is missing, before anything is begun."""
    try:
        import_module("pyarrow")
    except ImportError:
        raise UsageError("--parquet needs pyarrow", "pip install 'clada[parquet]'") from None


def write_parquet(results: str, path: str) -> None:
    """Write results as Parquet, a column for each field, nested ones as JSON; it appears when it is whole."""
    pyarrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    types = _column_types(results)
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in types.items()])
    rows = read_results(results)
    unfinished = f"{path}.new"
    try:
        with parquet.ParquetWriter(unfinished, schema) as writer:
            while some := [_row(result, types) for result in islice(rows, ROWS)]:
                writer.write_table(pyarrow.Table.from_pylist(some, schema))
        os.replace(unfinished, path)
    except OSError as error:
        raise CladaError("io_error", f"{path} cannot be written: {reason(error)}") from None


def _column_types(results: str) -> dict[str, str]:
    """Return the type of each column: the one that holds all of its values."""
    found: dict[str, str] = {}
    for result in read_results(results):
        for name, value in result.items():
            kind = "float64" if name in FLOATS else _type(value)
            before = found.get(name, "null")
            if before == "null" or kind in {"null", before}:
                found[name] = kind if before == "null" else before
            else:
                found[name] = "float64" if {before, kind} == {"int64", "float64"} else "string"
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


def _row(result: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    return {name: _cell(result.get(name), kind) for name, kind in types.items()}


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "string":
        text = value if isinstance(value, str) else json.dumps(value)
        return text.encode(errors="replace").decode()  # Arrow takes no half characters
    return float(value) if kind == "float64" else value
