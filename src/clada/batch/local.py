"""The local engine: spreads jobs over warm workers, and takes their results as they come."""

from __future__ import annotations

import json
import mmap
import os
import selectors
import socket
import subprocess
import sys
import tempfile
from collections import deque

from clada.batch import journal
from clada.batch.jobs import resolved
from clada.batch.perform import CRASHED, STATUSES, failure, result_line
from clada.batch.worker import (
    BEGUN,
    BOARD,
    GIVE_UP,
    GIVEN_UP,
    JOB,
    KEPT,
    MOST_AHEAD,
    RESULT,
    SKIPPED,
    STOP,
)
from clada.errors import CladaError, Error
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from clada.batch.jobs import Line
    from clada.batch.perform import Config

ATTEMPTS = 2  # of a job whose worker died
SHORT = 0.02  # seconds of work that a worker has ahead
UNKNOWN = 1.0  # seconds that a job is thought to take: one at a time, for now
SHORTEST = 1e-5  # seconds that a job takes at least
MOST_BYTES = 64 << 20  # of jobs that a worker has ahead
MOST_WAITING = 256  # jobs that wait for a worker which is in the same directory
TICK = 0.5  # seconds
END = 15.0  # seconds that a keeper gets to end everything
PIECE = 1 << 16
# The directory that clada is in: this file is …/clada/batch/local.py. It comes last on the path, with what is
# installed beside, so that nothing there can replace a standard module.
_ROOT = os.path.abspath(__file__).rsplit("/", 3)[0]
_MAIN = "import sys; sys.path += {path!r}; from clada.batch.keeper import main; main({handles})"


class Finished(Value):
    """A job that has a result: its line in the jobs file, its status, and the line of its result."""

    line: Line
    status: str
    result: bytes
    kept: bool = True  # something may be kept of it that is its own


class _Sent:
    """A job that is on its way: how often it was tried, and what came of that."""

    __slots__ = ("attempts", "begun", "cpu", "error", "line", "peak", "place", "status")

    def __init__(self, line: Line, base: str) -> None:
        self.line = line
        self.place = resolved(base, line.job.path or "") if line.job.in_place else None  # that it changes
        self.attempts = 1
        self.begun = False  # perhaps: its worker died
        self.status, self.error, self.cpu, self.peak = CRASHED, "", 0.0, 0

    def give_up(self) -> bool:
        return self.attempts > ATTEMPTS


