"""One job, from its workspace to its result. It runs in a worker, whose limits hold for all of it."""

from __future__ import annotations

import json
import time

from clada.batch import kept, workspaces
from clada.batch.jobs import resolved
from clada.batch.journal import LARGE
from clada.errors import CladaError, Error, unforeseen
from clada.grammar import MAX_INPUT
from clada.report.json import to_dict
from clada.report.patch import patch
from clada.run import execute, plan_for
from clada.settings import Settings
from clada.values import Value
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.batch.jobs import Job
    from clada.batch.journal import KeptJournal
    from clada.batch.workspaces import JobPlace
    from clada.model import Plan, Task
    from clada.report import Report

    Contents = Sequence[tuple[str, bytes | None, bytes | None]]
    Modes = Sequence[tuple[str, str | None, str | None]]
    Run = tuple[Report, Contents | None, Modes | None]

SCHEMA = "clada.batch.result/1"
STATUSES = ("applied", "failed", "invalid", "timeout", "crashed", "planned")
APPLIED, FAILED, INVALID, TIMEOUT, CRASHED, PLANNED = STATUSES
WENT_WELL = (APPLIED, PLANNED)
NONE, KEEP_FAILED, ALL = "none", "failed", "all"
SHORTEST = 0.01  # seconds that a command gets, however little is left


class Config(Value):
    """What all jobs of a batch have in common."""

    work: str  # the batch's own directory
    base: str  # from which the paths of jobs count
    timeout: float = 300.0  # seconds of a job
    memory: int = 2 << 30  # bytes
    processes: int = 64
    max_output: int = 10 << 20  # bytes
    keep: str = NONE
    approve_checks: bool = False
    shared: bool = False  # whether others than this engine may have begun a job before, and were lost
    journal: str = ""  # where a worker keeps what small jobs change in place; else each has a file of its own


class Prepared(Value):
    """A job that is about to run: its document is read, and it is known what it may do."""

    number: int
    job: Job
    place: JobPlace
    settings: Settings
    plan: Plan
    files: list[str] | None  # all that it can change, if it starts no process; None: it may do anything

    @property
    def plain(self) -> bool:
        """Whether it changes only files that are known, and starts no process."""
        return self.files is not None


class JobOutcome(Value):
    """What came of a job; the report and the changes are told when its result is written."""

    status: str
    error_type: str | None = None
    error: str | None = None
    notation: str | None = None
    dialect: str | None = None
    report: Report | None = None
    changes: Contents | None = None  # None where they are not known
    modes: Modes | None = None
    told: Sequence[Any] = ()  # the report as a dict, and the changes as a patch, where that is done
    checks: Sequence[dict[str, Any]] = ()
    workspace: str | None = None
    seconds_workspace: float = 0.0
    seconds_run: float = 0.0
    seconds_checks: float = 0.0

    @property
    def size(self) -> int:
        """How much has changed: bytes before and after."""
        return sum(len(old or b"") + len(new or b"") for _path, old, new in self.changes or ())


def _files(job: Job, settings: Settings, plan: Plan) -> list[str] | None:
    """Return the files that a job changes; None where it may do more than change files."""
    if job.repo or job.checks or settings.record != "none" or settings.atomic or plan.atomic:
        return None
    try:
        return kept.named_files(plan)
    except kept.NotOrdinary:
        return None


def prepare(number: int, job: Job, config: Config) -> Prepared:
    """Read the document of a job; CladaError where it cannot be read."""
    place = workspaces.place_of(number, job, config.work, config.base)
    most = config.max_output
    if job.options:
        options: Any = {**job.options, "workspace": place.workspace}
        if "git" not in options:
            options.setdefault("record", "none")
        settings = Settings.from_options(**options)
        settings = settings.replace(max_output=min(settings.max_output, most))
    else:
        settings = Settings(workspace=place.workspace, record="none", max_output=most)
    document = (
        job.document.encode(errors="surrogatepass")
        if job.document is not None
        else _read(resolved(config.base, job.document_file or ""))
    )
    plan = plan_for(document, settings)
    return Prepared(number, job, place, settings, plan, _files(job, settings, plan))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_INPUT + 1)
    except OSError as error:
        message = f"the document cannot be read: {(error.strerror or str(error)).lower()}: {path}"
        raise CladaError("file_not_found", message, "mend the job's document_file") from None


