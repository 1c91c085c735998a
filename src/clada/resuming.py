"""Going on after a failure: what failed or was skipped in a run is carried out, what succeeded is not."""

from __future__ import annotations

import os

from clada.errors import Trouble
from clada.model import Note
from clada.notations import parse
from clada.past import history, run_details
from clada.run import execute
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from clada.model import Plan
    from clada.past import RunDetails
    from clada.report import Report

FORM = ("auto", "<---", "--->", "", "")  # of a document whose run did not say
LISTED = "clada history lists the runs"


class Rest(Value):
    """What is left to do of a run."""

    number: int  # of the run
    plan: Plan  # of its whole document
    done: dict[int, str]  # the tasks that are done already, by their index, and what to say of them
    changed: tuple[str, ...]  # places that were changed since the run left them


def resume(workspace: str | PathLike[str] = ".", run: int | None = None, **options: Any) -> Report:
    """Carry out what failed or was skipped in the last run, or in this one, from the document that it kept.

    The options are those of `execute`. Raises Trouble where there is nothing to resume.
    """
    rest = rest_of(workspace, run)
    for note in notes_on(rest):
        options.get("on_event", lambda _event: None)(Note(note))
    return execute(rest.plan, left_out=rest.done, workspace=workspace, **options)


def rest_of(workspace: str | PathLike[str] = ".", run: int | None = None) -> Rest:
    """Return what is left to do of the last run that was not an undo, or of this one."""
    runs = [each.number for each in history(workspace) if not each.undoes]
    number = run or next(iter(runs), 0)
    if not number:
        raise Trouble("git_operation_failed", "no run is recorded for this workspace", LISTED)
    details = run_details(number, workspace)
    if not details.document or not details.statuses:
        message = (
            f"run {number} has no document to go on with"
            if not details.document
            else f"run {number} was killed"
        )
        raise Trouble(
            "git_operation_failed", message, "clada undo takes back what it did; then send it again"
        )
    # The document has all of what was chosen in part: it is not for us to carry that out.
    reasons = {"success": f"done in run {number}", "part": f"not all of it was chosen in run {number}"}
    done = {index: reasons[status] for index, status in enumerate(details.statuses) if status in reasons}
    if len(done) == len(details.statuses):
        raise Trouble(
            "git_operation_failed", f"run {number} did everything: there is nothing to resume", LISTED
        )
    return Rest(number, _plan(details, workspace), done, _changed_since(workspace, details))


def notes_on(rest: Rest) -> list[str]:
    """Return what a person should know before a run is resumed."""
    from clada.world.record.changes import named

    return [f"changed since run {rest.number}: {named(rest.changed)}"] if rest.changed else []


def _plan(details: RunDetails, workspace: str | PathLike[str]) -> Plan:
    """Read the document again, as that run did."""
    notation, start, end, root, fences = (*details.form, *FORM[len(details.form) :])
    return parse(
        details.document,
        notation,
        start_delimiter=start,
        end_delimiter=end,
        roots=(root, os.path.abspath(workspace)),
        run_fences="run" in fences.split(),
        strip_fences="strip" in fences.split(),
    )


def _changed_since(workspace: str | PathLike[str], details: RunDetails) -> tuple[str, ...]:
    from clada.world.record.store import find_store
    from clada.world.record.undo import changed_since

    return changed_since(find_store(os.fspath(workspace)), details.run)
