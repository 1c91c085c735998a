"""Jobs: what one line of a jobs file says, checked; whatever is wrong names its line."""

from __future__ import annotations

import json
import os
from array import array
from hashlib import blake2b

from clada.errors import UsageError
from clada.settings import Settings
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

LONGEST = 256 << 20  # bytes of a line; a document has at most 50 MB, which JSON can make five times as long
LONGEST_ID = 500  # characters
SCALARS = (str, int, float, bool, type(None))
TEXTS = ("path", "repo", "commit", "document", "document_file")
OWN = (*TEXTS, "id", "in_place", "options", "checks")
# What a result says itself: a job may have no fields of these names.
RESULT = (
    "schema", "status", "error", "error_type", "notation", "dialect", "report", "diff", "workspace",
    "attempts", "engine", "seconds", "seconds_workspace", "seconds_run", "seconds_checks", "cpu_seconds",
    "peak_memory",
)  # fmt: skip
CHANGED = "it was changed after it was checked: start the batch again with --resume"
NOT_AN_OPTION = {
    "workspace": "the job's path, or its repo, is the workspace",
    "lock_file": "jobs do not wait for each other by a lock",
}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


_DECODE = json.JSONDecoder(parse_constant=_refuse).decode


class BadJob(UsageError):  # noqa: N818 (it is one kind of UsageError)
    """A job that cannot be one, with its line."""


class Job(Value):
    """One job: an answer, and the workspace that it is carried out in."""

    id: str
    path: str | None = None  # a directory, which is copied
    in_place: bool = False  # or changed where it is
    repo: str | None = None  # a git repository
    commit: str | None = None  # of which each job gets a work tree of its own
    document: str | None = None
    document_file: str | None = None
    options: Mapping[str, Any] = {}
    checks: tuple[str, ...] = ()
    fields: Mapping[str, Any] = {}  # all others, which the result keeps


class Line(Value):
    """A line of a jobs file: the number of the job from 0, its text, and what it says."""

    number: int
    text: bytes
    job: Job