class LocalEngine:
    """Workers on this machine. Used once, as a context manager; at its end nothing is left running."""

    def __init__(self, config: Config, workers: int, lock: int) -> None:
        """Take the handle of a lock that is held until the last process has ended."""
        self.config = config
        self._lock = lock
        self._selector = selectors.DefaultSelector()
        self._slots = [_Slot(self, number) for number in range(workers)]
        self._again: deque[_Sent] = deque()
        self._owners: dict[str, list[Any]] = {}  # of directories that are changed in place: slot, jobs
        self._stopping = False

    def __enter__(self) -> Self:
        try:
            for slot in self._slots:
                slot.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.close()
        for slot in self._slots:
            slot.wait()
        self._selector.close()

    def stop(self) -> None:
        """Let no other job begin; those that run come to their end. May be called by a signal handler."""
        self._stopping = True
        for slot in self._slots:
            slot.board[STOP] = 1

    @property
    def running(self) -> int:
        """How many workers have something to do."""
        return sum(bool(slot.sent) for slot in self._slots)

    def run(self, lines: Iterator[Line]) -> Iterator[list[Finished]]:
        """Carry out jobs; yield results as they come, some at a time, and none now and then meanwhile."""
        source: Iterator[Line] | None = lines
        while True:
            if not self._stopping:
                source = self._fill(source)
            elif not any(slot.sent for slot in self._slots):
                return
            if source is None and not self._again and not any(map(_Slot.has_jobs, self._slots)):
                return
            for slot in self._slots:
                slot.flush()
            for key, events in self._selector.select(TICK):
                slot, what = key.data
                yield from slot.take(what, events)
            yield []

    def _fill(self, source: Iterator[Line] | None) -> Iterator[Line] | None:
        """Give jobs to workers that have room; return the source, or None once it is empty."""
        waiting = sum(len(slot.queue) for slot in self._slots)
        for slot in self._slots:
            while slot.has_room() and waiting < MOST_WAITING:
                if self._again:
                    sent = self._again.popleft()
                else:
                    line = next(source, None) if source else None
                    if line is None:
                        return None
                    sent = _Sent(line, self.config.base)
                owner = self._owner(sent, slot)
                owner.queue.append(sent)
                owner.fill()
                waiting += owner is not slot
        return source

    def _owner(self, sent: _Sent, slot: _Slot) -> _Slot:
        """Return the worker for a job: one directory is changed by one worker at a time, in order."""
        if sent.place is None:
            return slot
        held = self._owners.setdefault(sent.place, [slot, 0])
        held[1] += 1
        owner: _Slot = held[0]
        return owner

    def release(self, sent: _Sent) -> None:
        """Note that a job does not run any more."""
        if sent.place is not None:
            held = self._owners[sent.place]
            held[1] -= 1
            if not held[1]:
                del self._owners[sent.place]

    def try_again(self, sents: list[_Sent]) -> None:
        """Take back jobs that were not begun: any worker may have them."""
        self._again.extendleft(reversed(sents))

    def start_keeper(self, board: int, worker: int) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """Start a keeper; return it, and its control socket."""
        ours, theirs = socket.socketpair()
        handles = (theirs.fileno(), board, self._lock)
        path = [_ROOT, *(entry for entry in sys.path if entry.endswith("/site-packages"))]
        main = _MAIN.format(path=path, handles=", ".join(map(str, handles)))
        try:
            keeper = subprocess.Popen(  # noqa: S603 (ourselves)
                [sys.executable, "-I", "-S", "-c", main],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=handles,
                start_new_session=True,  # what a terminal sends does not reach it
            )
        except OSError as error:
            ours.close()
            raise CladaError("io_error", f"no worker can be started: {error.strerror}") from error
        finally:
            theirs.close()
        # Where others may have to put something back, it is found by the job alone.
        own = "" if self.config.shared else journal.path_of(worker, self.config.work)
        ours.sendall(json.dumps({**self.config.by_name(), "journal": own}).encode() + b"\n")
        return keeper, ours

    def watch(self, handle: socket.socket, slot: _Slot, what: str) -> None:
        """Take what comes on a socket."""
        self._selector.register(handle, selectors.EVENT_READ, (slot, what))

    def watch_writing(self, handle: socket.socket, slot: _Slot, *, wanted: bool) -> None:
        """Take note, too, when it can be written to."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        self._selector.modify(handle, events, (slot, "data"))

    def ignore(self, handle: socket.socket) -> None:
        """Take nothing more from a socket."""
        self._selector.unregister(handle)


class _Slot:
    """One worker, and the keeper that starts it anew when it dies."""

    def __init__(self, engine: LocalEngine, number: int) -> None:
        self.engine, self._number = engine, number
        self.queue: deque[_Sent] = deque()  # jobs that this worker is to get
        self.sent: dict[int, _Sent] = {}  # jobs that it has, in order
        self._bytes = 0  # of them
        self._learn_pace(UNKNOWN)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it is closed at the end)
        self._file.truncate(BOARD)
        self.board = mmap.mmap(self._file.fileno(), BOARD)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._data: socket.socket | None = None
        self._out, self._in = bytearray(), bytearray()
        self._message = b""
        self._writing = self._ready = False

    def start(self) -> None:
        """Start a keeper."""
        self._keeper, self._control = self.engine.start_keeper(self._file.fileno(), self._number)
        self.engine.watch(self._control, self, "control")

    def close(self) -> None:
        """Let the keeper end everything."""
        for handle in (self._control, self._data):
            if handle:
                handle.close()

    def wait(self) -> None:
        """Wait for the keeper's end."""
        self.board.close()
        self._file.close()
        if self._keeper:
            try:
                self._keeper.wait(END)
            except subprocess.TimeoutExpired:  # it cannot end something: whoever is stuck in the kernel
                self._keeper.kill()
                self._keeper.wait()

    def has_jobs(self) -> bool:
        """Return whether this worker has anything to do."""
        return bool(self.sent or self.queue)

    def has_room(self) -> bool:
        """Return whether this worker may have one more job; the first in any case."""
        return len(self.sent) < self._most and self._bytes <= MOST_BYTES

    def fill(self) -> None:
        """Send what waits, as far as the worker has room."""
        while self.queue and self.has_room():
            sent = self.queue.popleft()
            self.sent[sent.line.number] = sent
            text = sent.line.text
            self._bytes += len(text)
            attempt = GIVE_UP if sent.give_up() else sent.attempts | (BEGUN if sent.begun else 0)
            self._out += JOB.pack(sent.line.number, attempt, len(text)) + text

    def flush(self) -> None:
        """Write what the worker takes."""
        self.fill()
        if not self._out or not self._data:
            return
        try:
            while self._out:
                count = self._data.send(memoryview(self._out)[:PIECE])
                del self._out[:count]
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):  # it has died, which the keeper will tell
            self._out.clear()
        if bool(self._out) != self._writing:
            self._writing = bool(self._out)
            self.engine.watch_writing(self._data, self, wanted=self._writing)

    def take(self, what: str, events: int) -> Iterator[list[Finished]]:
        """Take what has come from the worker, or from its keeper."""
        if what == "control":
            yield from self._take_message()
        elif self._data and events & selectors.EVENT_READ:
            yield from self._take_data()

    def _take_data(self) -> Iterator[list[Finished]]:
        if not self._data:
            return
        try:
            piece = self._data.recv(PIECE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            piece = b""
        if not piece:
            self._drop_data()
            return
        self._in += piece
        found: list[Finished] = []
        start = 0
        while len(self._in) - start >= RESULT.size:
            number, status, length = RESULT.unpack_from(self._in, start)
            end = start + RESULT.size + length
            if len(self._in) < end:
                break
            text = bytes(memoryview(self._in)[start + RESULT.size : end])
            start = end
            found += self._finished(number, status, text)
        del self._in[:start]
        yield found
        if found:
            seconds = sum(_seconds(each.result) for each in found)  # a long one is seldom the last that comes
            self._learn_pace((self._pace + seconds / len(found)) / 2)
        self.fill()  # not before: what a job changed is kept until its result is written

    def _finished(self, number: int, status: int, text: bytes) -> tuple[Finished, ...]:
        sent = self.sent.pop(number)
        self._bytes -= len(sent.line.text)
        self.engine.release(sent)
        if status == SKIPPED:
            return ()
        if status == GIVEN_UP:
            return (_given_up(sent, text.decode()),)
        return (Finished(sent.line, STATUSES[status & ~KEPT], text, bool(status & KEPT)),)

    def _learn_pace(self, seconds: float) -> None:
        self._pace = max(seconds, SHORTEST)  # that a job takes, more or less
        self._most = 1 + min(MOST_AHEAD, int(SHORT / self._pace))  # jobs that it may have

    def _drop_data(self) -> None:
        if self._data:
            self.engine.ignore(self._data)
            self._data.close()
            self._data = None
        self._out.clear()
        self._in.clear()
        self._writing = False

    def _take_message(self) -> Iterator[list[Finished]]:
        assert self._control  # noqa: S101 (else nothing could have come)
        try:
            text, handles, _flags, _address = socket.recv_fds(self._control, 65536, 1)
        except ConnectionResetError:
            text, handles = b"", []
        self._message += text
        if not text:
            yield from self._lost_keeper()
            return
        *messages, self._message = self._message.split(b"\n")
        for message in messages:
            died = json.loads(message)
            if died:
                yield from self._died(died)
        for handle in handles:
            self._ready = True
            self._data = socket.socket(fileno=handle)
            self._data.setblocking(False)
            self.engine.watch(self._data, self, "data")

    def _died(self, died: dict[str, Any]) -> Iterator[list[Finished]]:
        """Take what the worker had sent; then try again what it was at work on, and what it had not begun."""
        while self._data:
            yield from self._take_data()
        unsettled = self.sent.keys()
        own = f"{journal.PREFIX}{self._number}."
        journal.unpack(self.engine.config.work, lambda number, _id: number in unsettled, own)
        left, self.sent = list(self.sent.values()), {}
        self._bytes = 0
        self._learn_pace(UNKNOWN)
        if not left:
            return
        numbers = [sent.line.number for sent in left]
        for sent in left:
            sent.begun = True  # perhaps: those before it were done, and of short ones also some behind it
        guilty = left[numbers.index(died["number"]) if died["number"] in numbers else 0]
        guilty.attempts += 1
        guilty.status, guilty.error = died["why"], died["what"]
        guilty.cpu, guilty.peak = died["cpu"], died["peak"]
        if guilty.attempts > ATTEMPTS + 2:  # not even to give it up was possible
            left.remove(guilty)
            self.engine.release(guilty)
            yield [_given_up(guilty, "that crashed, too")]
        stay = [sent for sent in left if sent is guilty or sent.line.job.in_place]
        self.queue.extendleft(reversed(stay))
        self.engine.try_again([sent for sent in left if sent not in stay])

    def _lost_keeper(self) -> Iterator[list[Finished]]:
        """Start another keeper: somebody has killed this one. One that could not begin never will."""
        if not self._ready:
            raise CladaError("io_error", "a worker cannot be started", "see whether python3 runs clada here")
        self._ready = False
        if self._control:
            self.engine.ignore(self._control)
            self._control.close()
        if self._keeper:
            self._keeper.wait()
        yield from self._died(
            {"number": -1, "why": CRASHED, "what": "its keeper was killed", "cpu": 0.0, "peak": 0}
        )
        self._message = b""
        self.start()


def _seconds(result: bytes) -> float:
    """Return how long a job took, by the line of its result."""
    at = result.rfind(b'"seconds":')
    return float(result[at + 10 : result.find(b",", at)])


def _given_up(sent: _Sent, trouble: str) -> Finished:
    """Return the result of a job whose worker died each time."""
    job = sent.line.job
    error = Error("io_error", sent.error, f"its workspace was not put back: {trouble}" if trouble else None)
    found = failure(sent.status, error)
    line = result_line(job, found, (None, None), ATTEMPTS, (0.0, sent.cpu, sent.peak))
    return Finished(sent.line, sent.status, line)
