"""The path of a document, from its text to the report. Newcomers start here.

text ─► plan ─► workspace ─► lock ─► record ─► engine ─► report
"""

from __future__ import annotations

import os
from contextlib import ExitStack

from clada.callbacks import CallbackError, Caller
from clada.config import top_of_repository
from clada.engine import Engine
from clada.errors import CladaError, Error, shortened, unforeseen
from clada.model import EDITED, Note, Operation, Plan
from clada.notations import parse
from clada.notations.lookalikes import hint_for_fatal
from clada.operations.write import Write, strips_fence
from clada.report import Report
from clada.settings import KEPT, Settings
from clada.syntax import SyntaxLook
from clada.text.escape import first_few
from clada.world.autorun import AutorunGuard
from clada.world.files.directories import Limits
from clada.world.files.workspace import Workspace
from clada.world.world import Stop, World
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Unpack

    from clada.model import BlockReport, Event, Skipped, Task
    from clada.public_types import Ask, Changes, Modes, Options
    from clada.world.files.tree import Files
    from clada.world.locks import LockFile
    from clada.world.record.recorder import Recorder, RunToRecord

MOST_TARGETS, LONGEST_TARGETS = 3, 60  # paths that the history shows for a run, and their characters
REMOVED = "removed the fence around the whole content of {}; --strip-fences=never keeps it"
KEPT_FENCE = "kept the fence around the whole content of {}; --strip-fences removes it"


def execute(  # noqa: PLR0913 (callbacks are separate arguments)
    document: Plan | str | bytes,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    ask: Ask | None = None,
    consent: Callable[[str], bool] | None = None,
    stop: Stop | None = None,
    settings: Settings | None = None,
    left_out: Mapping[int, Skipped] | None = None,
    **options: Unpack[Options],
) -> Report:
    """Execute a document, or the plan of one, and return the report. Events go to `on_event`.

    The options are those of the command line, under the same names; `git=False` is --no-git. `settings` has
    all of them at once. `ask` is called for commands that need approval, `consent` for other yes-or-no
    questions; without them the answer is no. Raises TypeError or ValueError for invalid arguments, and passes
    on exceptions of the callbacks after it has ended the run; all other errors are in the report. `left_out`
    has the outcomes of tasks that are not executed, by index, for `resume`.
    """
    settings = settings or Settings.from_options(**options)
    caller = Caller(on_event, ask, consent, stop)
    plan = document if isinstance(document, Plan) else plan_for(document, settings)
    return _Run(plan, settings, caller, left_out).result()


def plan_for(document: object, settings: Settings) -> Plan:
    """Parse a document with the format, delimiters and roots of these settings."""
    if not isinstance(document, str | bytes):
        raise TypeError(
            f"execute() takes a text, or a plan as parse() returns it, not {type(document).__name__}"
        )
    try:
        here = os.path.abspath(settings.workspace)
    except OSError:
        here = ""  # the current directory is gone; the run reports that
    return parse(
        document,
        settings.format,
        start_delimiter=settings.start_delimiter,
        end_delimiter=settings.end_delimiter,
        roots=(settings.root or "", here),
        run_fences=settings.run_fences,
    )


