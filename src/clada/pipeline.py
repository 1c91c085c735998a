"""The path of a plan through a run: newcomers start here.

plan ─► lock ─► pre-commit ─► engine ─► post-commit ─► report
"""

from __future__ import annotations

from clada.engine import Engine
from clada.errors import Error, Trouble
from clada.model import Event, Note, Plan, Report
from clada.operations import World
from clada.settings import chosen
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self, Unpack

    from clada.operations import Ask, Stop
    from clada.settings import Options, Settings
    from clada.world.files.tree import Files
    from clada.world.git.recording import Recording
    from clada.world.locks import LockFile

ANSWERS = ("once", "always", "no", "never", "once+network", "always+network")


def execute(
    plan: Plan,
    *,
    on_event: Callable[[Event], None] = lambda _event: None,
    ask: Ask | None = None,
    stop: Stop | None = None,
    **options: Unpack[Options],
) -> Report:
    """Carry out a plan, and report. It prints nothing: what happens is told to `on_event`.

    The options are those of the command line, under the same names (see Settings); `git=False` is --no-git.
    `ask` puts commands that are not approved to a person; without it, they are refused.
    What `on_event` and `ask` raise ends the run, in order, and is raised here.
    """
    _check_call(plan, on_event, ask, stop)
    settings = chosen(**options)
    if plan.fatal:
        return Report(plan.notation, fatal=Error(plan.fatal.type, plan.fatal.message))
    notes: list[str] = []

    def emit(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)
        try:
            on_event(event)
        except Exception as error:
            raise _Foreign(error) from error

    report: Report | Exception
    try:
        report = _execute(plan, settings, emit, _answering(ask) if ask else None, stop)
    except Trouble as trouble:
        report = Report(plan.notation, fatal=trouble.error, interrupted=stop.signal if stop else None)
    except _Foreign as foreign:
        report = foreign.error
    if isinstance(report, Exception):
        raise report
    return report.replace(notes=tuple(notes))


def _check_call(plan: object, on_event: object, ask: object, stop: object) -> None:
    """Tell whoever called what cannot be, before anything is touched; `chosen` does so for the options."""
    if not isinstance(plan, Plan):
        raise TypeError(f"execute() takes a plan, as parse() returns it, not {type(plan).__name__}")
    if not callable(on_event):
        raise TypeError(f"on_event must be a function, not {on_event!r}")
    if ask is not None and not callable(ask):
        raise TypeError(f"ask must be a function, not {ask!r}")
    if stop is not None and not hasattr(stop, "handle"):
        raise TypeError(f"stop must have a signal and a handle, and {stop!r} has not")


def _execute(
    plan: Plan,
    settings: Settings,
    emit: Callable[[Event], None],
    ask: Ask | None,
    stop: Stop | None,
) -> Report:
    _tell(plan.notes, emit)
    _check_workspace(settings)
    handle = stop.handle if stop else None
    if settings.dry_run or not _executable(plan):
        settings = settings.replace(
            lock_file=None, git=False
        )  # nothing will change: nobody need wait or record
    with (
        _locked(settings, emit, handle),
        _recorded(plan, settings, emit, handle) as record,
        _opened(settings) as files,
    ):
        told = _tell(record.notes, emit)  # warnings come before what they warn of
        world = World(files, settings, emit, ask, stop)
        blocks = Engine(plan, world).run()
        signal = stop.signal if stop else None
        report = Report(plan.notation, blocks, interrupted=signal, dry_run=settings.dry_run)
        report = report.replace(changes=tuple(files.changes()), modes=tuple(files.modes()))
        record.touched, record.commands = [display_path(parts) for parts in files.touched], world.ran
        record.ended = "interrupted" if signal else "ok" if report.ok else "failed"
    _tell(record.notes[told:], emit)
    commits = {kind: commit for kind, commit in zip(("pre", "post"), record.commits, strict=True) if commit}
    return report.replace(error=record.error, commits=commits)


def _check_workspace(settings: Settings) -> None:
    """Refuse what can be no workspace before anything waits or is recorded."""
    from clada.world.files.root import check

    check(settings.workspace)


def _tell(notes: Sequence[str], emit: Callable[[Event], None]) -> int:
    """Tell these notes; return how many they are."""
    for note in notes:
        emit(Note(note))
    return len(notes)


def _locked(settings: Settings, emit: Callable[[Event], None], stop: int | None) -> LockFile | _Nothing:
    if not settings.lock_file:
        return _Nothing()
    from clada.world.locks import LockFile

    def waiting() -> None:
        emit(Note(f"waiting for the lock {settings.lock_file}"))

    return LockFile(settings.lock_file, settings.lock_timeout, waiting, stop)


def _recorded(
    plan: Plan, settings: Settings, emit: Callable[[Event], None], stop: int | None
) -> Recording | _Unrecorded:
    if not settings.git:
        return _Unrecorded()
    from clada.world.git import repository

    def waiting() -> None:
        emit(Note("waiting for another run in this repository"))

    with repository.suggest_no_git():
        found = repository.find(settings.workspace)
    recording = found.recorded(
        settings.git_author, _summary(plan), lock_timeout=settings.lock_timeout, waiting=waiting, stop=stop
    )
    recording.lock_file = settings.lock_file
    return recording


def _opened(settings: Settings) -> Files:
    from clada.world.files.workspace import Workspace

    workspace = Workspace(settings.workspace, allow_escape=settings.allow_escape)
    if not settings.dry_run:
        return workspace
    from clada.world.files.overlay import Overlay

    return Overlay(workspace)


def _executable(plan: Plan) -> bool:
    return any(block.operations and block.valid for block in plan.blocks)


def _summary(plan: Plan) -> str:
    """Return what a plan does, for the history: `2 writes, 1 run`."""
    names = [operation.name for block in plan.blocks if block.valid for operation in block.operations]
    counts = [(names.count(name), name) for name in dict.fromkeys(names)]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts)


class _Nothing:
    """Where there is no lock to hold."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Unrecorded(_Nothing):
    """Where there is no commit to make: it takes in what a recording takes, and has nothing to tell."""

    touched: list[str] | None = None
    commands = False
    ended = ""
    commits: tuple[str | None, str | None] = (None, None)
    error: Error | None = None
    notes: tuple[str, ...] = ()


# The caller's own functions.


class _Foreign(BaseException):
    """Carries what the caller's own function raised past all that deals with errors of ours."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _answering(ask: Ask) -> Ask:
    """Return what asks, and holds the answer to what an answer can be."""

    def answer(command: str, directory: str, reason: str, *, network: bool) -> str | None:
        try:
            given = ask(command, directory, reason, network=network)
            _check_answer(given)
        except Exception as error:
            raise _Foreign(error) from error
        return given

    return answer


def _check_answer(given: object) -> None:
    if given is None or given in ANSWERS:
        return
    expected = f"ask must return one of {', '.join(ANSWERS)}, or None, not {given!r}"
    raise ValueError(expected) if isinstance(given, str) else TypeError(expected)
