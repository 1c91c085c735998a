"""The keeper of a worker: starts it, sees to it that each job keeps to its limits, and ends everything.

    engine ── control ── keeper ─ fork ─► worker ─ fork ─► a job that starts processes ─► its commands
       └──────────────── data ──────────────┘

The keeper is warm: it has loaded everything, so that a new worker is a fork. It is the subreaper of all that
its worker starts, looks at what a job takes, and ends everything when a job takes too much, when the worker
dies, or when the engine is gone. It holds no data: jobs and results go between the engine and the worker.

On `control` comes the configuration, in one line. The keeper sends a handle of `data` for each worker that it
starts, and a line when one dies.
"""

from __future__ import annotations

import gc
import json
import mmap
import os
import select
import signal
import socket
import time

from clada.batch.limits import excess, limit_memory, too_many, usage
from clada.batch.perform import CRASHED, TIMEOUT, Config
from clada.batch.process_bound import bound_processes, end_group, group_of, members, remove_groups
from clada.batch.worker import BOARD, NOW, Worker, die_with_parent, prctl
from clada.notations.registry import NOTATIONS
from clada.world.processes.children import descendants, end_children, end_tree, send_signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

POLL = 0.02  # seconds between two looks at a job
GRACE = 2.0  # seconds over its time, in which a job may end in order
_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What is loaded before the first worker is forked.
_WARM = (
    *(row.module for row in NOTATIONS.values()),
    *("clada.notations.dialects", "clada.operations.edit", "clada.operations.write", "clada.operations.run"),
    *("clada.report.json", "clada.text.diff", "difflib"),
)


def main(control: int, board: int, lock: int) -> NoReturn:
    """Be a keeper: its configuration comes first on the control socket, in one line."""
    del lock  # it is held as long as this process lives
    _become_subreaper()
    for name in _WARM:
        __import__(name)
    gc.freeze()
    gc.set_threshold(20_000)  # jobs leave hardly any cycles
    with socket.socket(fileno=control) as engine:
        config = Config(**json.loads(_line(engine)))
        Keeper(engine, mmap.mmap(board, BOARD), config).run()
    os._exit(0)


def _line(engine: socket.socket) -> bytes:
    text = b""
    while not text.endswith(b"\n"):
        piece = engine.recv(65536)
        if not piece:
            os._exit(0)
        text += piece
    return text


def _become_subreaper() -> None:
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # the engine decides when to end
    signal.signal(signal.SIGCHLD, lambda *_: None)  # it wakes us


class Keeper:
    """Starts workers one after the other, and sees to it that each job keeps to its limits."""

    def __init__(self, engine: socket.socket, board: mmap.mmap, config: Config) -> None:
        self.engine, self.board, self.config = engine, board, config
        self.worker = 0
        self._group: str | None = None  # that the worker has joined, once that was looked for
        self._wake, sink = os.pipe()
        os.set_blocking(sink, False)
        signal.set_wakeup_fd(sink, warn_on_full_buffer=False)

    def run(self) -> None:
        """Keep workers alive until the engine ends."""
        remove_groups()
        try:
            while True:
                self._start()
                died = self._watch()
                if died is None:
                    return
                NOW.pack_into(self.board, 0, 0, 0.0)
                self.engine.sendall(json.dumps(died).encode() + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            return
        finally:
            self._end_all()
            remove_groups(os.getpid())

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        keeper, self._group = os.getpid(), None
        self.worker = os.fork()
        if not self.worker:
            try:
                die_with_parent()
                ours.close()
                self.engine.close()
                signal.set_wakeup_fd(-1)
                for number in (*_SIGNALS, signal.SIGCHLD):
                    signal.signal(number, signal.SIG_DFL)
                limit_memory(self.config.memory)
                bound_processes(keeper, self.config.processes)
                Worker(theirs, self.board, self.config).run()
            finally:
                os._exit(1)
        theirs.close()
        with ours:
            socket.send_fds(self.engine, [b"{}\n"], [ours.fileno()])

    def _watch(self) -> dict[str, Any] | None:
        """Return how the worker died; None once the engine has ended."""
        poll = select.poll()
        poll.register(self.engine, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        verdict: tuple[str, str] | None = None
        while True:
            ready = dict(poll.poll(POLL * 1000))
            if self._wake in ready:
                os.read(self._wake, 4096)
            if self.engine.fileno() in ready and not self.engine.recv(4096):
                return None
            died = self._reap()
            if died:
                number = NOW.unpack_from(self.board)[0]
                cpu, peak = usage(died[1])
                self._end_all()
                why, what = verdict or (CRASHED, _how(died[0]))
                return {"number": number - 1, "why": why, "what": what, "cpu": cpu, "peak": peak}
            if verdict is None:
                verdict = self._judge()
                if verdict:
                    end_group(self._group)
                    end_tree(self.worker)

    def _judge(self) -> tuple[str, str] | None:
        """Return why the job that runs must end: its status, and the reason; None if it may go on."""
        number, began = NOW.unpack_from(self.board)
        age = time.monotonic() - began
        if not number or age < POLL:
            return None
        if self._group is None:
            self._group = group_of(os.getpid())
        verdict = None
        if age > self.config.timeout + GRACE:
            verdict = TIMEOUT, f"it took longer than {self.config.timeout:g} s"
        elif over := (
            too_many(len(members(self._group)) - 1, self.config.processes)
            or excess(self.worker, self.config.memory, self.config.processes)
        ):
            verdict = CRASHED, over
        return verdict if NOW.unpack_from(self.board) == (number, began) else None  # else another job runs

    def _reap(self) -> tuple[int, Any] | None:
        """Wait for the dead; return status and use of the worker, if it is among them."""
        found = None
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return found
            if not pid:
                return found
            if pid == self.worker:
                found = status, used

    def _end_all(self) -> None:
        """End the worker, and whatever is left of what it started."""
        send_signal([*descendants(os.getpid())], signal.SIGKILL)

        def reap() -> bool:
            self._reap()
            return bool(descendants(os.getpid()))

        end_children(reap)


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return (
        f"its worker was killed by signal {-code}" if code < 0 else f"its worker ended with exit code {code}"
    )
