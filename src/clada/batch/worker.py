"""A worker: carries out jobs one after the other. A job that starts processes gets a process of its own.

On `data` come frames: `JOB` and the job's line; back goes `RESULT` and the result's line, or nothing where
the engine is to write it. On the board, which the keeper and the engine share, stands what it is doing.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import sys
import time

from clada.batch import workspaces
from clada.batch.jobs import known_job
from clada.batch.journal import KeptJournal
from clada.batch.limits import PeakMemory, usage, used_so_far
from clada.batch.perform import (
    FAILED,
    NONE,
    STATUSES,
    JobOutcome,
    attempt,
    failure,
    prepare,
    result_line,
    told,
    trouble_of,
)
from clada.errors import Error
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import NoReturn

    from clada.batch.jobs import Job
    from clada.batch.perform import Config, Prepared

    Used = tuple[float, int]  # processor time in seconds, and the peak of memory in bytes

JOB = struct.Struct("<QBI")  # number, attempt from 1 with BEGUN or GIVE_UP, length
BEGUN = 0x40  # it may have been begun before: what it changed is put back first
GIVE_UP = 0x80  # it crashed too often: what it changed is put back, and it is not tried again
RESULT = struct.Struct("<QBI")  # number, status with KEPT or one of these, length
SKIPPED, GIVEN_UP = 0xFE, 0xFF
KEPT = 0x40  # something may be kept of it that is its own, and not in the worker's journal
# Jobs that a worker has beside the one that it is at work on, where they are short: few, for one of them may
# turn out to be long, and no other worker takes those behind it. All others that it had have their results.
MOST_AHEAD = 32
NOW = struct.Struct("<Qd")  # the number of the job that runs, from 1, and when it began; 0: none
STOP = NOW.size  # where it stands that no other job is to begin
BOARD = mmap.PAGESIZE
_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 16
# Short jobs that are prepared in a row, and whose results are written and sent in a row: each of these steps
# takes half the time then, and to wake somebody costs as much as a small job.
_TOGETHER = 16
_SMALL = 1 << 14  # bytes of a job that is prepared before its turn
_LITTLE = 1 << 17  # bytes that it may have changed, before and after, if its result is to wait for others
_FOR_PROCESSES = ("clada.commands", "clada.operations", "clada.world")


def prctl(option: int, value: int) -> None:
    """Set something of this process, where the system has such things."""
    if sys.platform == "linux":
        from clada.world.libc import LIBC

        LIBC.prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """End when the process that started this one ends: nobody would take care of it."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Came(Value):
    """A job that has come; a small one has been prepared, which took so many seconds."""

    number: int
    attempts: int
    text: bytes
    job: Job | None = None
    prepared: Prepared | None = None
    seconds: float = 0.0


class Ended(Value):
    """A job that has come to its end, and what came of it."""

    number: int
    job: Job
    found: JobOutcome
    attempts: int
    kept: int  # KEPT, or 0
    seconds: float
    used: Used