def read_job(text: bytes) -> Job:
    """Return what a line says; UsageError says what is wrong with it."""
    try:
        found = _DECODE(text.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"it is not UTF-8, at byte {error.start}") from None
    except RecursionError:
        raise UsageError("it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"it is not JSON: {error}") from None
    return job_of(found)


def known_job(text: bytes) -> Job:
    """Return what a line says that was checked before: the same as `read_job`, in half the time."""
    found = _DECODE(text.decode())
    take = found.pop
    return Job(
        str(take("id")),
        take("path", None),
        take("in_place", False),
        take("repo", None),
        take("commit", None),
        take("document", None),
        take("document_file", None),
        take("options", {}),
        tuple(take("checks", ())),
        found,
    )


def job_of(found: object) -> Job:
    """Return the job that a dict describes; UsageError says what is wrong with it."""
    if not isinstance(found, dict):
        raise UsageError('a job is an object, such as {"id": …, "path": …, "document": …}')
    own = {name: found[name] for name in OWN if name in found}
    fields = {name: value for name, value in found.items() if name not in OWN}
    own["id"] = _id(own.get("id"))
    for name in TEXTS:
        if name in own and (not isinstance(own[name], str) or (not own[name] and name != "document")):
            raise UsageError(f"{name} must be a text that is not empty, not {_shown(own[name])}")
    _check_workspace(own)
    if ("document" in own) == ("document_file" in own):
        raise UsageError("a job has a document or a document_file, and not both")
    if not isinstance(own.get("in_place", False), bool):
        raise UsageError(f"in_place must be true or false, not {_shown(own['in_place'])}")
    if "options" in own:
        _check_options(own["options"])
    if "checks" in own:
        own["checks"] = _checks(own["checks"])
    if fields:
        _check_fields(fields)
    return Job(**own, fields=fields)


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value or len(value) > LONGEST_ID:
        raise UsageError(
            f"id must be a number, or a text of 1 to {LONGEST_ID} characters, not {_shown(value)}"
        )
    return value


def _check_workspace(own: Mapping[str, Any]) -> None:
    if ("path" in own) == ("repo" in own):
        raise UsageError("a job has a path, or a repo and a commit, and not both")
    if ("repo" in own) != ("commit" in own):
        raise UsageError("repo and commit go together")
    if own.get("in_place") and "repo" in own:
        raise UsageError("in_place goes with a path: each job has a work tree of its own of a repo")
    for name in ("path", "repo", "commit", "document_file"):
        if "\0" in own.get(name, ""):
            raise UsageError(f"{name} has a NUL in it")


def _check_options(options: object) -> None:
    if not isinstance(options, dict):
        raise UsageError(f"options must be an object, not {_shown(options)}")
    for name, reason in NOT_AN_OPTION.items():
        if name in options:
            raise UsageError(f"options cannot have {name}: {reason}")
    try:
        Settings.from_options(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"options: {str(error).removeprefix('execute() ')}") from None


def _checks(checks: object) -> tuple[str, ...]:
    if not isinstance(checks, list | tuple) or not all(
        isinstance(check, str) and check.strip() for check in checks
    ):
        raise UsageError(f"checks must be a list of commands, not {_shown(checks)}")
    return tuple(checks)


def _check_fields(fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        if name in RESULT:
            raise UsageError(f"the field {name} is one of the result's own: give it another name")
        if not isinstance(value, SCALARS):
            raise UsageError(
                f"the field {name} must be a text, a number, true, false or null: fields are flat"
            )


def _shown(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= 60 else f"{text[:59]}…"  # noqa: PLR2004 (as in other messages)


# Many of them.


def check(path: str) -> array[int]:
    """Check every line of a file; return a mark of each job, by which `lines_of` knows its line again.

    Each id is there once; BadJob names the line that is wrong.
    """
    ids, marks = Ids(), array("q")
    for place, text in _texts(path):
        try:
            _checked(text, ids)
        except UsageError as error:
            raise BadJob(f"{path}, line {place}: {error}") from None
        marks.append(_mark(text))
    return marks


def lines_of(path: str, marks: Iterable[int]) -> Iterator[Line]:
    """Yield the jobs of a file that were checked; BadJob names a line that is not what it was.

    Lines that were added behind them are left for another batch.
    """
    texts, place = _texts(path), 0
    for number, mark in enumerate(marks):
        place, text = next(texts, (place + 1, b""))
        if _mark(text) != mark:
            raise BadJob(f"{path}, line {place}: {CHANGED}")
        yield Line(number, text, known_job(text))


def _texts(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers from 1. Blank ones count for nothing."""
    place = 0
    try:
        with open(path, "rb") as file:
            while text := file.readline(LONGEST):
                place += 1
                if not text.isspace():
                    yield place, text
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def _mark(text: bytes) -> int:
    return hash(text.rstrip(b"\r\n"))  # the last line gets its break when others are added behind it


def lines_from(jobs: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield jobs that a program gives; BadJob names the one that is wrong, counted from 1."""
    ids = Ids()
    for number, given in enumerate(jobs):
        try:
            text = json.dumps(given).encode()
            yield Line(number, text, _checked(text, ids))
        except (UsageError, TypeError, ValueError) as error:
            raise BadJob(f"job {number + 1}: {error}") from None


def _checked(text: bytes, ids: Ids) -> Job:
    if len(text) >= LONGEST:
        raise UsageError(f"it is longer than {LONGEST >> 20} MB")
    job = read_job(text)
    if not ids.add(job.id):
        raise UsageError(f"the id {_shown(job.id)} was there before: each job needs one of its own")
    return job


class Ids:
    """The ids of a batch: each may be there once. They are kept as short digests, for there may be many."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def add(self, id_: str) -> bool:
        """Take an id; return whether it is new."""
        before = len(self._seen)
        self._seen.add(_number(id_))
        return len(self._seen) > before

    def __contains__(self, id_: str) -> bool:
        return _number(id_) in self._seen

    def __len__(self) -> int:
        return len(self._seen)


def _number(id_: str) -> int:
    return int.from_bytes(_digest(id_))  # which takes less room than bytes do


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode(errors="surrogatepass"), digest_size=16).digest()


def key_of(id_: str) -> str:
    """Return a name for a job that can be that of a file, and that no other job has."""
    return _digest(id_).hex()


def name_of(id_: str) -> str:
    """Return a name for a job's workspace: a person finds it by the id, and no two have the same."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in id_)
    return f"{plain.lstrip('.')[:60] or 'job'}-{key_of(id_)}"


def resolved(base: str, path: str) -> str:
    """Return a path of a job, which counts from the directory that its file is in."""
    if path.startswith("~"):
        path = os.path.expanduser(path)
    return os.path.normpath(path if path.startswith("/") else f"{base}/{path}")
