"""Carries out many answers, each in its own workspace: `clada batch`, and `run` for programs.

    for result in clada.batch.run("jobs.jsonl", out="results.jsonl"):
        print(result["id"], result["status"])

jobs ─► engine (local, or Ray) ─► run_job: workspace · clada.execute · checks ─► results, a line each
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import ExitStack, suppress
from secrets import token_hex

from clada.batch import container
from clada.batch.engines import LocalEngine, RayEngine
from clada.batch.jobs import BadJobError, Ids, JobSource, parse_mapping
from clada.batch.results import ResultsFile, read_results
from clada.batch.run_job import KEEP, KEEP_NONE, STATUSES, WENT_WELL, Config
from clada.batch.workspaces import make_private_directory, remove_if_possible, remove_workspace
from clada.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike
    from typing import Any

    from clada.batch.jobs import Job
    from clada.batch.run_job import FinishedJob

LOCAL, RAY = ENGINES = ("local", "ray")
DEFAULTS = Config()
__all__ = ["STATUSES", "WENT_WELL", "Batch", "Config", "parse_mapping", "run"]


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
    keep: str = KEEP_NONE,
    approve_checks: bool = False,
    container: str | None = None,
    mapping: Mapping[str, str] | None = None,
    dataset: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Carry out the jobs of a file or of a program; yield their results as they come, in any order.

    `out` is the file that the results are written to, which makes it possible to `resume`. `timeout`, in
    seconds, `memory`, in bytes, `processes` and `max_output`, in bytes, are limits of each job. `mapping`
    says which column of the file is which field. Raises UsageError (a ValueError) where a job or an argument
    is wrong, CladaError where results cannot be written. Closing the iterator early ends what runs.
    """
    config = DEFAULTS.replace(
        timeout=timeout, memory=memory, processes=processes, max_output=max_output, keep=keep,
        approve_checks=approve_checks, container=container,
    )  # fmt: skip
    batch = Batch(
        jobs, config, out=out, resume=resume, engine=engine, address=address, workers=workers,
        mapping=mapping, dataset=dataset,
    )  # fmt: skip
    return (json.loads(finished.line) for finished in batch.finished())


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
        mapping: Mapping[str, str] | None = None,
        dataset: str | None = None,
    ) -> None:
        """Check the arguments, and every row of a file: nothing is begun if one is wrong."""
        _check_arguments(config, engine, address, workers)
        if resume and out is None:
            raise UsageError("resume goes with out: there are no results to continue")
        self.out = os.fspath(out) if out is not None else None
        self._resume, self._engine, self._address = resume, engine, address
        self._workers = workers or len(os.sched_getaffinity(0))
        given = os.fspath(jobs) if isinstance(jobs, str | os.PathLike) else jobs
        self._source = JobSource(given, mapping, dataset)
        self._config = config.replace(base=self._source.base)
        self._ids = Ids()  # of a file, those without a result; of a program, those that were seen
        self._is_file = isinstance(given, str)
        if self._is_file:
            for where, job in self._source.jobs():
                self._add_id(where, job)
        self.total = len(self._ids) if self._is_file else None  # jobs
        self.skipped = 0  # jobs that have a result already
        self.engine: LocalEngine | RayEngine | None = None  # while it is at work
        self._stopped = False

    def stop(self) -> None:
        """Start no further jobs, and let running ones finish. A signal handler may call it."""
        self._stopped = True
        if self.engine:
            self.engine.stop()

    def finished(self, tick: Callable[[], None] = lambda: None) -> Iterator[FinishedJob]:
        """Carry out the jobs; yield each one after its result is written.

        `tick` is called once the number of jobs is known, and repeatedly from then on.
        """
        with ExitStack() as stack:
            results, done = None, Ids()
            if self.out is None:
                work = stack.enter_context(tempfile.TemporaryDirectory(prefix="clada-batch-"))
            else:
                results = stack.enter_context(ResultsFile(self.out, resume=self._resume))
                work = f"{os.path.abspath(self.out)}.work"
                done = self._read_done(work)
                stack.callback(_remove_if_empty, work)
            config = self._config.replace(work=f"{work}/{token_hex(8)}")
            stack.callback(_remove_run, config)
            if config.container:
                container.find_program()
                make_private_directory(config.work)
                container.write_archive(container.archive_of(config))
            tick()
            engine = self.engine = self._make_engine(config)
            stack.enter_context(engine)
            if self._stopped:
                engine.stop()
            try:
                for finished in engine.run(self._remaining(done)):
                    tick()
                    if finished:
                        if results:
                            results.add(finished.line)
                        yield finished
            finally:
                self.engine = None

    def _read_done(self, work: str) -> Ids:
        """Return the ids that have results, and remove workspaces that are left of a killed batch."""
        done, kept = Ids(), set()
        for result in read_results(self.out or ""):
            done.add(result["id"])
            if result.get("workspace"):
                kept.add(result["workspace"])
            if self._is_file:
                self._ids.remove(result["id"])
        self.skipped = len(done)
        with suppress(OSError):
            for run in os.scandir(work):
                for entry in os.scandir(run.path):
                    if entry.path not in kept:
                        remove_workspace(entry.path)
                with suppress(OSError):
                    os.rmdir(run.path)
        return done

    def _remaining(self, done: Ids) -> Iterator[Job]:
        """Yield the jobs without a result, except those added to the file after it was checked."""
        for where, job in self._source.jobs():
            if self._is_file:
                if self._ids.remove(job.id):
                    yield job
            else:
                self._add_id(where, job)
                if job.id not in done:
                    yield job

    def _add_id(self, where: str, job: Job) -> None:
        if not self._ids.add(job.id):
            raise BadJobError(f"{where}: the id {json.dumps(job.id)} is there twice")

    def _make_engine(self, config: Config) -> LocalEngine | RayEngine:
        if self._engine == RAY:
            return RayEngine(config, self._address, self._workers)
        return LocalEngine(config, self._workers)


def _remove_run(config: Config) -> None:
    """Remove the directories of this run, on all nodes that share them; kept workspaces stay."""
    work, run = os.path.split(config.work)
    if config.container:
        remove_if_possible(container.archive_of(config))
    with suppress(OSError):
        for entry in os.scandir(work):
            if entry.name.startswith(run) and config.keep == KEEP_NONE:
                remove_if_possible(entry.path)
            elif entry.name.startswith(run):
                _remove_if_empty(entry.path)


def _remove_if_empty(path: str) -> None:
    with suppress(OSError):
        os.rmdir(path)


def _check_arguments(config: Config, engine: str, address: str | None, workers: int | None) -> None:
    for name, value, choices in (("engine", engine, ENGINES), ("keep", config.keep, KEEP)):
        if value not in choices:
            raise UsageError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    if address is not None and engine != RAY:
        raise UsageError("address goes with engine=ray")
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be 1 or more, not {workers}")
    for name in ("timeout", "memory", "processes", "max_output"):
        if not 0 < getattr(config, name) < float("inf"):
            raise UsageError(f"{name} must be more than 0, not {getattr(config, name)}")