def perform(prepared: Prepared, config: Config, started: float, journal: KeptJournal | None) -> JobOutcome:
    """Make the workspace, carry out the document, run the checks; return what is known of it.

    `started` is when the job began, by the monotonic clock: its time counts from there.
    """
    job, place = prepared.job, prepared.place
    clock = time.perf_counter
    begin = clock()
    workspaces.make(job, place, config.base)
    ready = clock()
    report, changes, modes = _run(prepared, config, started, journal)
    ran = clock()
    tasks = report.tasks
    status, error = _outcome(report, tasks)
    checks = _checks(prepared, config, started)
    if status not in WENT_WELL and time.monotonic() - started >= config.timeout:
        status = TIMEOUT
    done = clock()
    kept = config.keep == ALL or (config.keep == KEEP_FAILED and status not in WENT_WELL)
    if not job.in_place and not kept:
        workspaces.remove_all([place.workspace])
    return JobOutcome(
        status,
        error.type if error else None,
        error.sentence if error else None,
        report.notation,
        next((task.dialect for task in tasks if task.dialect), report.notation),
        report,
        changes,
        modes,
        (),
        checks,
        place.workspace if kept or job.in_place else None,
        ready - begin,
        ran - ready,
        done - ran,
    )


def _run(prepared: Prepared, config: Config, started: float, journal: KeptJournal | None) -> Run:
    """Carry out the document; return the report, and what it changed: contents and modes."""
    job, place, settings = prepared.job, prepared.place, prepared.settings
    if settings.dry_run:
        workspaces.check_directory(place.workspace)
        report = execute(prepared.plan, settings=settings)
        return report, report.changes, report.modes
    plain = _run_plain(prepared, journal)
    if plain:
        return plain
    workspaces.keep_copy(place)
    since = workspaces.clock_of(config.work)
    left = config.timeout - (time.monotonic() - started)
    total = max(min(settings.total_timeout or left, left), SHORTEST)
    report = execute(prepared.plan, settings=settings.replace(total_timeout=total))
    changes, modes = workspaces.differences(place.copy, place.workspace, since)
    if not job.in_place:
        workspaces.forget(place)
    return report, changes, modes


def _run_plain(prepared: Prepared, journal: KeptJournal | None) -> Run | None:
    """Do so where all that can change is known; None where something is in the way that is no plain file."""
    if prepared.files is None:
        return None
    place = prepared.place
    try:
        before = kept.look(place.workspace, prepared.files)
    except kept.NotOrdinary:
        return None
    if all(file.content is None for file in before):  # else the directory is there
        workspaces.check_directory(place.workspace)
    if prepared.job.in_place:
        data = kept.packed(before)
        if journal and len(data) <= LARGE:
            journal.add(prepared.number, prepared.job.id, data)
        else:
            kept.write(place.files, data)
    report = execute(prepared.plan, settings=prepared.settings)
    try:
        changes, modes = kept.differences(before, kept.look(place.workspace, prepared.files))
    except kept.NotOrdinary:
        return report, None, None
    return report, changes, modes


def _outcome(report: Report, tasks: Sequence[Task]) -> tuple[str, Error | None]:
    """Return the status of a job whose run has ended, and what went wrong first."""
    if report.fatal:
        executed = report.fatal.stage or report.fatal.type in {"git_operation_failed", "lock_timeout"}
        return (FAILED if executed or report.blocks else INVALID), report.fatal
    if not tasks:
        return INVALID, Error("invalid_operation", "no operations found")
    if report.ok:
        return (PLANNED if report.dry_run else APPLIED), None
    error = report.error or next((task.error for task in tasks if task.error), None)
    if error is None and report.not_applied:
        error = Error("invalid_operation", report.not_applied[0].text)
    tried = any(not task.invalid and task.status != "skipped" for task in tasks)
    return (FAILED if tried or report.error else INVALID), error


