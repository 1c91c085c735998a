"""The path of a document, from its text to the report. Newcomers start here.

text ─► plan ─► workspace ─► lock ─► record ─► engine ─► report
"""

from __future__ import annotations

import os
from contextlib import ExitStack

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
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Unpack

    from clada.model import BlockReport, Event, Skipped, Task
    from clada.public_types import Answer, Ask, Changes, Modes, Options
    from clada.world.files.tree import Files
    from clada.world.locks import LockFile
    from clada.world.record.recorder import Recorder, RunToRecord

MOST_TARGETS, LONGEST_TARGETS = 3, 60  # paths that the history shows for a run, and their characters
REMOVED = "removed the fence around the whole content of {}; --strip-fences=never keeps it"
KEPT_FENCE = "kept the fence around the whole content of {}; --strip-fences removes it"
ANSWERS = ("once", "always", "no", "never", "once+network", "always+network")


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
    caller = _Caller(on_event, ask, consent, stop)
    plan = document if isinstance(document, Plan) else plan_for(document, settings)
    if plan.fatal:
        hint = hint_for_fatal(plan.fatal, plan.source, (settings.start_delimiter, settings.end_delimiter))
        return _kept(Report(plan.notation, fatal=Error(plan.fatal.type, plan.fatal.message, hint)), settings)
    course, mistake = _Course(), None
    try:
        caller.tell(plan.notes)
        caller.tell(_notes_on_fences(plan, settings.strip_fences))
        _carry_out(plan, settings, caller, left_out, course)
    except CladaError as raised:
        course.error = raised.error
    except _CallerError as callback:
        mistake = callback.error
    except Exception as bug:  # noqa: BLE001 (the outermost handler: the run is still reported)
        course.error = unforeseen(bug)
    if mistake:
        if course.record:
            course.record.close()
        raise mistake
    return _kept(_reported(plan, settings, caller, course), settings)


def _kept(report: Report, settings: Settings) -> Report:
    """Save the report of a refused document, so that `clada report` does not show an older run."""
    if report.recorded is None and not settings.dry_run and settings.record != "none":
        from clada.world.record.documents import save_refused_report

        save_refused_report(settings.workspace, report.text(for_llm=True))
    return report


class _Course:
    """The state of a run, filled in as it proceeds, so that it is known after any exception."""

    blocks: tuple[BlockReport, ...] | None = None
    record: Recorder | None = None
    changes: Changes = ()  # with `modes`, of a dry run
    modes: Modes = ()
    fatal: Error | None = None
    error: Error | None = None


def _carry_out(
    plan: Plan, settings: Settings, caller: _Caller, left_out: Mapping[int, Skipped] | None, course: _Course
) -> None:
    """Take the locks, start the record, and run the engine."""
    # A run that changes nothing needs neither a lock nor a record.
    executable = any(item.changes_files for item in _valid_operations(plan))
    changing = executable and not settings.dry_run
    has_rollback = settings.atomic or plan.atomic or settings.verify
    recorded = changing and bool(settings.record != "none" or has_rollback)
    limits = Limits(settings.max_files, settings.max_bytes)
    resumes = left_out is not None
    if changing and os.path.isdir(f"{state_home()}/clada/pending"):
        caller.tell(_recovered(settings, caller, wait=recorded))
    with ExitStack() as stack:
        workspace = stack.enter_context(
            Workspace(settings.workspace, allow_escape=settings.allow_escape, limits=limits)
        )
        if settings.lock_file and changing:
            stack.enter_context(_lock(settings.lock_file, settings, caller))
        if recorded:
            stack.enter_context(_record(plan, settings, caller, course, resumes=resumes))
        stack.push(workspace)  # closed before the record ends, because closing writes what is held in memory
        if course.record:
            course.record.tell = caller.tell
            caller.tell(course.record.notes)
        caller.tell(_notes_on_paths(plan, workspace.root))
        files = _overlay(workspace) if settings.dry_run else workspace
        world = _world(files, settings, caller)
        if course.record:
            course.record.begin(workspace, world)
        if changing and settings.syntax == "refuse":
            _refuse_broken_syntax(plan, settings, workspace, left_out)
        _run_engine(plan, world, caller, left_out, course)
        broken = world.syntax.notes() if world.syntax else []
        if settings.dry_run:
            course.changes, course.modes = tuple(files.changes()), tuple(files.modes())
            course.fatal = _refusal(plan, settings, caller, broken, resumes=resumes) if executable else None
        elif course.record:
            _describe(course.record, plan, course.blocks or (), caller.stop)
        caller.tell([] if course.fatal else broken)
    if course.record:
        caller.tell(course.record.notes)


