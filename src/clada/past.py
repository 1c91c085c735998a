"""The recorded runs of a workspace: list them, show one, undo and prune them."""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.settings import DEFAULTS, Settings
from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike
    from typing import Literal

    from clada.world.record.history import RecordedRun
    from clada.world.record.tree_diff import Contents, Modes, RunChanges
    from clada.world.record.undo import Undone

# The modules of the record are imported by the functions: `import clada` would load sqlite3 and git else.

SHORT = 9  # characters of a commit's hash that are shown
MAX_SHOWN = 10 << 20  # bytes of a file whose differences are shown


class RunDetails(Value):
    """All that was recorded of a run."""

    run: RecordedRun
    document: bytes
    report: str
    for_llm: str  # the report for a model
    changes: Contents  # path, content before and after
    modes: Modes
    suspects: Contents = ()  # type: ignore[assignment]  # changed since a command began that was killed


def history(workspace: str | PathLike[str] = ".") -> list[RecordedRun]:
    """Return the recorded runs of a workspace, newest first."""
    from clada.world.git.repository import os_errors_as_git_errors
    from clada.world.record.history import runs
    from clada.world.record.store import find_store

    with os_errors_as_git_errors():
        return runs(find_store(os.fspath(workspace)))


def run_details(number: int, workspace: str | PathLike[str] = ".") -> RunDetails:
    """Return the document, the report and the changes of a run. Raises CladaError if it is not recorded."""
    from clada.world.git.repository import os_errors_as_git_errors
    from clada.world.record.history import run_with_number
    from clada.world.record.store import find_store
    from clada.world.record.tree_diff import RunChanges

    with os_errors_as_git_errors():
        store = find_store(os.fspath(workspace))
        run = run_with_number(store, number)
        if run is None or not os.path.exists(store.journal(number)):
            what = f"there is no run {number} for this workspace"
            raise CladaError("git_operation_failed", what, "clada history")
        with RunChanges([store.journal(number)]) as changes:
            texts = {kind: changes.text(kind).decode(errors="replace") for kind in ("report", "llm")}
            return RunDetails(
                run,
                changes.text("document"),
                texts["report"],
                texts["llm"],
                changes.diff.contents,
                changes.diff.modes,
                _suspects(changes, store.workspace),
            )


def _suspects(changes: RunChanges, workspace: str) -> Contents:
    """Return the contents before a killed command and now, of paths that it or another program changed."""
    from clada.world.record.states import ABSENT, states_of
    from clada.world.record.tree_diff import TreeDiff

    now = states_of(workspace, changes.suspects, MAX_SHOWN) if changes.suspects else ()
    return TreeDiff(
        tuple((path, changes.before_command(path) or ABSENT, state) for path, state in now)
    ).contents


def refused_report(workspace: str | PathLike[str] = ".") -> str | None:
    """Return the report for a model on the last document here, if nothing of it was carried out."""
    from clada.world.record.documents import refused_report as report_of

    return report_of(os.fspath(workspace))


def prune(workspace: str | PathLike[str] = ".", *, history_size: int, history_age: float) -> int:
    """Forget runs that are older than history_age, or that take more than history_size; return how many."""
    from clada.world.git.repository import os_errors_as_git_errors
    from clada.world.record import history as record
    from clada.world.record.store import find_store

    with os_errors_as_git_errors():
        store = find_store(os.fspath(workspace))
        if not os.path.isdir(store.runs):
            return 0
        with store.lock(DEFAULTS["lock_timeout"]):
            return record.prune(store, history_size, history_age)


def undo(  # noqa: PLR0913 (all but two are named)
    workspace: str | PathLike[str] = ".",
    run: int | None = None,
    *,
    dry_run: bool = False,
    record: Literal["auto", "commits", "snapshots"] = "auto",
    git_author: str = "clada",
    lock_timeout: float = 10.0,
    waiting: Callable[[], None] | None = None,
) -> Undone:
    """Undo the last run that changed something, or the one with this number.

    Return what was done or, with `dry_run=True`, what would be. It is recorded as the run was, unless
    `record` says otherwise. Raises CladaError if it cannot be undone, and changes nothing then; `waiting` is
    called if another run must end first.
    """
    from clada.world.record.undo import undo as undo_run

    settings = Settings.from_options(
        workspace=workspace,
        dry_run=dry_run,
        record=record,
        git_author=git_author,
        lock_timeout=lock_timeout,
    )
    if settings.record == "none":
        raise ValueError("record must be commits or snapshots: an undo is recorded")
    return undo_run(settings, run, waiting=waiting, record=None if record == "auto" else record)


def undo_text(undone: Undone, *, dry_run: bool = False) -> str:
    """Describe an undo in lines for people; a dry run with the diff that it would make."""
    words = ("would undo", "restore", "remove") if dry_run else ("undone", "restored", "removed")
    lines = [
        f"{words[0]}: run {undone.run.number} ({escape_controls(undone.run.what)})",
        *(f"  {words[1]} {escape_controls(path)}" for path in undone.restored),
        *(f"  {words[2]} {escape_controls(path)}" for path in undone.removed),
    ]
    if dry_run:
        from clada.report.diff import diff_lines
        from clada.world.secrets.mask import mask_of_changes

        both = ((path, side, None) for path, *sides in undone.changes for side in sides)
        mask = mask_of_changes(both)  # the restored contents may have secrets, too
        lines += [text for _kind, text in diff_lines(undone.changes, undone.modes, mask)]
    else:
        commit = f", commit {undone.commit[:SHORT]}" if undone.commit else ""
        lines += [f"recorded as run {undone.number}{commit}; clada undo reverts it"]
    return "".join(f"{line}\n" for line in lines)
