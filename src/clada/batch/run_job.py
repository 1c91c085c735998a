"""One job, from its workspace to its result: `run_job` is what both engines call.

job ─► workspace (copy or work tree) ─► clada.execute ─► diff ─► checks ─► result
"""

from __future__ import annotations

import json
import os
import re
import time
from xml.parsers import expat

from clada.batch import container
from clada.batch.jobs import Check, Job, directory_name, resolve
from clada.batch.workspaces import make_workspace, remove_workspace, take_snapshot
from clada.errors import CladaError, Error, reason, unforeseen
from clada.grammar import MAX_INPUT
from clada.report.json import to_dict
from clada.report.patch import patch
from clada.run import execute, plan_for
from clada.settings import Settings
from clada.values import Value
from clada.world.handles import open_descendant, open_file, read_at_most
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.batch.workspaces import Snapshot
    from clada.model import Task
    from clada.report import Report

SCHEMA = "clada.batch.result/2"
STATUSES = ("applied", "failed", "invalid", "timeout", "crashed", "planned")
APPLIED, FAILED, INVALID, TIMEOUT, CRASHED, PLANNED = STATUSES
WENT_WELL = (APPLIED, PLANNED)
KEEP_NONE, KEEP_FAILED, KEEP_ALL = KEEP = ("none", "failed", "all")
MIN_TIMEOUT = 0.01  # seconds that a command gets, however little time is left
TAIL = 16_000  # characters of a check's output that are kept, from its end
JUNIT_FLAG = re.compile(r"--junit-?xml[= ](\S+)")
MAX_JUNIT = 32 << 20  # bytes of a JUnit file


class Config(Value):
    """The settings of all jobs of a batch."""

    work: str = ""  # directory of the workspaces
    base: str = ""  # directory to which the paths of jobs are relative
    timeout: float = 300.0  # seconds of a job
    memory: int = 2 << 30  # bytes
    processes: int = 512  # and threads
    max_output: int = 10 << 20  # bytes
    keep: str = KEEP_NONE
    approve_checks: bool = False
    container: str | None = None  # image in which each job runs


class FinishedJob(Value):
    """A job with its result: its id, its status, and its line of the results file."""

    id: str
    status: str
    line: bytes


def run_job(job: Job, config: Config, attempt: int = 1) -> FinishedJob:
    """Carry out a job and return its result; an error is a result, too."""
    started, cpu = time.monotonic(), sum(os.times()[:4])
    workspace = workspace_of(job, config, attempt)
    try:
        found = _run_in_workspace(job, workspace, config, started)
    except Exception as error:  # noqa: BLE001 (one job's error is its own)
        found = failure(FAILED, error.error if isinstance(error, CladaError) else unforeseen(error))
    kept = config.keep == KEEP_ALL or (config.keep == KEEP_FAILED and found["status"] not in WENT_WELL)
    if not kept:
        remove_workspace(workspace)
    found["workspace"] = workspace if kept and os.path.isdir(workspace) else None
    found["seconds"] = round(time.monotonic() - started, 6)
    found["cpu_seconds"] = round(sum(os.times()[:4]) - cpu, 6)
    return finish(job, found, attempt)


def workspace_of(job: Job, config: Config, attempt: int) -> str:
    """Return where the workspace of an attempt is."""
    return f"{config.work}/{directory_name(job.id, attempt)}"


def failure(status: str, error: Error) -> dict[str, Any]:
    """Return the fields of the result of a job without a report."""
    return {"status": status, "error_type": error.type, "error": error.sentence}


def finish(job: Job, found: dict[str, Any], attempts: int) -> FinishedJob:
    """Return the result of a job: its own fields, and those of the result."""
    result = {
        "schema": SCHEMA, "id": job.id, **job.fields, "status": "", "error_type": None, "error": None,
        "notation": None, "dialect": None, "report": None, "diff": None, "checks": [],
        "document": job.document, "workspace": None, "attempts": attempts, "seconds": 0.0,
        "seconds_workspace": 0.0, "seconds_run": 0.0, "seconds_checks": 0.0, "cpu_seconds": 0.0, **found,
    }  # fmt: skip
    return FinishedJob(job.id, found["status"], json.dumps(result, separators=(",", ":")).encode() + b"\n")


def _run_in_workspace(job: Job, workspace: str, config: Config, started: float) -> dict[str, Any]:
    begin = time.perf_counter()
    if job.options.get("dry_run") and job.path and not config.container:
        workspace = resolve(config.base, job.path)  # which a dry run only reads
        if not os.path.isdir(workspace):
            raise CladaError("file_not_found", f"there is no directory {workspace}", "mend the job's path")
    else:
        make_workspace(job, workspace, config.base)
    seconds = round(time.perf_counter() - begin, 6)
    left = config.timeout - (time.monotonic() - started)
    if config.container:
        job = job.replace(document=_document(job, config), document_file=None)
        found = container.run(job, workspace, config, left)
    else:
        found = apply_and_check(job, workspace, config, left)
    return {**found, "seconds_workspace": seconds}


