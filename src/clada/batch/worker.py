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
from clada.batch.limits import PeakMemory, usage
from clada.batch.perform import FAILED, NONE, STATUSES, attempt, failure, prepare, result_of, trouble_of
from clada.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any, NoReturn

    from clada.batch.jobs import Job
    from clada.batch.perform import Config, Prepared

    Used = tuple[float, int]  # processor time in seconds, and the peak of memory in bytes

JOB = struct.Struct("<QBI")  # number, attempt from 1 with BEGUN or GIVE_UP, length
BEGUN = 0x40  # it may have been begun before: what it changed is put back first
GIVE_UP = 0x80  # it crashed too often: what it changed is put back, and it is not tried again
RESULT = struct.Struct("<QBI")  # number, status or one of these, length
SKIPPED, GIVEN_UP = 0xFE, 0xFF
NOW = struct.Struct("<Qd")  # the number of the job that runs, from 1, and when it began; 0: none
STOP = NOW.size  # where it stands that no other job is to begin
BOARD = mmap.PAGESIZE
_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 16
_TOGETHER = 8  # results of short jobs that are sent at once: to wake somebody costs as much as a small job
_FOR_PROCESSES = ("clada.commands", "clada.operations", "clada.world")
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def prctl(option: int, value: int) -> None:
    """Set something of this process, where the system has such things."""
    if sys.platform == "linux":
        from clada.world.libc import LIBC

        LIBC.prctl(option, value, 0, 0, 0)


def die_with_parent() -> None:
    """End when the process that started this one ends: nobody would take care of it."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """Carries out jobs one after the other."""

    def __init__(self, engine: socket.socket, board: mmap.mmap, config: Config) -> None:
        self.engine, self.board, self.config = engine, board, config
        self.peak = PeakMemory()
        self._buffer = bytearray()
        self._answers: list[bytes] = []
        self._loaded = False

    def run(self) -> NoReturn:
        """Do what comes, until the engine ends."""
        while True:
            number, attempts, text = self._next()
            if self.board[STOP]:
                self._answer(number, SKIPPED)  # it is left for another batch
            elif attempts & GIVE_UP:
                self._give_up(number, known_job(text))
            else:
                self._do(number, attempts, text)

    def _next(self) -> tuple[int, int, bytes]:
        buffer = self._buffer
        need = JOB.size
        while True:
            if len(buffer) >= JOB.size:
                number, attempts, length = JOB.unpack_from(buffer)
                need = JOB.size + length
                if len(buffer) >= need:
                    text = bytes(buffer[JOB.size : need])
                    del buffer[:need]
                    return number, attempts, text
            self._flush()
            piece = self.engine.recv(max(_PIECE, need - len(buffer)))
            if not piece:
                os._exit(0)
            buffer += piece

    def _do(self, number: int, attempts: int, text: bytes) -> None:
        started = time.monotonic()
        NOW.pack_into(self.board, 0, number + 1, started)
        job = known_job(text)
        found, used = self._found(number, job, attempts, started)
        result = result_of(job, found, attempts & ~BEGUN, (time.monotonic() - started, *used))
        self._answer(number, STATUSES.index(found["status"]), encoded(result))

    def _found(self, number: int, job: Job, attempts: int, started: float) -> tuple[dict[str, Any], Used]:
        """Perform a job; return what came of it, and what it took."""
        self.peak.reset()
        cpu = time.process_time()
        try:
            if attempts & BEGUN or self.config.shared:
                _clean(job, workspaces.place_of(number, job, self.config.work, self.config.base))
            prepared = prepare(number, job, self.config)
            if not prepared.plain:
                return self._do_apart(prepared, started)
            found = attempt(prepared, self.config, started)
        except Exception as bug:  # noqa: BLE001 (one job's trouble is its own)
            found = failure(FAILED, trouble_of(bug))
        return found, (time.process_time() - cpu, self.peak.read())

    def _do_apart(self, prepared: Prepared, started: float) -> tuple[dict[str, Any], Used]:
        """Perform a job in a process of its own: what it took, with all that it started, is known then."""
        self._flush()
        if not self._loaded:  # here, for what a job's own process loads is lost with it
            self._loaded = True
            _load_all()
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                die_with_parent()
                os.close(reader)
                found = attempt(prepared, self.config, started)
                with open(writer, "wb") as file:
                    file.write(json.dumps(found).encode())
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
        return json.loads(text), usage(used)

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
        NOW.pack_into(self.board, 0, 0, 0.0)  # to wait for the engine is no time of the job
        self._answers += RESULT.pack(number, status, len(line)), line
        if len(self._answers) >= 2 * _TOGETHER or len(line) > _PIECE:
            self._flush()

    def _flush(self) -> None:
        if self._answers:
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


def encoded(result: dict[str, Any]) -> bytes:
    """Return a result as a line."""
    return _encode(result).encode() + b"\n"


def _clean(job: Job, place: workspaces.JobPlace) -> None:
    """See to it that nothing is left of an attempt that was cut short."""
    if not job.in_place:
        workspaces.forget(place)
    elif os.path.lexists(place.files) or os.path.lexists(place.copy):
        workspaces.restore(place)