def _checks(prepared: Prepared, config: Config, started: float) -> list[dict[str, Any]]:
    """Run the checks, if they are approved: each by itself, whatever came of the others."""
    job, settings = prepared.job, prepared.settings
    if not config.approve_checks:
        return [_not_run(check, "not approved: --approve-checks runs it") for check in job.checks]
    if settings.dry_run:
        return [_not_run(check, "not run in a dry run") for check in job.checks]
    found = []
    room = config.max_output
    for check in job.checks:
        left = config.timeout - (time.monotonic() - started)
        if left <= 0:
            found.append(_not_run(check, "the job's time is over"))
            continue
        plan = plan_for(json.dumps({"tasks": [{"action": "run", "command": check}]}), Settings())
        own = settings.replace(  # noqa: S604 (a person approved this text, as it is)
            format="auto", record="none", atomic=False, approve=(check,), shell="approved", timeout=left,
            total_timeout=left, max_output=room, dry_run=False,
        )  # fmt: skip
        result = _check_result(check, execute(plan, settings=own))
        room = max(0, room - len(result["output"]))
        found.append(result)
    return found


def _check_result(check: str, report: Report) -> dict[str, Any]:
    task = report.tasks[0] if report.tasks else None
    error = report.fatal or report.error or (task.error if task else None)
    exit_code = getattr(task.outcome, "exit_code", None) if task else None
    return {
        "command": check,
        "exit_code": exit_code,
        "output": "".join(f"{line}\n" for line in (task.output if task else ()) if line is not None),
        "truncated": bool(task and task.truncated),
        "seconds": round(task.duration, 6) if task else 0.0,
        "error": error.sentence if error and exit_code is None else None,
    }


def _not_run(check: str, why: str) -> dict[str, Any]:
    return {
        "command": check, "exit_code": None, "output": "", "truncated": False, "seconds": 0.0, "error": why,
    }  # fmt: skip


# What a result says in any case.


def failure(status: str, error: Error) -> JobOutcome:
    """Return what is known of a job that has no report."""
    return JobOutcome(status, error.type, error.sentence)


def attempt(
    prepared: Prepared, config: Config, started: float, journal: KeptJournal | None = None
) -> JobOutcome:
    """Perform a job; whatever goes wrong is a result."""
    try:
        return perform(prepared, config, started, journal)
    except Exception as bug:  # noqa: BLE001 (one job's trouble is its own)
        if not prepared.job.in_place and config.keep == NONE:
            workspaces.remove_all([prepared.place.workspace])
            workspaces.forget(prepared.place)
        return failure(FAILED, trouble_of(bug))


def trouble_of(bug: Exception) -> Error:
    """Return the error of what was raised."""
    return bug.error if isinstance(bug, CladaError) else unforeseen(bug)


def told(found: JobOutcome, config: Config) -> tuple[JobOutcome, dict[str, Any] | None, str | None]:
    """Return what came of a job, with its report as a dict, and what it changed as a patch."""
    try:
        if found.told:
            return found, found.told[0], found.told[1]
        return found, to_dict(found.report) if found.report else None, _patch(found, config.max_output)
    except Exception as bug:  # noqa: BLE001 (as above)
        return failure(FAILED, trouble_of(bug)), None, None


def _patch(found: JobOutcome, most: int) -> str | None:
    """Return the patch of what was changed; None where it is longer than output may be."""
    if found.changes is None or found.size > 8 * most:
        return None
    text = mask_of_changes(found.changes)(patch(found.changes, found.modes or ()))
    return text if len(text) <= most else None


def result_line(
    job: Job,
    found: JobOutcome,
    what: tuple[dict[str, Any] | None, str | None],
    attempts: int,
    took: tuple[float, float, int],
) -> bytes:
    """Return the line of a result: the fields of the job, what came of it, and what it took.

    `what` has the report and the patch. What it took is seconds, those of the processor, and bytes of memory
    at the peak.
    """
    report, diff = what
    seconds, cpu, peak = took
    result = {
        "schema": SCHEMA,
        "id": job.id,
        **job.fields,
        "status": found.status,
        "error_type": found.error_type,
        "error": found.error,
        "notation": found.notation,
        "dialect": found.dialect,
        "report": report,
        "diff": diff,
        "checks": found.checks,
        "workspace": found.workspace,
        "seconds_workspace": round(found.seconds_workspace, 6),
        "seconds_run": round(found.seconds_run, 6),
        "seconds_checks": round(found.seconds_checks, 6),
        "attempts": attempts,
        "seconds": round(seconds, 6),
        "cpu_seconds": round(cpu, 6),
        "peak_memory": peak,
    }
    return json.dumps(result, separators=(",", ":")).encode() + b"\n"
