"""The results file: each line whole or not at all, each id once; a batch that was stopped goes on with it."""

from __future__ import annotations

import fcntl
import json
import os
import time

from clada.batch.jobs import Ids
from clada.errors import CladaError, UsageError
from clada.world import handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

    from clada.batch.local import Finished

WAIT = 20.0  # seconds that the processes of a batch which was killed have to end
PAUSE = 0.05
BACKWARDS = 1 << 16  # bytes that are looked at for the end of the last whole line


class ResultsFile:
    """A results file that is written: by this process alone, for the batch holds a lock."""

    def __init__(self, path: str, *, resume: bool) -> None:
        """Open it; UsageError where it is there already, unless it is to be continued."""
        self.path = path
        self.done = Ids()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            self._handle = os.open(path, flags if resume else flags | os.O_EXCL, 0o666)
        except FileExistsError:
            raise UsageError(
                f"{path} is there already: --resume goes on with it, or name another file"
            ) from None
        except OSError as error:
            raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
        try:
            self._size = self._cut_torn_line() if resume else 0
            for result in read_results(path) if resume else ():
                self.done.add(result["id"])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        os.close(self._handle)

    def _cut_torn_line(self) -> int:
        """Remove what is behind the last line break: a line that a kill or a full disk has torn."""
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

    def add(self, finished: Sequence[Finished]) -> list[Finished]:
        """Write the results of jobs that have none yet, and return these jobs; CladaError where it cannot."""
        new = [each for each in finished if each.line.job.id not in self.done]
        text = b"".join([each.result for each in new])
        end, trouble = self._size + len(text), None
        try:
            handles.write(self._handle, text)
        except OSError as error:  # the disk is full, most likely: what is whole stays
            end, trouble = self._cut_torn_line(), (error.strerror or str(error)).lower()
        for each in new:
            self._size += len(each.result)
            if self._size <= end:
                self.done.add(each.line.job.id)  # not before: what it changed in place is kept until then
        if trouble:
            message = f"{self.path} cannot be written: {trouble}"
            raise CladaError("io_error", message, "make room, and go on with --resume")
        return new


def read_results(path: str) -> Iterator[dict[str, Any]]:
    """Yield the results of a file; UsageError names the line that is none."""
    place = 0
    try:
        with open(path, "rb") as file:
            for text in file:
                place += 1
                result = json.loads(text)
                if (
                    not isinstance(result, dict)
                    or not isinstance(result.get("id"), str)
                    or "status" not in result
                ):
                    raise UsageError(f"{path}, line {place}: this is no result of a batch")
                yield result
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path}, line {place}: this is no result of a batch: {error}") from None


def lock(work: str) -> int:
    """Return the handle of a lock that one batch holds; the processes of one that was killed end first."""
    path = f"{work}/lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = time.monotonic() + WAIT
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > until:
                os.close(handle)
                raise CladaError(
                    "lock_timeout", f"another batch is at work in {work}", "wait for its end"
                ) from None
            time.sleep(PAUSE)
            continue
        if _is_still(path, handle):
            return handle
        os.close(handle)  # the batch before has removed it meanwhile
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_still(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
