"""The engines: a pool of processes on this machine, and tasks of Ray on a cluster. Both call `run_job`.

Each local worker is a `ProcessPoolExecutor` of one process. A worker that hangs is killed, and one that dies
is replaced; either costs its job a second attempt, and no other job anything: workers share no queue or lock.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from importlib import import_module
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from queue import Empty, SimpleQueue
from secrets import token_hex
from types import ModuleType

from clada.batch.limits import limit_worker, remove_groups
from clada.batch.run_job import CRASHED, TIMEOUT, Config, FinishedJob, failure, finish, run_job, workspace_of
from clada.batch.workspaces import remove_workspace
from clada.errors import CladaError, Error, UsageError, reason
from clada.values import Value
from clada.world.libc import LIBC
from clada.world.processes.children import end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from typing import Any, Self

    from clada.batch.jobs import Job

ATTEMPTS = 2
TICK = 0.2  # seconds between two checks of the workers while no result comes
GRACE = 5.0  # seconds after its time limit in which a job may end in order
PR_SET_PDEATHSIG = 1


class Attempt(Value):
    """A job to carry out, for the first or the second time."""

    job: Job
    number: int = 1


# On this machine.


class WorkerProcess(SpawnProcess):
    """A worker, which does not import the caller's main module, and sees no Ctrl-C of the terminal."""

    def start(self) -> None:
        """Start it with signals blocked, until `start_worker` has left the terminal's session."""
        main = sys.modules["__main__"]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_resource_tracker() -> None:
    """Start Python's tracker of semaphores so that it does not warn of them if this process is killed."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        os.environ.pop("PYTHONWARNINGS")
        if before is not None:
            os.environ["PYTHONWARNINGS"] = before


class WorkerContext(SpawnContext):
    """Starts workers in new interpreters, because a fork of a program with threads is not safe."""

    Process = WorkerProcess


def start_worker(config: Config) -> None:
    """Make this process a worker: it ends with its parent, and has the limits of a job."""
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():
        os._exit(1)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    limit_worker(config.memory, config.processes)


class Worker:
    """One process, and the job that it runs."""

    def __init__(self, config: Config, events: SimpleQueue[Worker]) -> None:
        self._config, self._events = config, events
        self.attempt: Attempt | None = None  # the job that it runs
        self._future: Future[FinishedJob] | None = None
        self._since = 0.0  # when that began
        self._start()

    def _start(self) -> None:
        self._executor = ProcessPoolExecutor(
            1, mp_context=WorkerContext(), initializer=start_worker, initargs=(self._config,)
        )
        self._pid = self._executor.submit(os.getpid)
        self._killed = False

    def submit(self, attempt: Attempt) -> None:
        """Give it a job; it puts itself among the events when that has ended."""
        self.attempt, self._since = attempt, time.monotonic()
        work = partial(run_job, attempt.job, self._config, attempt.number)
        try:
            self._future = self._executor.submit(work)
        except BrokenProcessPool:  # it was killed while it had nothing to do
            self._executor.shutdown()
            self._start()
            self._future = self._executor.submit(work)
        self._future.add_done_callback(lambda _future: self._events.put(self))

    def take(self) -> FinishedJob | Attempt:
        """Return the result of the job that has ended; or the job again, if the process died."""
        assert self.attempt  # noqa: S101 (for type checkers)
        assert self._future  # noqa: S101 (the same)
        attempt, self.attempt = self.attempt, None
        try:
            return self._future.result()
        except BrokenProcessPool:
            return self._restart(attempt)

    def _restart(self, attempt: Attempt) -> FinishedJob | Attempt:
        """Replace the process; return its job for a second attempt, or the result that it failed."""
        took, was_killed = time.monotonic() - self._since, self._killed
        self._executor.shutdown(wait=True)
        remove_groups()
        remove_workspace(workspace_of(attempt.job, self._config, attempt.number))
        self._start()
        if attempt.number < ATTEMPTS:
            return attempt.replace(number=attempt.number + 1)
        found = failure(CRASHED, Error("io_error", "its worker was killed, or ran out of memory"))
        if was_killed:
            message = f"it took longer than {self._config.timeout:g} s, and did not end"
            found = failure(TIMEOUT, Error("exec_timeout", message))
        return finish(attempt.job, {**found, "seconds": round(took, 6)}, attempt.number)

    def kill_if_overdue(self) -> None:
        """Kill the process if its job is far over its time; `take` replaces it."""
        is_running = self._future and not self._future.done()
        if not is_running or self._killed or not self._pid.done():
            return
        if time.monotonic() - self._since > self._config.timeout + GRACE:
            self._killed = True
            self._kill()

    def _kill(self) -> None:
        with suppress(BrokenProcessPool):  # it has ended
            end_tree(self._pid.result())

    def close(self) -> None:
        """End the process and its job."""
        if self.attempt:
            self._kill()
        self._executor.shutdown(cancel_futures=True)
        if self.attempt:
            remove_workspace(workspace_of(self.attempt.job, self._config, self.attempt.number))


class LocalEngine:
    """Processes on this machine. Used as a context manager."""

    def __init__(self, config: Config, workers: int) -> None:
        self._config, self._count = config, workers
        self._workers: list[Worker] = []
        self._events: SimpleQueue[Worker] = SimpleQueue()  # workers whose job has ended
        self._again: deque[Attempt] = deque()  # jobs whose worker died
        self._stopping = False

    def __enter__(self) -> Self:
        start_resource_tracker()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        remove_groups()

    @property
    def running(self) -> int:
        """How many jobs are running."""
        return sum(worker.attempt is not None for worker in self._workers)

    def stop(self) -> None:
        """Start no further jobs."""
        self._stopping = True

    def run(self, jobs: Iterator[Job]) -> Iterator[FinishedJob | None]:
        """Yield results as they come, and None now and then meanwhile."""
        while True:
            self._hand_out(jobs)
            if not self.running:
                return
            found = None
            with suppress(Empty):
                found = self._events.get(timeout=TICK).take()
            if isinstance(found, Attempt):
                self._again.append(found)
            else:
                yield found
            for worker in self._workers:
                worker.kill_if_overdue()

    def _hand_out(self, jobs: Iterator[Job]) -> None:
        """Give a job to each idle worker; a worker is started when there is a job for it."""
        for position in range(0 if self._stopping else self._count):
            if position < len(self._workers) and self._workers[position].attempt:
                continue
            if self._again:
                attempt = self._again.popleft()
            elif job := next(jobs, None):
                attempt = Attempt(job)
            else:
                return
            if position == len(self._workers):
                self._workers.append(Worker(self._config, self._events))
            self._workers[position].submit(attempt)


# On a cluster.

CHUNK_SECONDS = 0.5  # that the jobs of a task should take, at least
SECONDS_PER_CPU = 0.005  # longer tasks on larger clusters, because each costs the driver 2.5 ms
MAX_CHUNK = 256  # jobs of a task
CHUNK_BYTES = 8 << 20  # of the documents of a task, and of the results after which it ends early
TASKS_PER_CPU = 2  # one that runs, and one that waits
RETRIES = 20  # of a task whose node was lost
CONNECTING = 10.0  # seconds
# Despite its name, "0" lets Ray listen on the loopback address alone on every system. Any program that
# reaches its ports can run code.
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


class RayEngine:
    """A Ray cluster, whose tasks carry out chunks of jobs. Used as a context manager."""

    def __init__(self, config: Config, address: str | None, workers: int) -> None:
        if not address:  # Ray on this machine alone: it reads these variables when it is imported
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            os.environ.setdefault(LOOPBACK_ONLY, "0")
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise UsageError("--engine=ray needs Ray", "pip install 'clada[ray]'") from None
        self._config, self._address, self._workers = config, address, workers
        self._stopping = False
        self._job_seconds = self._chunk_seconds = CHUNK_SECONDS
        self._tasks: dict[Any, list[Job]] = {}
        self._left: deque[Job] = deque()  # jobs of tasks that ended early

    def __enter__(self) -> Self:
        self._owned = not self._ray.is_initialized()
        if self._owned:
            self._connect()
        options = {"num_cpus": 1, "max_retries": RETRIES, "retry_exceptions": False}
        self._remote = self._ray.remote(**options)(run_chunk)
        self._shared = self._ray.put(self._config)
        return self

    def _connect(self) -> None:
        """Join the cluster; without an address, start one on this machine."""
        _check_address(self._address)
        given: dict[str, Any] = {"address": self._address}
        if not self._address:
            given = {"address": "local", "num_cpus": self._workers, "include_dashboard": False}
        before = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(**given, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_cluster(self._address or "this machine", str(error)) from None
        if signal.getsignal(signal.SIGTERM) != before:  # Ray has installed its own
            signal.signal(signal.SIGTERM, before)

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            self._ray.cancel(task, force=True)
        self._tasks.clear()
        if self._owned:
            self._ray.shutdown()

    @property
    def running(self) -> int:
        """How many tasks are submitted."""
        return len(self._tasks)

    def stop(self) -> None:
        """Start no further tasks, and let running ones finish."""
        self._stopping = True

    def run(self, jobs: Iterator[Job]) -> Iterator[FinishedJob | None]:
        """Yield results as they come, and None now and then meanwhile."""
        while True:
            while not self._stopping and len(self._tasks) < self._max_tasks():
                chunk = self._next_chunk(jobs)
                if not chunk:
                    break
                self._tasks[self._remote.remote(self._shared, chunk)] = chunk
            if not self._tasks:
                return
            ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=TICK)
            for task in ready:
                yield from self._take(task)
            yield None

    def _max_tasks(self) -> int:
        """Return how many tasks to submit at most: the cluster may grow and shrink."""
        processors = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._chunk_seconds = max(CHUNK_SECONDS, SECONDS_PER_CPU * processors)
        return TASKS_PER_CPU * processors

    def _next_chunk(self, jobs: Iterator[Job]) -> list[Job]:
        most = max(1, min(MAX_CHUNK, int(self._chunk_seconds / max(self._job_seconds, 1e-4))))
        chunk: list[Job] = []
        size = 0
        while len(chunk) < most and size < CHUNK_BYTES:
            job = self._left.popleft() if self._left else next(jobs, None)
            if job is None:
                break
            chunk.append(job)
            size += len(job.document or "")
        return chunk

    def _take(self, task: Any) -> list[FinishedJob]:
        chunk = self._tasks.pop(task)
        try:
            results, seconds = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            message = f"Ray could not carry out some jobs: {str(error).splitlines()[0]}"
            raise CladaError("io_error", message, "continue with --resume") from None
        done = {finished.id for finished in results}
        self._left.extend(job for job in chunk if job.id not in done)
        self._job_seconds = (self._job_seconds + seconds / max(1, len(results))) / 2
        found: list[FinishedJob] = results
        return found


def _check_address(address: str | None) -> None:
    """Raise where no process listens at an address: Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition("/")[2].rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), CONNECTING).close()
        except OSError as error:
            raise _no_cluster(address or "", reason(error)) from None


def _no_cluster(where: str, why: str) -> CladaError:
    return CladaError("io_error", f"no Ray cluster at {where}: {why}", "start one with: ray start --head")


_engines: dict[Config, LocalEngine] = {}  # of a process of Ray, which it uses for many tasks


def run_chunk(config: Config, jobs: list[Job]) -> tuple[list[FinishedJob], float]:
    """Carry out jobs on a node, in a local engine of one worker; return the results, and the seconds.

    It ends early once there are many bytes of results: the other jobs go into another task.
    """
    begin = time.monotonic()
    if config not in _engines:
        # A node that was lost may have left workspaces of the same jobs on a shared file system.
        own = config.replace(work=f"{config.work}-{token_hex(8)}")
        _engines[config] = LocalEngine(own, 1).__enter__()
    size, found = 0, []
    limited = (job for job in jobs if size < CHUNK_BYTES)
    for finished in _engines[config].run(limited):
        if finished:
            found.append(finished)
            size += len(finished.line)
    return found, time.monotonic() - begin