def apply_and_check(job: Job, workspace: str, config: Config, seconds: float) -> dict[str, Any]:
    """Carry out the document in a workspace and run the checks; return fields of the result."""
    until = time.monotonic() + seconds
    settings = _settings(job, workspace, config)
    document = _document(job, config)
    plan = plan_for(_encode(document), settings)
    begin = time.perf_counter()
    snapshot = None if settings.dry_run else take_snapshot(workspace, job, config.base, plan)
    total = max(min(settings.total_timeout or seconds, until - time.monotonic()), MIN_TIMEOUT)
    report = execute(plan, settings=settings.replace(total_timeout=total))
    diff = _diff(report, snapshot, config.max_output)
    ran = time.perf_counter()
    status, error = _status(report, report.tasks)
    checks = [_run_check(check, settings, config, until - time.monotonic()) for check in job.checks]
    if status not in WENT_WELL and time.monotonic() >= until:
        status = TIMEOUT
    return {
        "status": status,
        "error_type": error.type if error else None,
        "error": error.sentence if error else None,
        "notation": report.notation,
        "dialect": next((task.dialect for task in report.tasks if task.dialect), report.notation),
        "report": to_dict(report),
        "diff": diff,
        "checks": checks,
        "document": document if len(document) <= config.max_output else None,
        "seconds_run": round(ran - begin, 6),
        "seconds_checks": round(time.perf_counter() - ran, 6),
    }


def _settings(job: Job, workspace: str, config: Config) -> Settings:
    options: Any = {**job.options, "workspace": workspace}
    if "git" not in options:
        options.setdefault("record", "none")
    settings = Settings.from_options(**options)
    return settings.replace(max_output=min(settings.max_output, config.max_output))


def _document(job: Job, config: Config) -> str:
    if job.document is not None:
        return job.document
    path = resolve(config.base, job.document_file or "")
    try:
        with open(path, "rb") as file:
            return file.read(MAX_INPUT + 1).decode(errors="surrogateescape")
    except OSError as error:
        message = f"the document cannot be read: {reason(error)}: {path}"
        raise CladaError("file_not_found", message, "mend the job's document_file") from None


def _encode(document: str) -> bytes:
    try:
        return document.encode(errors="surrogateescape")  # the bytes of a file that is not UTF-8
    except UnicodeEncodeError:
        return document.encode(errors="surrogatepass")  # half a character, which JSON can hold


def _status(report: Report, tasks: Sequence[Task]) -> tuple[str, Error | None]:
    """Return the status of a job whose document was carried out, and the first error."""
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


def _diff(report: Report, snapshot: Snapshot | None, most: int) -> str | None:
    """Return the changes as a patch; None where it is too long, or not known."""
    found = snapshot.changes() if snapshot else (report.changes, report.modes)
    if found is None:
        return None
    contents, modes = found
    if sum(len(old or b"") + len(new or b"") for _path, old, new in contents) > 8 * most:
        return None
    text = mask_of_changes(contents)(patch(contents, modes))
    return text if len(text) <= most else None


# Checks.


def _run_check(check: Check, settings: Settings, config: Config, left: float) -> dict[str, Any]:
    """Run a check if it is approved, and return its part of the result."""
    found = {
        "command": check.command, "exit_code": None, "output": "", "truncated": False, "seconds": 0.0,
        "junit": None, "error": None,
    }  # fmt: skip
    if not config.approve_checks:
        return {**found, "error": "not approved: --approve-checks runs it"}
    if settings.dry_run:
        return {**found, "error": "not run in a dry run"}
    if left <= 0:
        return {**found, "error": "the job's time is over"}
    seconds = min(left, check.timeout or left)
    own = settings.replace(  # noqa: S604 (the caller approved this text as it is)
        format="auto", record="none", atomic=False, approve=(check.command,), shell="approved",
        timeout=seconds, total_timeout=seconds,
    )  # fmt: skip
    plan = plan_for(json.dumps({"tasks": [{"action": "run", "command": check.command}]}), Settings())
    report = execute(plan, settings=own)
    task = report.tasks[0] if report.tasks else None
    error = report.fatal or report.error or (task.error if task else None)
    found["exit_code"] = getattr(task.outcome, "exit_code", None) if task else None
    if task:
        output = "".join(f"{line}\n" for line in task.output if line is not None)
        found |= {
            "output": output[-TAIL:], "truncated": task.truncated or len(output) > TAIL,
            "seconds": round(task.duration, 6),
        }  # fmt: skip
    if error and found["exit_code"] is None:
        found["error"] = error.sentence
    return {**found, "junit": _junit_counts(check, settings.workspace)}


def _junit_counts(check: Check, workspace: str) -> dict[str, int] | None:
    """Return the counts in the JUnit file that a check wrote; None where there is none."""
    flag = JUNIT_FLAG.search(check.command)
    name = check.junit or (flag[1].strip("'\"") if flag else None)
    if not name or os.path.normpath(name).startswith(("/", "..")):
        return None
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    kinds = {"testcase": "tests", "failure": "failures", "error": "errors", "skipped": "skipped"}

    def count(tag: str, _attributes: object) -> None:
        if tag in kinds:
            counts[kinds[tag]] += 1

    def refuse(*_: object) -> None:
        raise ValueError("a JUnit file has no document type")  # nor entities, which can grow without limit

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = count, refuse
    try:
        folder = open_descendant(workspace, os.path.dirname(os.path.normpath(name)))
        try:
            with open(open_file(os.path.basename(name), folder), "rb") as file:
                parser.Parse(read_at_most(file.fileno(), MAX_JUNIT), True)
        finally:
            os.close(folder)
    except (OSError, ValueError, expat.ExpatError):
        return None
    return counts
