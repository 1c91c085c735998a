"""Jobs: the rows of JSON Lines, Parquet and Arrow files, mapped to fields and checked.

source = JobSource("predictions.jsonl", mapping={"document": "model_patch"})
for where, job in source.jobs(): ...
"""

from __future__ import annotations

import json
import os
import re
from hashlib import blake2b
from importlib import import_module
from math import isfinite

from clada.errors import UsageError, reason, shortened
from clada.settings import Settings
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Row = Mapping[str, Any]

MAX_LINE = 256 << 20  # bytes; a document has at most 50 MB, which JSON can make five times as long
MAX_ID = 500  # characters
ROWS_AT_ONCE = 64  # rows of a Parquet file that are in memory
SCALARS = (str, int, float, bool, type(None))
TEXTS = ("path", "repo", "commit", "document", "document_file")
JOB_FIELDS = (*TEXTS, "id", "in_place", "options", "checks")
# Fields of a result, which a job may not have under the same name.
RESULT_FIELDS = (
    "schema", "status", "error", "error_type", "notation", "dialect", "report", "diff", "workspace",
    "attempts", "seconds", "seconds_workspace", "seconds_run", "seconds_checks", "cpu_seconds",
)  # fmt: skip
# The columns of SWE-bench: those of a predictions file, and those of the dataset.
SWE_BENCH = {
    "id": "instance_id", "model": "model_name_or_path", "document": "model_patch", "repo": "repo",
    "commit": "base_commit",
}  # fmt: skip
COLUMN = re.compile(r"\{(\w+)\}")  # in a template such as mirrors/{repo}.git
FORBIDDEN_OPTIONS = {
    "workspace": "the job's path, or its repo, is the workspace",
    "lock_file": "jobs do not wait for each other by a lock",
}
NO_IN_PLACE = (
    "in_place is no longer supported: each job works on a copy. "
    "Keep the copies with --keep=all, or apply the results' diffs with git apply"
)


class Check(Value):
    """A command to run after the document."""

    command: str
    timeout: float | None = None  # seconds
    junit: str | None = None  # JUnit XML file that the command writes


class Job(Value):
    """An answer, and the directory or the commit that it is applied to."""

    id: str
    path: str | None = None
    repo: str | None = None
    commit: str | None = None
    document: str | None = None
    document_file: str | None = None
    options: Mapping[str, Any] = {}
    checks: tuple[Check, ...] = ()
    fields: Mapping[str, Any] = {}  # all others, which are copied into the result


class BadJobError(UsageError):
    """A row that is not a job, with its file and line."""


# One job.


def job_from(row: object) -> Job:
    """Return the job that a row describes; UsageError says what is wrong with it."""
    if not isinstance(row, dict):
        raise UsageError('a job is an object, such as {"id": …, "path": …, "document": …}')
    own = {name: row[name] for name in JOB_FIELDS if row.get(name) is not None}
    fields = {name: value for name, value in row.items() if name not in JOB_FIELDS}
    if own.pop("in_place", False):
        raise UsageError(NO_IN_PLACE)
    own["id"] = _id(own.get("id"))
    for name in TEXTS:
        value = own.get(name, "text")
        if not isinstance(value, str) or (not value and name != "document"):
            raise UsageError(f"{name} must be a text that is not empty, not {_quote(value)}")
        if "\0" in value and name != "document":
            raise UsageError(f"{name} has a NUL in it")
    for is_wrong, message in (
        (("path" in own) == ("repo" in own), "a job has a path, or a repo and a commit, and not both"),
        (("repo" in own) != ("commit" in own), "repo and commit go together"),
        (
            ("document" in own) == ("document_file" in own),
            "a job has a document or a document_file, and not both",
        ),
    ):
        if is_wrong:
            raise UsageError(message)
    if "options" in own:
        own["options"] = _options(own["options"])
    if not isinstance(own.get("checks", ()), list | tuple):
        raise UsageError(f"checks must be a list of commands, not {_quote(own['checks'])}")
    own["checks"] = tuple(map(_check, own.get("checks", ())))
    _check_fields(fields)
    return Job(**own, fields=fields)


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID:
        raise UsageError(f"id must be an integer, or a text of 1 to {MAX_ID} characters, not {_quote(value)}")
    return value


def _options(options: object) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise UsageError(f"options must be an object, not {_quote(options)}")
    for name, why in FORBIDDEN_OPTIONS.items():
        if name in options:
            raise UsageError(f"options cannot have {name}: {why}")
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    try:
        json.dumps(given, allow_nan=False)
        Settings.from_options(**given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"options: {str(error).removeprefix('execute() ')}") from None
    return given


