"""Carries out answers by the thousand, each in a workspace of its own: `clada batch`, and `run` for programs.

    for result in clada.batch.run("jobs.jsonl", out="results.jsonl"):
        print(result["id"], result["status"])

jobs ─► engine (local, or ray) ─► workers: workspace · clada.execute · checks ─► results, a line each
"""

from __future__ import annotations

import json
import os
from array import array
from contextlib import suppress

from clada.batch import journal, workspaces
from clada.batch.jobs import Ids, check, key_of, lines_from, lines_of
from clada.batch.perform import ALL, KEEP_FAILED, NONE, STATUSES, Config
from clada.batch.results import ResultsFile, lock
from clada.errors import CladaError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike
    from typing import Any, Protocol, Self

    from clada.batch.jobs import Job, Line
    from clada.batch.local import Finished

    class JobEngine(Protocol):
        """What carries out jobs."""

        @property
        def running(self) -> int:
            """How many are at work."""

        def __enter__(self) -> Self:
            """Start it."""

        def __exit__(self, *_: object) -> None:
            """End everything that it has started."""

        def run(self, lines: Iterator[Line]) -> Iterator[Sequence[Finished]]:
            """Yield results as they come, some at a time, and none now and then meanwhile."""

        def stop(self) -> None:
            """Let no other job begin."""


LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)
KEPT = (NONE, KEEP_FAILED, ALL)
DEFAULTS = Config("", "")
__all__ = ["STATUSES", "Batch", "run"]


def run(  # noqa: PLR0913 (each is a plain fact about a batch, and named)
    jobs: str | PathLike[str] | Iterable[Mapping[str, Any]],
    *,
    out: str | PathLike[str] | None = None,
    resume: bool = False,
    engine: str = LOCAL,
    address: str | None = None,
    workers: int | None = None,
    timeout: float = DEFAULTS.timeout,
    memory: int = DEFAULTS.memory,
    processes: int = DEFAULTS.processes,
    max_output: int = DEFAULTS.max_output,
    keep: str = NONE,
    approve_checks: bool = False,
) -> Iterator[dict[str, Any]]:
    """Carry out jobs, those of a file or dicts; yield their results as they come, in any order.

    `out` is the file that the results are written to, which makes it possible to `resume`. `timeout`, in
    seconds, `memory`, in bytes, `processes` and `max_output`, in bytes, are limits of each job. Raises
    UsageError (a ValueError) where a job or an argument is wrong, CladaError where results cannot be written.
    To close the iterator early ends what runs; what was begun in place is put back when it is resumed.
    """
    config = DEFAULTS.replace(
        timeout=timeout, memory=memory, processes=processes, max_output=max_output, keep=keep,
        approve_checks=approve_checks,
    )  # fmt: skip
    batch = Batch(jobs, config, out=out, resume=resume, engine=engine, address=address, workers=workers)
    return (json.loads(finished.result) for finished in batch.finished())