def _reported(plan: Plan, settings: Settings, caller: _Caller, course: _Course) -> Report:
    """Build the report of a run, and save it in the record."""
    blocks, record = course.blocks, course.record
    made = zip(("pre", "post"), record.commits, strict=True) if record else ()
    report = Report(
        plan.notation,
        blocks or (),
        fatal=course.error if blocks is None else course.fatal,
        error=None if blocks is None else course.error or (record.error if record else None),
        commits={name: commit for name, commit in made if commit},
        interrupted=caller.stop.signal if caller.stop else None,
        notes=tuple(caller.notes),
        dry_run=settings.dry_run,
        changes=course.changes,
        modes=course.modes,
        recorded=(record.number or None) if record else None,
        undoable=bool(record and record.has_changes),
        not_applied=plan.not_applied,
        example="" if plan.has_operations else _example(plan, settings),
        reveal=tuple(settings.reveal),
    )
    if record:
        record.save_report(report)
    return report


def _example(plan: Plan, settings: Settings) -> str:
    from clada.report.advice import example

    notation = plan.notation or settings.format
    return example(notation, (settings.start_delimiter, settings.end_delimiter))


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


def _overlay(workspace: Workspace) -> Files:
    """Return the files that a dry run works on, which leaves the workspace alone."""
    from clada.world.files.overlay import Overlay

    return Overlay(workspace)


def _world(files: Files, settings: Settings, caller: _Caller) -> World:
    world = World(files, settings, caller.emit, caller.answer if caller.can_answer else None, caller.stop)
    world.consent = caller.would_consent if settings.dry_run else caller.consent
    world.autorun = AutorunGuard(files.root, world.ask_user, allowed=settings.allow_autorun)
    if settings.syntax != "off":
        world.syntax = SyntaxLook(files, planned=settings.dry_run)
    return world


def _run_engine(
    plan: Plan,
    world: World,
    caller: _Caller,
    left_out: Mapping[int, Skipped] | None,
    course: _Course,
) -> None:
    """Carry out the plan, between the two runs of the commands that verify it."""
    if not world.settings.verify or not course.record:
        engine = Engine(plan, world, left_out)
        course.blocks, course.error = engine.run(), engine.error
        _format(world, [task for block in course.blocks for task in block.tasks], caller)
        if world.settings.dry_run:
            caller.tell(f"not verified in a dry run: {command}" for command in world.settings.verify)
        return
    from clada.verify import Verifier  # late: few runs are verified

    verifier = Verifier(world, caller.tell)
    verifier.before()

    def finish(tasks: Sequence[Task]) -> bool:
        _format(world, tasks, caller)
        return verifier.after()

    engine = Engine(plan, world, left_out, finish)
    course.blocks = engine.run()
    course.error = engine.error or verifier.error


def _format(world: World, tasks: Sequence[Task], caller: _Caller) -> None:
    if world.settings.after_edit and not world.settings.dry_run:
        from clada.formatting import format_changed  # late: few runs have formatters

        format_changed(world, tasks, caller.tell)


def _refuse_broken_syntax(
    plan: Plan, settings: Settings, workspace: Workspace, left_out: Mapping[int, Skipped] | None
) -> None:
    """Raise CladaError if a file would not parse after the run, which is tried in memory."""
    files = _overlay(workspace)
    files.limits = Limits(settings.max_files, settings.max_bytes)  # the run itself counts from 0
    trial = World(files, settings.replace(dry_run=True), lambda _event: None)
    trial.syntax = SyntaxLook(files, planned=True)
    Engine(plan, trial, left_out).run()
    broken = trial.syntax.notes()
    if broken:
        raise CladaError.of(_syntax_error(broken))


def _syntax_error(broken: Sequence[str]) -> Error:
    return Error("invalid_operation", "; ".join(broken), "--syntax=note writes it all the same")


def _lock(path: str, settings: Settings, caller: _Caller) -> LockFile:
    from clada.world.locks import LockFile

    def waiting() -> None:
        caller.emit(Note(f"waiting for the lock {path}"))

    return LockFile(path, settings.lock_timeout, waiting, caller.stop_handle)


def _record(plan: Plan, settings: Settings, caller: _Caller, course: _Course, *, resumes: bool) -> Recorder:
    from clada.world.record.recorder import make_recorder

    run = _to_record(plan, settings, caller, resumes=resumes)
    course.record = make_recorder(run, settings, _waiting(caller), caller.stop_handle)
    return course.record


def _to_record(plan: Plan, settings: Settings, caller: _Caller, *, resumes: bool) -> RunToRecord:
    from clada.world.record.recorder import RunToRecord

    operations = [item for item in _valid_operations(plan) if item.changes_files]
    kept = [(name, getattr(settings, name)) for name in KEPT]
    return RunToRecord(
        _summary(plan),
        plan.source,
        tuple(f"{name}={'' if value is None else value}" for name, value in kept),
        planned=[path for operation in operations for path in operation.paths],
        wide=not all(operation.only_its_paths for operation in operations),
        resumes=resumes,
        in_history=settings.record != "none",
        consent=caller.consent,
        stop=caller.stop_handle,
    )