class _Run:
    """One run. Its state is filled in as it proceeds, so that it can be reported after any exception."""

    def __init__(
        self, plan: Plan, settings: Settings, caller: Caller, left_out: Mapping[int, Skipped] | None
    ) -> None:
        self.plan, self.settings, self.caller, self.left_out = plan, settings, caller, left_out
        self.blocks: tuple[BlockReport, ...] | None = None
        self.record: Recorder | None = None
        self.changes: Changes = ()  # with `modes`, of a dry run
        self.modes: Modes = ()
        self.fatal: Error | None = None
        self.error: Error | None = None

    def result(self) -> Report:
        """Execute the plan, and return the report."""
        plan, settings = self.plan, self.settings
        if plan.fatal:
            hint = hint_for_fatal(plan.fatal, plan.source, (settings.start_delimiter, settings.end_delimiter))
            error = Error(plan.fatal.type, plan.fatal.message, hint)
            return self._save_refused(Report(plan.notation, fatal=error))
        mistake = None
        try:
            self.caller.tell(plan.notes)
            self.caller.tell(_notes_on_fences(plan, settings.strip_fences))
            self._carry_out()
        except CladaError as raised:
            self.error = raised.error
        except CallbackError as callback:
            mistake = callback.error
        except Exception as bug:  # noqa: BLE001 (the outermost handler: the run is still reported)
            self.error = unforeseen(bug)
        if mistake:  # raised here, so that it keeps its own cause and context
            if self.record:
                self.record.close()
            raise mistake
        return self._save_refused(self._report())

    def _save_refused(self, report: Report) -> Report:
        """Save the report of a refused document, so that `clada report` does not show an older run."""
        settings = self.settings
        if report.recorded is None and not settings.dry_run and settings.record != "none":
            from clada.world.record.documents import save_refused_report

            save_refused_report(settings.workspace, report.text(for_llm=True))
        return report

    def _carry_out(self) -> None:
        """Take the locks, start the record, and run the engine."""
        settings, caller = self.settings, self.caller
        # A run that changes nothing needs neither a lock nor a record.
        changing = bool(self._changing_operations()) and not settings.dry_run
        has_rollback = settings.atomic or self.plan.atomic or settings.verify
        recorded = changing and bool(settings.record != "none" or has_rollback)
        if changing and os.path.isdir(f"{state_home()}/clada/pending"):
            from clada.world.record.recover import recover  # rolls back killed atomic runs

            caller.tell(recover(settings, self._tell_waiting, wait=recorded))
        with ExitStack() as stack:
            limits = Limits(settings.max_files, settings.max_bytes)
            workspace = stack.enter_context(
                Workspace(settings.workspace, allow_escape=settings.allow_escape, limits=limits)
            )
            if settings.lock_file and changing:
                stack.enter_context(_lock(settings.lock_file, settings.lock_timeout, caller))
            if recorded:
                from clada.world.record.recorder import make_recorder

                run = self._run_to_record()
                self.record = make_recorder(run, settings, self._tell_waiting, caller.stop_handle)
                stack.enter_context(self.record)
            stack.push(workspace)  # closed before the record ends, because closing writes what is held
            self._run_in(workspace, changing=changing)
        if self.record:
            caller.tell(self.record.notes)

    def _tell_waiting(self) -> None:
        self.caller.emit(Note("waiting for another run in this repository"))

    def _changing_operations(self) -> list[Operation]:
        """Return the operations of valid blocks that may change files."""
        items = (item for block in self.plan.blocks if block.valid for item in block.operations)
        return [item for item in items if isinstance(item, Operation) and item.changes_files]

    def _run_in(self, workspace: Workspace, *, changing: bool) -> None:
        """Run the engine in a workspace that is open and locked."""
        settings, caller, record = self.settings, self.caller, self.record
        if record:
            record.tell = caller.tell
            caller.tell(record.notes)
        caller.tell(_notes_on_paths(self.plan, workspace.root))
        files = _overlay(workspace) if settings.dry_run else workspace
        world = World(files, settings, caller.emit, caller.answer if caller.can_answer else None, caller.stop)
        world.consent = caller.would_consent if settings.dry_run else caller.consent
        world.autorun = AutorunGuard(files.root, world.ask_user, allowed=settings.allow_autorun)
        if settings.syntax != "off":
            world.syntax = SyntaxLook(files, planned=settings.dry_run)
        if record:
            record.begin(workspace, world)
        if changing and settings.syntax == "refuse":
            self._refuse_broken_syntax(workspace)
        self._run_engine(world)
        broken = world.syntax.notes() if world.syntax else []
        if settings.dry_run:
            self.changes, self.modes = tuple(files.changes()), tuple(files.modes())
            self.fatal = self._refusal(broken) if self._changing_operations() else None
        elif record:
            _describe(record, self.plan, self.blocks or (), caller.stop)
        caller.tell([] if self.fatal else broken)

    def _run_engine(self, world: World) -> None:
        """Carry out the plan, between the two runs of the commands that verify it."""
        if not world.settings.verify or not self.record:
            engine = Engine(self.plan, world, self.left_out)
            self.blocks, self.error = engine.run(), engine.error
            self._format(world, [task for block in self.blocks for task in block.tasks])
            if world.settings.dry_run:
                self.caller.tell(f"not verified in a dry run: {command}" for command in world.settings.verify)
            return
        from clada.user_commands import Verifier  # late: few runs are verified

        verifier = Verifier(world, self.caller.tell)
        verifier.before()

        def finish(tasks: Sequence[Task]) -> bool:
            self._format(world, tasks)
            return verifier.after()

        engine = Engine(self.plan, world, self.left_out, finish)
        self.blocks = engine.run()
        self.error = engine.error or verifier.error

    def _format(self, world: World, tasks: Sequence[Task]) -> None:
        if world.settings.after_edit and not world.settings.dry_run:
            from clada.user_commands import format_changed  # late: few runs have formatters

            format_changed(world, tasks, self.caller.tell)

    def _refuse_broken_syntax(self, workspace: Workspace) -> None:
        """Raise CladaError if a file would not parse after the run, which is tried in memory."""
        settings, files = self.settings, _overlay(workspace)
        files.limits = Limits(settings.max_files, settings.max_bytes)  # the run itself counts from 0
        trial = World(files, settings.replace(dry_run=True), lambda _event: None)
        trial.syntax = SyntaxLook(files, planned=True)
        Engine(self.plan, trial, self.left_out).run()
        broken = trial.syntax.notes()
        if broken:
            raise CladaError.of(_syntax_error(broken))

    def _refusal(self, broken: Sequence[str]) -> Error | None:
        """Return why the real run would be refused: files would not parse, or it could not be recorded.

        A dry run does not wait for other runs and does not ask: it assumes that a person would consent.
        """
        settings = self.settings
        if broken and settings.syntax == "refuse":
            return _syntax_error(broken)
        if settings.record == "none":
            return None
        from clada.world.record.recorder import refusal

        return refusal(self._run_to_record().replace(consent=self.caller.would_consent), settings)

    def _run_to_record(self) -> RunToRecord:
        from clada.world.record.recorder import RunToRecord

        operations, settings = self._changing_operations(), self.settings
        kept = [(name, getattr(settings, name)) for name in KEPT]
        return RunToRecord(
            _summary(self.plan),
            self.plan.source,
            tuple(f"{name}={'' if value is None else value}" for name, value in kept),
            planned=[path for operation in operations for path in operation.paths],
            wide=not all(operation.only_its_paths for operation in operations),
            resumes=self.left_out is not None,
            in_history=settings.record != "none",
            consent=self.caller.consent,
            stop=self.caller.stop_handle,
        )

    def _report(self) -> Report:
        """Build the report of a run, and save it in the record."""
        plan, settings, blocks, record = self.plan, self.settings, self.blocks, self.record
        made = zip(("pre", "post"), record.commits, strict=True) if record else ()
        example = ""
        if not plan.has_operations:
            from clada.report.llm import example as example_in

            delimiters = (settings.start_delimiter, settings.end_delimiter)
            example = example_in(plan.notation or settings.format, delimiters)
        report = Report(
            plan.notation,
            blocks or (),
            fatal=self.error if blocks is None else self.fatal,
            error=None if blocks is None else self.error or (record.error if record else None),
            commits={name: commit for name, commit in made if commit},
            interrupted=self.caller.stop.signal if self.caller.stop else None,
            notes=tuple(self.caller.notes),
            dry_run=settings.dry_run,
            changes=self.changes,
            modes=self.modes,
            recorded=(record.number or None) if record else None,
            undoable=bool(record and record.has_changes),
            not_applied=plan.not_applied,
            example=example,
            reveal=tuple(settings.reveal),
        )
        if record:
            record.save_report(report)
        return report