class Batch:
    """One batch: its jobs, where its results go, and the engine that carries it out."""

    def __init__(  # noqa: PLR0913 (as above)
        self,
        jobs: str | PathLike[str] | Iterable[Mapping[str, Any]],
        config: Config,
        *,
        out: str | PathLike[str] | None = None,
        resume: bool = False,
        engine: str = LOCAL,
        address: str | None = None,
        workers: int | None = None,
    ) -> None:
        """Check the arguments, and every line of a jobs file: nothing is begun if one is wrong."""
        _check(config, engine, address, workers)
        if resume and out is None:
            raise UsageError("resume goes with out: there are no results to go on with")
        self._jobs = os.fspath(jobs) if isinstance(jobs, str | os.PathLike) else jobs
        self.out = os.path.abspath(os.fspath(out)) if out is not None else None
        self._resume, self._engine, self._address = resume, engine, address
        self._workers = workers or _processors()
        base = os.path.dirname(os.path.abspath(self._jobs)) if isinstance(self._jobs, str) else os.getcwd()
        self._config = config.replace(base=base)
        if isinstance(self._jobs, str) and os.path.exists(self._jobs) and not os.path.isfile(self._jobs):
            raise UsageError(f"{self._jobs} is no plain file: jobs are read twice, first to check them")
        self._marks = check(self._jobs) if isinstance(self._jobs, str) else array("q")
        self.total = len(self._marks) if isinstance(self._jobs, str) else None  # jobs
        self.skipped = 0  # that have a result already
        self.engine: JobEngine | None = None  # while it is at work
        self._stopped = False

    def stop(self) -> None:
        """Let no other job begin: those that run come to their end. A signal handler may call it."""
        self._stopped = True
        if self.engine:
            self.engine.stop()

    def finished(self, tick: Callable[[], None] = lambda: None) -> Iterator[Finished]:
        """Carry it out: yield each job that has got its result, once that is written.

        `tick` is called when it is known how much is to be done, and again and again from then on.
        """
        work = f"{self.out}.work" if self.out else _temporary()
        if self.out and not self._resume and os.path.lexists(self.out):
            raise UsageError(f"{self.out} is there already: --resume goes on with it, or name another file")
        _make(work)
        handle = lock(work)
        try:
            if self.out:
                with ResultsFile(self.out, resume=self._resume) as results:
                    yield from self._carry_out(work, handle, results, tick)
            else:
                yield from self._carry_out(work, handle, None, tick)
        finally:
            workspaces.remove_directories(work)
            os.close(handle)

    def _carry_out(
        self, work: str, handle: int, results: ResultsFile | None, tick: Callable[[], None]
    ) -> Iterator[Finished]:
        config = self._config.replace(work=work)
        done = results.done if results else Ids()
        journal.unpack(work, lambda _number, id_: id_ not in done)
        self._put_back(config, done)
        self.skipped = len(done)
        lines = (line for line in self._lines() if line.job.id not in done) if done else self._lines()
        tick()
        try:
            with self._make_engine(config, handle) as engine:
                self.engine = engine
                if self._stopped:
                    engine.stop()
                try:
                    for finished in engine.run(lines):
                        tick()
                        new = results.add(finished) if results and finished else finished
                        for each in new:
                            if each.kept and each.line.job.in_place:
                                workspaces.forget(_place(each.line.number, each.line.job, config))
                        yield from new
                finally:
                    self.engine = None
        finally:
            with suppress(CladaError):  # what there is no room for is found in its journal by the next batch
                journal.unpack(work, lambda _number, id_: results is not None and id_ not in done)

    def _make_engine(self, config: Config, handle: int) -> JobEngine:
        if self._engine == RAY:
            from clada.batch.ray_engine import RayEngine

            return RayEngine(config, self._address, self._workers)
        from clada.batch.local import LocalEngine

        return LocalEngine(config, self._workers, handle)

    def _lines(self) -> Iterator[Line]:
        if isinstance(self._jobs, str):
            return lines_of(self._jobs, self._marks)
        return lines_from(self._jobs)

    def _put_back(self, config: Config, done: Ids) -> None:
        """Put back what was begun in place and has no result, the last first."""
        begun = workspaces.begun_jobs(config.work)
        if not begun:
            return
        if not isinstance(self._jobs, str):
            self._jobs = list(self._jobs)  # a generator yields them once, and they are to run, too
        keys = {key for _number, key, _path in begun}
        known: dict[str, Job] = {}
        for line in self._lines():
            key = key_of(line.job.id)
            if key in keys:
                known[key] = line.job
        for number, key, path in begun:
            job = known.get(key)
            if job is None:
                message = f"a job was begun that is not in the jobs file any more: {path}"
                raise CladaError("io_error", message, "put it there again, or remove what is kept of it")
            place = _place(number, job, config)
            if job.in_place and job.id not in done:
                workspaces.restore(place)
            else:
                workspaces.forget(place)


def _place(number: int, job: Job, config: Config) -> workspaces.JobPlace:
    return workspaces.place_of(number, job, config.work, config.base)


def _check(config: Config, engine: str, address: str | None, workers: int | None) -> None:
    for name, value, choices in (("engine", engine, ENGINES), ("keep", config.keep, KEPT)):
        if value not in choices:
            raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    if address is not None and engine != RAY:
        raise UsageError("address goes with engine=ray")
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be 1 or more, not {workers}")
    for name in ("timeout", "memory", "processes", "max_output"):
        if getattr(config, name) <= 0:
            raise UsageError(f"{name} must be more than 0, not {getattr(config, name)}")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _temporary() -> str:
    import tempfile

    return tempfile.mkdtemp(prefix="clada-batch-")


def _make(work: str) -> None:
    try:
        workspaces.make_directories(work)
    except OSError as error:
        raise UsageError(f"{work}: {(error.strerror or str(error)).lower()}") from None
