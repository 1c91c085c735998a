"""The engine on a Ray cluster: chunks of jobs are tasks of Ray, which spreads them, and repeats lost ones.

A task runs in a process that Ray keeps, which holds a local engine of one worker: the same limits, the same
results. The work trees are made on the node that runs the job. Ray decides where a task runs, and runs it
again elsewhere when its node is lost; a chunk's results come back together, or not at all.
"""

from __future__ import annotations

import os
import time
from collections import deque
from importlib import import_module
from itertools import chain

from clada.batch.jobs import known_job, resolved
from clada.batch.local import TICK, Finished, LocalEngine
from clada.batch.perform import Config
from clada.errors import CladaError, UsageError
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

    from clada.batch.jobs import Line

MISSING = "--engine=ray needs Ray: pip install 'clada[ray]'"
MOST_JOBS = 256  # in a chunk
CHUNK_SECONDS = 0.5  # that a chunk should take, at least
FOR_EACH_PROCESSOR = 0.005  # seconds more: a chunk costs the driver 2.5 ms, which should be half idle
CHUNK_BYTES = 8 << 20  # of jobs in a chunk, and of results after which it ends early
AHEAD = 2  # chunks for each processor: one that runs, and one that waits
CONNECTING = 10.0  # seconds
RETRIES = 20  # of a chunk whose node was lost


class _Chunk(Value):
    """Jobs that a task carries out, one after the other."""

    lines: tuple[Line, ...]


class RayEngine:
    """A cluster. Used once, as a context manager."""

    def __init__(self, config: Config, address: str | None, workers: int) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise UsageError(MISSING) from None
        self._config, self._address, self._workers = config, address, workers
        self._stopping = False
        self._pace = self._seconds = CHUNK_SECONDS  # that a job takes, more or less; and that a chunk should
        self._tasks: dict[Any, _Chunk] = {}
        self._busy: set[str] = set()  # directories that a chunk changes in place
        self._held: deque[Line] = deque()  # jobs that wait for these

    def __enter__(self) -> Self:
        ray = self._ray
        self._owned = not ray.is_initialized()
        if self._owned:
            self._connect()
        self._remote = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(run_chunk)
        self._shared = ray.put(self._config.replace(shared=True).by_name())
        return self

    def _connect(self) -> None:
        """Join the cluster; without an address, start one on this machine, which nobody is told of."""
        import signal

        _check_address(self._address)
        given: dict[str, Any] = {"address": self._address}
        if not self._address:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            given = {"num_cpus": self._workers, "include_dashboard": False}
        before = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(**given, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_cluster(self._address or "this machine", str(error)) from None
        if signal.getsignal(signal.SIGTERM) != before:  # Ray has put its own there
            signal.signal(signal.SIGTERM, before)

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks.clear()
        if self._owned:
            self._ray.shutdown()

    def stop(self) -> None:
        """Let no other chunk begin; those that run come to their end."""
        self._stopping = True

    @property
    def running(self) -> int:
        """How many chunks are on their way."""
        return len(self._tasks)

    def run(self, lines: Iterator[Line]) -> Iterator[list[Finished]]:
        """Carry out jobs; yield results as they come, those of a chunk, and none now and then meanwhile."""
        source: Iterator[Line] | None = lines
        while True:
            while not self._stopping and len(self._tasks) < self._most():
                chunk = self._next_chunk(source)
                if not chunk.lines:
                    if not self._held:
                        source = None
                    break
                texts = [(line.number, line.text) for line in chunk.lines]
                self._tasks[self._remote.remote(self._shared, texts)] = chunk
            if not self._tasks:
                return
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=TICK)
            for task in ready:
                yield self._taken(task)
            yield []

    def _most(self) -> int:
        """Return how many chunks may be on their way: the cluster may grow and shrink."""
        processors = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._seconds = max(CHUNK_SECONDS, FOR_EACH_PROCESSOR * processors)
        return AHEAD * processors

    def _taken(self, task: Any) -> list[Finished]:
        chunk = self._tasks.pop(task)
        try:
            results, seconds = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            what = str(error).splitlines()[0]
            raise CladaError(
                "io_error", f"Ray could not carry out some jobs: {what}", "go on with --resume"
            ) from None
        finally:
            self._release(chunk.lines)
        if results:
            self._pace = (self._pace + seconds / len(results)) / 2
        self._held.extendleft(
            reversed(chunk.lines[len(results) :])
        )  # the results were many: the rest is left
        return [
            Finished(line, status, text) for line, (status, text) in zip(chunk.lines, results, strict=False)
        ]

    def _next_chunk(self, source: Iterator[Line] | None) -> _Chunk:
        """Return jobs for half a second or more; of those in one directory, all wait for the first."""
        most = max(1, min(MOST_JOBS, int(self._seconds / max(self._pace, 1e-4))))
        chosen: list[Line] = []
        size = 0
        skipped: deque[Line] = deque()
        waiting: set[str] = set()
        ours: set[str] = set()
        while len(chosen) < most and size < CHUNK_BYTES and len(skipped) < MOST_JOBS:
            line = self._held.popleft() if self._held else next(source, None) if source else None
            if line is None:
                break
            place = _place(line, self._config.base)
            if place and (place in waiting or (place in self._busy and place not in ours)):
                waiting.add(place)
                skipped.append(line)
                continue
            if place:
                ours.add(place)
                self._busy.add(place)
            chosen.append(line)
            size += len(line.text)
        self._held.extendleft(reversed(skipped))
        return _Chunk(tuple(chosen))

    def _release(self, lines: Sequence[Line]) -> None:
        self._busy.difference_update(filter(None, (_place(line, self._config.base) for line in lines)))


def _place(line: Line, base: str) -> str | None:
    """Return the directory that a job changes in place."""
    return resolved(base, line.job.path or "") if line.job.in_place else None


def _check_address(address: str | None) -> None:
    """Raise where nobody listens at an address: Ray itself would try for minutes."""
    import socket

    host, colon, port = (address or "").rpartition("/")[2].rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), CONNECTING).close()
        except OSError as error:
            raise _no_cluster(address or "", (error.strerror or str(error)).lower()) from None


def _no_cluster(where: str, why: str) -> CladaError:
    return CladaError("io_error", f"no Ray cluster at {where}: {why}", "ray start starts one")


# What runs on the nodes.

_engines: dict[str, tuple[LocalEngine, Any]] = {}  # of this process: Ray keeps it for further chunks


def run_chunk(
    config: dict[str, Any], texts: list[tuple[int, bytes]]
) -> tuple[list[tuple[str, bytes]], float]:
    """Carry out jobs one after the other; return status and line of each result, and how long all took.

    It ends early once there are many bytes of results: the rest is for another chunk.
    """
    from clada.batch.jobs import Line
    from clada.batch.workspaces import make_directories

    begin = time.monotonic()
    os.makedirs(config["work"], exist_ok=True)  # where nodes share no file system, each has one of its own
    make_directories(config["work"])
    engine = _engine(Config(**config))
    found: list[tuple[str, bytes]] = []
    size = 0
    for number, text in texts:
        for finished in chain.from_iterable(engine.run(iter([Line(number, text, known_job(text))]))):
            found.append((finished.status, finished.result))
            size += len(finished.result)
        if size > CHUNK_BYTES:
            break
    return found, time.monotonic() - begin


def _engine(config: Config) -> LocalEngine:
    """Return the engine of this process, with the worker that it started for the chunk before."""
    key = repr(config)
    if key not in _engines:
        lock = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # the driver holds the real one
        _engines[key] = LocalEngine(config, 1, lock).__enter__(), lock
    return _engines[key][0]
