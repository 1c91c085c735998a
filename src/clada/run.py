"""The way of a document, from its text to the report: newcomers start here.

text ─► plan ─► workspace ─► lock ─► record ─► engine ─► report
"""

from __future__ import annotations

import os

from clada.engine import Engine
from clada.errors import Error, Trouble, unforeseen
from clada.model import Note, Operation, Plan
from clada.notations import parse
from clada.report import Report
from clada.settings import Settings
from clada.world.files.limits import Limits
from clada.world.files.paths import display_path
from clada.world.files.workspace import Workspace
from clada.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self, Unpack

    from clada.model import BlockReport, Event
    from clada.report import Changes, Modes
    from clada.settings import Options
    from clada.world.files.tree import Files
    from clada.world.git.recording import Recording
    from clada.world.locks import LockFile
    from clada.world.world import Ask, Stop

ANSWERS = ("once", "always", "no", "never", "once+network", "always+network")


def execute(
    document: Plan | str | bytes,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    ask: Ask | None = None,
    stop: Stop | None = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Report:
    """Carry out a document, or a plan made of one, and report. What happens is told to `on_event`.

    The options are those of the command line, under the same names; `git=False` is --no-git. `settings` is
    all of them at once. `ask` puts commands that are not approved to a person; without it, they are refused.
    Raises TypeError or ValueError on bad arguments, and what `on_event` and `ask` raise, which ends the run
    in order; whatever goes wrong with the document is in the report.
    """
    settings = settings or Settings.from_options(**options)
    caller = _Caller(on_event, ask, stop)
    plan = document if isinstance(document, Plan) else _parsed(document, settings)
    if plan.fatal:
        return Report(plan.notation, fatal=Error(plan.fatal.type, plan.fatal.message))
    if not any(block.operations and block.valid for block in plan.blocks):
        # Nothing will change: nobody need wait, and there is nothing to record.
        settings = settings.replace(lock_file=None, git=False)
    limits = Limits(settings.max_files, settings.max_bytes)
    blocks: tuple[BlockReport, ...] | None = None
    record: Recording | _Nothing = _Nothing()
    changes: Changes = ()
    modes: Modes = ()
    fatal, error, mistake = None, None, None
    try:
        caller.tell(plan.notes)
        with (
            Workspace(settings.workspace, allow_escape=settings.allow_escape, limits=limits) as workspace,
            _lock(settings, caller),
            _record(plan, settings, caller) as record,
            workspace,  # once more: what it holds in memory is written before it is recorded
        ):
            caller.tell(record.notes)  # warnings come before what they warn of
            caller.tell(_notes_on_paths(plan, workspace.root))
            files = _overlay(workspace) if settings.dry_run else workspace
            world = World(files, settings, caller.emit, caller.answer if ask else None, stop)
            blocks = Engine(plan, world).run()  # from here on there is a report, whatever goes wrong
            if settings.dry_run:
                changes, modes = tuple(files.changes()), tuple(files.modes())
                fatal = _refusal(settings.workspace) if settings.git else None
            elif not isinstance(record, _Nothing):
                record.what, record.commands = _summary(plan, blocks), world.ran
                record.touched = [display_path(parts) for parts in files.touched]
                fine = all(block.status == "success" for block in blocks)
                record.ended = "interrupted" if stop and stop.signal else "ok" if fine else "failed"
        caller.tell(record.notes)
    except Trouble as trouble:
        error = trouble.error
    except _CallerError as raised:
        mistake = raised.error
    except Exception as bug:  # noqa: BLE001 (the last place where one ends: what was done is reported)
        error = unforeseen(bug)
    if mistake:
        raise mistake
    made = zip(("pre", "post"), record.commits, strict=False)
    return Report(
        plan.notation,
        blocks or (),
        fatal=error if blocks is None else fatal,
        error=None if blocks is None else error or record.error,
        commits={name: commit for name, commit in made if commit},
        interrupted=stop.signal if stop else None,
        notes=tuple(caller.notes),
        dry_run=settings.dry_run,
        changes=changes,
        modes=modes,
    )


def _parsed(document: object, settings: Settings) -> Plan:
    if not isinstance(document, str | bytes):
        raise TypeError(
            f"execute() takes a text, or a plan as parse() returns it, not {type(document).__name__}"
        )
    delimiters = {"start_delimiter": settings.start_delimiter, "end_delimiter": settings.end_delimiter}
    return parse(document, settings.format, **delimiters)


def _overlay(workspace: Workspace) -> Files:
    """Return what a dry run works on: it changes nothing of the workspace."""
    from clada.world.files.overlay import Overlay

    return Overlay(workspace)


def _lock(settings: Settings, caller: _Caller) -> LockFile | _Nothing:
    if not settings.lock_file or settings.dry_run:
        return _Nothing()
    from clada.world.locks import LockFile

    def waiting() -> None:
        caller.emit(Note(f"waiting for the lock {settings.lock_file}"))

    return LockFile(settings.lock_file, settings.lock_timeout, waiting, caller.stop_handle)


def _record(plan: Plan, settings: Settings, caller: _Caller) -> Recording | _Nothing:
    if not settings.git or settings.dry_run:
        return _Nothing()
    from clada.world.git import repository

    def waiting() -> None:
        caller.emit(Note("waiting for another run in this repository"))

    with repository.suggest_no_git():
        found = repository.find(settings.workspace, confined=settings.sandbox != "off")
    recording = found.recorded(
        settings.git_author,
        _summary(plan),
        lock_timeout=settings.lock_timeout,
        waiting=waiting,
        stop=caller.stop_handle,
    )
    recording.lock_file = settings.lock_file
    return recording


def _refusal(workspace: str) -> Error | None:
    """Return why the run that a dry run stands for would not begin, if it could not be recorded.

    Nothing is touched, and nobody waits: another run that holds the lock will have ended by then.
    """
    from clada.world.git import repository

    try:
        with repository.suggest_no_git():
            repository.check(repository.find(workspace))
    except Trouble as trouble:
        return trouble.error
    return None


def _notes_on_paths(plan: Plan, root: str) -> list[str]:
    """Return a note where paths were meant from the root of the repository, and the workspace is below it."""
    top = root
    while not os.path.lexists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return []  # there is no repository
        top = os.path.dirname(top)
    if top == root:
        return []
    from clada.world.files.elsewhere import note_on_paths

    items = [item for block in plan.blocks for item in block.operations]
    return note_on_paths([item for item in items if isinstance(item, Operation)], root, top)


def _summary(plan: Plan, blocks: Sequence[BlockReport] = ()) -> str:
    """Return what a plan does, for the history: `2 writes, 1 run`; if not all was tried, `1 of 2 writes`."""
    names = [item.name for block in plan.blocks if block.valid for item in block.operations]
    left = [
        task.operation for block in blocks if block.valid for task in block.tasks if task.status == "skipped"
    ]
    parts = []
    for name in dict.fromkeys(names):
        count, undone = names.count(name), left.count(name)
        part = f"{count - undone} of {count}" if undone else f"{count}"
        parts.append(f"{part} {name}{'' if count == 1 else 's'}")
    return ", ".join(parts)


class _Nothing:
    """Where there is no lock to hold, and nothing is recorded."""

    commits: tuple[str | None, ...] = ()
    error: Error | None = None
    notes: Sequence[str] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Caller:
    """Whoever called: its own functions, checked, and what they raise carried past all errors of ours."""

    def __init__(self, on_event: Callable[[Event], None], ask: Ask | None, stop: Stop | None) -> None:
        if not callable(on_event):
            raise TypeError(f"on_event must be a function, not {on_event!r}")
        if ask is not None and not callable(ask):
            raise TypeError(f"ask must be a function, not {ask!r}")
        if stop is not None and not hasattr(stop, "handle"):
            raise TypeError(f"stop must be a Stop, not {stop!r}")
        self._on_event, self._ask = on_event, ask
        self.stop_handle = stop.handle if stop else None
        self.notes: list[str] = []  # that were told

    def emit(self, event: Event) -> None:
        """Tell an event; notes are kept for the report."""
        if isinstance(event, Note):
            self.notes.append(event.text)
        try:
            self._on_event(event)
        except Exception as error:
            raise _CallerError(error) from error

    def tell(self, notes: Iterable[str]) -> None:
        """Tell those of these notes that were not told yet."""
        for note in notes:
            if note not in self.notes:
                self.emit(Note(note))

    def answer(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Ask, and hold the answer to what an answer can be."""
        try:
            given = self._ask and self._ask(command, directory, reason, network=network)
            if given is not None and given not in ANSWERS:
                expected = f"ask must return one of {', '.join(ANSWERS)}, or None, not {given!r}"
                raise ValueError(expected) if isinstance(given, str) else TypeError(expected)  # noqa: TRY301
        except Exception as error:
            raise _CallerError(error) from error
        return given


class _CallerError(BaseException):
    """Carries what the caller's own function raised past all that deals with errors of ours."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