def _valid_operations(plan: Plan) -> list[Operation]:
    """Return the operations of valid blocks."""
    items = [item for block in plan.blocks if block.valid for item in block.operations]
    return [item for item in items if isinstance(item, Operation)]


def _recovered(settings: Settings, caller: _Caller, *, wait: bool) -> list[str]:
    """Roll back killed atomic runs of this workspace; with `wait`, wait for one that is running."""
    from clada.world.record.recover import recover

    return recover(settings, _waiting(caller), wait=wait)


def _waiting(caller: _Caller) -> Callable[[], None]:
    return lambda: caller.emit(Note("waiting for another run in this repository"))


def _refusal(
    plan: Plan, settings: Settings, caller: _Caller, broken: Sequence[str], *, resumes: bool
) -> Error | None:
    """Return why the real run would be refused: files would not parse, or it could not be recorded.

    A dry run does not wait for other runs and does not ask: it assumes that a person would consent.
    """
    if broken and settings.syntax == "refuse":
        return _syntax_error(broken)
    if settings.record == "none":
        return None
    from clada.world.record.recorder import refusal

    run = _to_record(plan, settings, caller, resumes=resumes)
    return refusal(run.replace(consent=caller.would_consent), settings)


def _notes_on_fences(plan: Plan, setting: bool | None) -> list[str]:
    """Return notes on fences around the whole content of writes, unless `setting` decides."""
    if setting is not None:
        return []
    items = [item for block in plan.blocks for item in block.operations if isinstance(item, Write)]
    found = [item for item in items if item.unfenced() is not None]
    removed = [item for item in found if strips_fence(item.path, setting)]
    kept = [item for item in found if not strips_fence(item.path, setting)]
    return [
        message.format(_first_of(writes))
        for message, writes in ((REMOVED, removed), (KEPT_FENCE, kept))
        if writes
    ]


def _first_of(writes: Sequence[Write]) -> str:
    return first_few([f"{shortened(write.path)} (line {write.line})" for write in writes], 1)


def _notes_on_paths(plan: Plan, root: str) -> list[str]:
    """Return a note if paths look relative to the root of the repository rather than to the workspace."""
    top = root.rstrip("/")
    while not os.path.lexists(f"{top}/.git"):
        if not top:
            return []  # no repository
        top = top.rpartition("/")[0]
    top = top or "/"
    if top == root:
        return []
    from clada.world.files.path_hints import note_on_paths

    items = [item for block in plan.blocks for item in block.operations]
    return note_on_paths([item for item in items if isinstance(item, Operation)], root, top)


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


class _Caller:
    """The callbacks of the caller. Their exceptions pass through all handlers of clada's own errors."""

    def __init__(
        self,
        on_event: Callable[[Event], None],
        ask: Ask | None,
        consent: Callable[[str], bool] | None,
        stop: Stop | None,
    ) -> None:
        if not callable(on_event):
            raise TypeError(f"on_event must be a function, not {on_event!r}")
        if ask is not None and not callable(ask):
            raise TypeError(f"ask must be a function, not {ask!r}")
        if stop is not None and not isinstance(stop, Stop):
            raise TypeError(f"stop must be a Stop, not {stop!r}")
        self._on_event, self._ask, self._consent, self.stop = on_event, ask, consent, stop
        self.can_answer = ask is not None
        self.notes: list[str] = []  # emitted so far

    @property
    def stop_handle(self) -> int | None:
        """The file descriptor that becomes readable when the run is to end."""
        return self.stop.handle if self.stop else None

    def emit(self, event: Event) -> None:
        """Pass on an event; collect notes for the report."""
        if isinstance(event, Note):
            self.notes.append(event.text)
        try:
            self._on_event(event)
        except Exception as error:
            raise _CallerError(error) from error

    def tell(self, notes: Iterable[str]) -> None:
        """Emit those of these notes that are new."""
        for note in notes:
            if note not in self.notes:
                self.emit(Note(note))

    def consent(self, question: str) -> bool:
        """Ask a yes-or-no question."""
        try:
            return bool(self._consent and self._consent(question))
        except Exception as error:
            raise _CallerError(error) from error

    @property
    def would_consent(self) -> Callable[[str], bool] | None:
        """A function that always consents, for dry runs; None if no person can be asked."""
        return (lambda _question: True) if self._consent else None

    def answer(self, command: str, directory: str, reason: str, *, network: bool) -> Answer | None:
        """Ask about a command; raise if the callback returns something else than an answer."""
        try:
            given = self._ask and self._ask(command, directory, reason, network=network)
            if given is not None and given not in ANSWERS:
                expected = f"ask must return one of {', '.join(ANSWERS)}, or None, not {given!r}"
                raise ValueError(expected) if isinstance(given, str) else TypeError(expected)  # noqa: TRY301
        except Exception as error:
            raise _CallerError(error) from error
        return given


class _CallerError(BaseException):
    """Carries an exception of a callback through all handlers of clada's own errors."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