def _check(check: object) -> Check:
    given = {"command": check} if isinstance(check, str) else check
    if not isinstance(given, dict) or set(given) - {"command", "timeout", "junit"}:
        raise UsageError(f"a check is a command, or has command, timeout and junit, not {_quote(check)}")
    command, timeout, junit = given.get("command"), given.get("timeout"), given.get("junit")
    if not isinstance(command, str) or not command.strip():
        raise UsageError(f"the command of a check must be a text that is not empty, not {_quote(command)}")
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool) and isfinite(timeout)
    if timeout is not None and not (is_number and timeout > 0):
        raise UsageError(f"the timeout of a check must be seconds, more than 0, not {_quote(timeout)}")
    if junit is not None and not (isinstance(junit, str) and junit):
        raise UsageError(f"the junit of a check must be a path, not {_quote(junit)}")
    return Check(command, timeout, junit)


def _check_fields(fields: Row) -> None:
    for name, value in fields.items():
        if name in RESULT_FIELDS:
            raise UsageError(f"the field {name} is one of the result's own: rename it")
        if not isinstance(value, SCALARS):
            raise UsageError(f"the field {name} must be a text, a number, true, false or null")
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"the field {name} must be a finite number, not {value}")


def _quote(value: object) -> str:
    return shortened(json.dumps(value, default=repr))


# Many jobs.


class JobSource:
    """The jobs of a file, of a directory of shards, or of a program.

    `mapping` says which column is which field; `dataset` has further columns, joined by the id.
    """

    def __init__(
        self,
        jobs: str | Iterable[Row],
        mapping: Mapping[str, str] | None = None,
        dataset: str | None = None,
    ) -> None:
        self._jobs, self._mapping = jobs, dict(mapping or {})
        self.files = _shards(jobs) if isinstance(jobs, str) else []
        self.base = os.getcwd()  # directory to which the paths in jobs are relative
        if isinstance(jobs, str):
            self.base = os.path.abspath(jobs if os.path.isdir(jobs) else os.path.dirname(jobs) or ".")
        if not isinstance(jobs, str) and (mapping or dataset):
            raise UsageError("mapping and dataset go with a file of jobs")
        self._joined = self._read_dataset(dataset) if dataset else {}

    def jobs(self) -> Iterator[tuple[str, Job]]:
        """Yield each job with its file and row; BadJobError names the row that is not a job."""
        for where, row in self._rows():
            try:
                yield where, job_from(self._map(row))
            except UsageError as error:
                raise BadJobError(f"{where}: {error}") from None

    def _rows(self) -> Iterator[tuple[str, Any]]:
        if isinstance(self._jobs, str):
            for file in self.files:
                yield from _rows_of(file)
        else:
            for number, row in enumerate(self._jobs, 1):
                yield f"job {number}", dict(row) if hasattr(row, "keys") else row

    def _map(self, row: Any) -> Any:
        """Return a row with the names that fields of jobs have."""
        is_swe_bench = (
            isinstance(row, dict) and "model_patch" in row and "instance_id" in row and "id" not in row
        )
        mapping = {**SWE_BENCH, **self._mapping} if is_swe_bench else self._mapping
        if not mapping or not isinstance(row, dict):
            return row
        row = {**self._joined.get(str(row.get(mapping.get("id", "id"))), {}), **row}
        mapped = {name: row[name] for name in JOB_FIELDS if name in row}
        for name, column in mapping.items():
            if name in self._mapping or column in row:
                mapped[name] = _value(row, column)
        if mapped.get("document") is None and "document" in mapping:
            mapped["document"] = ""  # the model gave no answer
        return mapped

    def _read_dataset(self, path: str) -> dict[str, Row]:
        """Return the rows of a dataset by their id, with the columns that the mapping names."""
        mapping = {**SWE_BENCH, **self._mapping}
        columns = {name for text in mapping.values() for name in (COLUMN.findall(text) or [text])}
        found: dict[str, Row] = {}
        for file in _shards(path):
            for where, row in _rows_of(file):
                if mapping["id"] not in row:
                    raise BadJobError(f"{where}: there is no column {mapping['id']}")
                found[str(row[mapping["id"]])] = {name: row[name] for name in columns if name in row}
        return found