def _overlay(workspace: Workspace) -> Files:
    """Return the files that a dry run works on, which leaves the workspace alone."""
    from clada.world.files.overlay import Overlay

    return Overlay(workspace)


def _syntax_error(broken: Sequence[str]) -> Error:
    return Error("invalid_operation", "; ".join(broken), "--syntax=note writes it all the same")


def _lock(path: str, timeout: float, caller: Caller) -> LockFile:
    from clada.world.locks import LockFile

    def waiting() -> None:
        caller.emit(Note(f"waiting for the lock {path}"))

    return LockFile(path, timeout, waiting, caller.stop_handle)


def _notes_on_fences(plan: Plan, setting: bool | None) -> list[str]:
    """Return notes on fences around the whole content of writes, unless `setting` decides."""
    if setting is not None:
        return []
    writes = [item for item in plan.operations if isinstance(item, Write) and item.unfenced() is not None]
    notes = []
    for message, is_removed in ((REMOVED, True), (KEPT_FENCE, False)):
        found = [write for write in writes if strips_fence(write.path, setting) == is_removed]
        names = [f"{shortened(write.path)} (line {write.line})" for write in found]
        notes += [message.format(first_few(names, 1))] if names else []
    return notes


def _notes_on_paths(plan: Plan, root: str) -> list[str]:
    """Return a note if paths look relative to the root of the repository rather than to the workspace."""
    top = top_of_repository(root)
    if top is None or top == root:
        return []
    from clada.world.files.path_hints import note_on_paths

    return note_on_paths([item for item in plan.operations if isinstance(item, Operation)], root, top)