class Worker:
    """Carries out jobs one after the other."""

    def __init__(self, engine: socket.socket, board: mmap.mmap, config: Config) -> None:
        self.engine, self.board, self.config = engine, board, config
        self.peak = PeakMemory()
        self._journal = KeptJournal(config.journal, MOST_AHEAD + 1) if config.journal else None
        self._buffer = bytearray()
        self._ended: list[Ended] = []  # whose results wait for others
        self._answers: list[bytes] = []
        self._loaded = False

    def run(self) -> NoReturn:
        """Do what comes, until the engine ends."""
        while True:
            for came in self._next():
                if self.board[STOP]:
                    self._answer(came.number, SKIPPED)  # it is left for another batch
                elif came.attempts & GIVE_UP:
                    self._give_up(came.number, known_job(came.text))
                else:
                    self._do(came)

    def _next(self) -> list[Came]:
        """Return jobs that have come: several, if they are there."""
        buffer = self._buffer
        while True:
            found: list[Came] = []
            start, end = 0, JOB.size
            while len(buffer) >= end and len(found) < _TOGETHER:
                number, attempts, length = JOB.unpack_from(buffer, start)
                end = start + JOB.size + length
                if len(buffer) < end:
                    break
                text = bytes(memoryview(buffer)[start + JOB.size : end])
                found.append(self._come(number, attempts, text))
                start, end = end, end + JOB.size
            if found:
                del buffer[:start]
                return found
            self._flush()
            piece = self.engine.recv(max(_PIECE, end - len(buffer)))
            if not piece:
                os._exit(0)
            buffer += piece

    def _come(self, number: int, attempts: int, text: bytes) -> Came:
        """Take a job that has come. A small one is prepared, unless that takes more than to compute."""
        if len(text) > _SMALL or attempts & GIVE_UP:
            return Came(number, attempts, text)
        started = time.monotonic()
        NOW.pack_into(self.board, 0, number + 1, started)
        job = known_job(text)
        prepared = None
        if job.document is not None:
            try:
                prepared = prepare(number, job, self.config)
            except Exception:  # noqa: BLE001 (it comes up again in its turn)
                prepared = None
        return Came(number, attempts, text, job, prepared, time.monotonic() - started)

    def _do(self, came: Came) -> None:
        started = time.monotonic() - came.seconds
        NOW.pack_into(self.board, 0, came.number + 1, started)
        job = came.job or known_job(came.text)
        found, used = self._found(came, job, started)
        kept = 0 if self._journal and self._journal.last == came.number else KEPT
        attempts, seconds = came.attempts & ~BEGUN, time.monotonic() - started
        self._ended.append(Ended(came.number, job, found, attempts, kept, seconds, used))
        if not came.prepared or found.size > _LITTLE:
            self._tell()
        NOW.pack_into(self.board, 0, 0, 0.0)  # to wait for the engine is no time of the job
        self._flush(_TOGETHER)

    def _found(self, came: Came, job: Job, started: float) -> tuple[JobOutcome, Used]:
        """Perform a job; return what came of it, and what it took."""
        self.peak.reset()
        cpu = time.process_time() - came.seconds  # in which nothing was waited for
        try:
            if came.attempts & BEGUN or self.config.shared:
                _clean(job, workspaces.place_of(came.number, job, self.config.work, self.config.base))
            prepared = came.prepared or prepare(came.number, job, self.config)
            if not prepared.plain:
                return self._do_apart(prepared, started)
            found = attempt(prepared, self.config, started, self._journal)
        except Exception as bug:  # noqa: BLE001 (one job's trouble is its own)
            found = failure(FAILED, trouble_of(bug))
        until, peak = used_so_far()
        return found, (max(0.0, until - cpu), peak)

    def _do_apart(self, prepared: Prepared, started: float) -> tuple[JobOutcome, Used]:
        """Perform a job in a process of its own: what it took, with all that it started, is known then."""
        self._flush()
        NOW.pack_into(self.board, 0, prepared.number + 1, started)  # it runs: its limits hold from here on
        if not self._loaded:  # here, for what a job's own process loads is lost with it
            self._loaded = True
            _load_all()
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                die_with_parent()
                os.close(reader)
                found, report, diff = told(attempt(prepared, self.config, started), self.config)
                found = found.replace(report=None, changes=None, modes=None, told=(report, diff))
                with open(writer, "wb") as file:
                    file.write(json.dumps(found.by_name()).encode())
                os._exit(0)
            finally:
                os._exit(1)
        os.close(writer)
        with open(reader, "rb") as file:
            text = file.read()
        _, status, used = os.wait4(pid, 0)
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))  # as if it had been this process
        if status:
            message = f"its process ended with exit code {os.waitstatus_to_exitcode(status)}"
            return failure(FAILED, Error("io_error", message)), usage(used)
        return JobOutcome(**json.loads(text)), usage(used)

    def _give_up(self, number: int, job: Job) -> None:
        """Put back what a job changed that crashed, and tell what could not be."""
        text = ""
        place = workspaces.place_of(number, job, self.config.work, self.config.base)
        try:
            _clean(job, place)
            if not job.in_place and self.config.keep == NONE:
                workspaces.remove_all([place.workspace])
        except Exception as bug:  # noqa: BLE001 (the result has it)
            text = trouble_of(bug).sentence
        self._answer(number, GIVEN_UP, text.encode(errors="replace"))

    def _answer(self, number: int, status: int, line: bytes = b"") -> None:
        self._tell()  # in order: what is lost with this process is what came last
        self._answers += RESULT.pack(number, status, len(line)), line
        NOW.pack_into(self.board, 0, 0, 0.0)
        self._flush(_TOGETHER)

    def _tell(self) -> None:
        """Write the results that waited for others: each in the time of its job."""
        ended, self._ended = self._ended, []
        for each in ended:
            begin = time.monotonic()
            NOW.pack_into(self.board, 0, each.number + 1, begin - each.seconds)
            found, report, diff = told(each.found, self.config)
            spent = time.monotonic() - begin  # in which nothing was waited for
            took = each.seconds + spent, each.used[0] + spent, each.used[1]
            line = result_line(each.job, found, (report, diff), each.attempts, took)
            status = STATUSES.index(found.status) | each.kept
            self._answers += RESULT.pack(each.number, status, len(line)), line

    def _flush(self, least: int = 1) -> None:
        """Send the results, if there are so many, or a long one."""
        count = len(self._ended) + len(self._answers) // 2
        if count >= least or (self._answers and len(self._answers[-1]) > _PIECE):
            self._tell()
            NOW.pack_into(self.board, 0, 0, 0.0)
            text = b"".join(self._answers)
            self._answers.clear()
            self.engine.sendall(text)


def _load_all() -> None:
    from importlib import import_module
    from pkgutil import walk_packages

    for name in _FOR_PROCESSES:
        package = import_module(name)
        for module in walk_packages(package.__path__, f"{name}."):
            try:
                import_module(module.name)
            except (ImportError, OSError):  # there is none on this system
                continue


def _clean(job: Job, place: workspaces.JobPlace) -> None:
    """See to it that nothing is left of an attempt that was cut short."""
    if not job.in_place:
        workspaces.forget(place)
    elif os.path.lexists(place.files) or os.path.lexists(place.copy):
        workspaces.restore(place)