def parse_mapping(text: str) -> dict[str, str]:
    """Parse a mapping such as `document=model_patch,repo=mirrors/{repo}.git`."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not pairs or not all(name.strip() and column.strip() for name, _equals, column in pairs):
        raise UsageError(f"--map takes FIELD=COLUMN,…, such as document=model_patch, not {text!r}")
    return {name.strip(): column.strip() for name, _equals, column in pairs}


def _value(row: Row, column: str) -> Any:
    """Return the value of a column, or of a template with columns in it."""
    for name in COLUMN.findall(column) or [column]:
        if name not in row:
            raise UsageError(f"there is no column {name}")
    return COLUMN.sub(lambda match: str(row[match[1]]), column) if "{" in column else row[column]


# Files.


def _shards(path: str) -> list[str]:
    """Return the files of a directory of jobs in order; of a file, the file itself."""
    if not os.path.isdir(path):
        if os.path.exists(path) and not os.path.isfile(path):
            raise UsageError(f"{path} is not a regular file: jobs are read twice, first to check them")
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, _folders, names in os.walk(path)
        for name in names
        if name.endswith(tuple(READERS)) and not name.startswith(".")
    ]
    if not found:
        raise UsageError(f"{path} has no files of jobs ({', '.join(READERS)})")
    return sorted(found)


def _rows_of(file: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file, each with the file and its number, for messages."""
    reader = READERS.get(os.path.splitext(file)[1], _read_json_lines)
    try:
        yield from reader(file)
    except OSError as error:
        raise UsageError(f"{file}: {reason(error)}") from None


def _read_json_lines(file: str) -> Iterator[tuple[str, Any]]:
    with open(file, "rb") as lines:
        number = 0
        while line := lines.readline(MAX_LINE):
            number += 1
            if not line.isspace():
                where = f"{file}, line {number}"
                yield where, _decode(line, where)


def _decode(line: bytes, where: str) -> Any:
    if len(line) >= MAX_LINE:
        raise BadJobError(f"{where}: longer than {MAX_LINE >> 20} MB")
    try:
        return _JSON.decode(line.decode())
    except UnicodeDecodeError as error:
        raise BadJobError(f"{where}: not UTF-8, at byte {error.start}") from None
    except RecursionError:
        raise BadJobError(f"{where}: nested too deeply") from None
    except ValueError as error:
        raise BadJobError(f"{where}: not JSON: {error}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)


def _read_parquet(file: str) -> Iterator[tuple[str, Any]]:
    with _arrow("pyarrow.parquet", file).ParquetFile(file) as table:
        yield from _batches(file, table.iter_batches(batch_size=ROWS_AT_ONCE))


def _read_arrow(file: str) -> Iterator[tuple[str, Any]]:
    """Read what `datasets.save_to_disk` writes: a stream of record batches."""
    with (
        _arrow("pyarrow", file).memory_map(file) as mapped,
        _arrow("pyarrow.ipc", file).open_stream(mapped) as stream,
    ):
        yield from _batches(file, stream)


def _batches(file: str, batches: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            for row in batch.slice(start, ROWS_AT_ONCE).to_pylist():
                number += 1
                yield f"{file}, row {number}", row


def _arrow(module: str, file: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise UsageError(f"{file} needs pyarrow", "pip install 'clada[parquet]'") from None


READERS = {".jsonl": _read_json_lines, ".parquet": _read_parquet, ".arrow": _read_arrow}


# Ids.


class Ids:
    """A set of ids, as digests of 16 bytes: a million take about 100 MB."""

    def __init__(self) -> None:
        self._digests: set[int] = set()

    def add(self, id_: str) -> bool:
        """Add an id; return whether it is new."""
        before = len(self._digests)
        self._digests.add(_digest(id_))
        return len(self._digests) > before

    def remove(self, id_: str) -> bool:
        """Remove an id; return whether it was there."""
        before = len(self._digests)
        self._digests.discard(_digest(id_))
        return len(self._digests) < before

    def __contains__(self, id_: str) -> bool:
        return _digest(id_) in self._digests

    def __len__(self) -> int:
        return len(self._digests)


def _digest(id_: str) -> int:
    return int.from_bytes(blake2b(id_.encode(errors="surrogatepass"), digest_size=16).digest())


def directory_name(id_: str, attempt: int) -> str:
    """Return a readable directory name that is unique to an id and an attempt."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in id_)
    return f"{plain.lstrip('.')[:60] or 'job'}-{_digest(id_):032x}-{attempt}"


def resolve(base: str, path: str) -> str:
    """Return the absolute path of a path in a job."""
    return os.path.normpath(os.path.join(base, os.path.expanduser(path)))