def _summary(plan: Plan, blocks: Sequence[BlockReport] = ()) -> str:
    """Summarise a plan for the history: `2 writes, 1 run: a.py, b.py, make`.

    If some tasks failed or were skipped: `1 of 2 writes`.
    """
    items = [item for block in plan.blocks if block.valid for item in block.operations]
    names = [item.name for item in items]
    not_done = [
        task.operation for block in blocks if block.valid for task in block.tasks if task.status != "success"
    ]
    parts = []
    for name in dict.fromkeys(names):
        count, missing = names.count(name), not_done.count(name)
        part = f"{count - missing} of {count}" if missing else f"{count}"
        parts.append(f"{part} {name}{'' if count == 1 else 's'}")
    edited = sum(task.is_edited for block in blocks for task in block.tasks)
    parts += [f"{edited} edited by the user"] if edited else []
    targets = list(dict.fromkeys(item.target.partition("\n")[0] for item in items))
    shown = ", ".join(targets[:MOST_TARGETS])
    shown = shown if len(shown) <= LONGEST_TARGETS else f"{shown[: LONGEST_TARGETS - 1]}…"
    more = f" and {len(targets) - MOST_TARGETS} more" if len(targets) > MOST_TARGETS else ""
    return f"{', '.join(parts)}: {shown}{more}"


def _describe(record: Recorder, plan: Plan, blocks: Sequence[BlockReport], stop: Stop | None) -> None:
    """Set the summary of a run, for the history and the commit message."""
    ends = {"success": "", "error": " (failed)", "skipped": " (skipped)", "rolled_back": " (rolled back)"}
    record.what = _summary(plan, blocks)
    record.tasks = [task for block in blocks for task in block.tasks]
    record.done = [
        f"{task.operation} {task.target}{ends[task.status]}{f' ({EDITED})' if task.is_edited else ''}"
        for block in blocks
        for task in block.tasks
    ]
    ok = not plan.not_applied and all(block.status == "success" for block in blocks)
    record.ended = "interrupted" if stop and stop.signal else "ok" if ok else "failed"
