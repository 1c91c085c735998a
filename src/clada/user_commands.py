"""The user's own commands around a run: --verify before and after it, and the formatters of after_edit.

They need no approval, and are confined as all commands are. What a command of --verify changes in the
workspace is put back. If one of them ends worse after the run than before it, the run is rolled back.
"""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase

from clada.errors import CladaError, Error, UsageError
from clada.model import Done, Failed
from clada.notations.write import quote_word
from clada.operations.run.body import run_commands
from clada.text.escape import escape_controls, first_few
from clada.values import Value
from clada.world.approvals import Approvals
from clada.world.files.tree import content_of
from clada.world.world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clada.model import Task
    from clada.settings import Settings

LAST_LINES, WIDEST = 50, 500  # of the output of a command that failed: lines, and characters of each
LAST_NOTED = 10  # lines of one that failed before, too
LONGEST_REASON = 200  # characters of what a formatter printed last
MOST_FILES = 200  # on one command line of a formatter
TIMED_OUT = 1 << 16  # the worst exit code


class Check(Value):
    """The end of a command: its exit code, and the error and output of a failure."""

    exit_code: int
    error: Error | None = None
    output: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The end in words, for messages."""
        return "timed out" if self.exit_code == TIMED_OUT else f"exit {self.exit_code}"


class Verifier:
    """Runs the commands, and compares how they end before and after."""

    def __init__(self, world: World, tell: Callable[[Sequence[str]], None]) -> None:
        self._world, self._tell = world, tell
        self._before: list[tuple[str, Check]] = []
        self.error: Error | None = None  # why the run is rolled back

    def before(self) -> None:
        """Run all commands; raise CladaError if one cannot be run, or takes too long."""
        for command in self._world.settings.verify:
            check = self._check(command)
            if check.exit_code == TIMED_OUT:
                message = f"`{command}` {check.error.message if check.error else ''}, before any change"
                raise CladaError("exec_timeout", message, "--timeout=5m gives it more time")
            self._before.append((command, check))

    def after(self) -> bool:
        """Run all commands again; return whether all are as good as before, and say so."""
        for command, before in self._before:
            try:
                check = self._check(command)
            except CladaError as raised:
                check = Check(TIMED_OUT, raised.error)
            ended = f"{command} (before: {before.words}, after: {check.words})"
            if check.exit_code and (self._world.settings.verify_strict or check.exit_code > before.exit_code):
                hint = check.error.hint if check.error else None
                message = f"verify failed, everything was rolled back: {ended}"
                self.error = Error("exec_failed", message, hint, details="\n".join(check.output))
                return False
            shown = [f"[verify] {line}" for line in check.output[-LAST_NOTED:]]
            self._tell([f"{'still fails' if check.exit_code else 'verified'}: {ended}", *shown])
        return True

    def _check(self, command: str) -> Check:
        """Run a command, and put back what it changes; raise CladaError if it cannot be run."""
        world = _world_of_user(self._world, command)
        world.drops_writes = True
        record = self._world.recording
        assert record  # noqa: S101 (for type checkers: a run that is verified is recorded)
        self._world.files.flush()
        mark = record.mark()
        try:
            outcome = run_commands(world, command, None)
        except CladaError as raised:
            error = raised.error
            raise CladaError(error.type, f"--verify: {error.message}", error.hint) from None
        finally:
            record.end_mark(mark, keep=False)
            self._world.note_file_changes()
        if world.dropped:
            self._tell([f"put back, because `{command}` is only to verify: {first_few(world.dropped)}"])
        if isinstance(outcome, Done):
            return Check(0)
        if not isinstance(outcome, Failed):
            return Check(TIMED_OUT)  # interrupted
        return _failed_check(outcome, world)


def refuse_unapproved(settings: Settings) -> None:
    """Raise UsageError if a command is not approved: for front ends that apply answers unattended."""
    known = Approvals.load(settings.workspace)
    for command in settings.verify:
        approved = settings.approve_all or command in settings.approve or known.is_approved(command)
        if not approved or known.is_blocked(command):
            message = f"--verify: `{command}` is not approved, and no person is asked here"
            raise UsageError(message, f"clada approvals add {shlex.quote(command)}")


def _world_of_user(world: World, command: str) -> World:
    """Return a world in which this command of the user's is approved, and whose output is kept apart."""
    settings: Settings = world.settings
    given = {"approve": (*settings.approve, command), "shell": "approved"}
    settings = settings.replace(**given)
    made = World(world.files, settings, lambda _event: None, stop=world.stop)
    made.recording, made.takes_back, made.deadline = world.recording, world.takes_back, world.deadline
    made.noted = world.noted
    return made


def _failed_check(outcome: Failed, world: World) -> Check:
    lines = [line for line in world.output if line is not None]
    output = tuple(line[:WIDEST] for line in lines[-LAST_LINES:])
    if outcome.exit_code is None and outcome.error.type != "exec_timeout":
        raise CladaError(outcome.error.type, f"--verify: {outcome.error.message}", outcome.error.hint)
    is_late = outcome.error.type == "exec_timeout"
    return Check(TIMED_OUT if is_late else outcome.exit_code or 1, outcome.error, output)


def format_changed(world: World, tasks: Iterable[Task], tell: Callable[[Sequence[str]], None]) -> None:
    """Run the formatter of each changed file; say what it changed, or why it failed."""
    done = [task.outcome for task in tasks if isinstance(task.outcome, Done)]
    paths = dict.fromkeys(change.path for outcome in done for change in outcome.changes)
    for pattern, command in world.settings.after_edit.items():
        matching = [
            path for path in paths if any(fnmatchcase(name, pattern) for name in (path, path.split("/")[-1]))
        ]
        before = {path: data for path in matching if (data := content_of(world.files, path)) is not None}
        names = list(before)
        for start in range(0, len(names), MOST_FILES):
            failure = _run_formatter(world, command, names[start : start + MOST_FILES])
            if failure:
                tell([f"`{command}` failed: {failure}"])
                break
        changed = [path for path, data in before.items() if content_of(world.files, path) != data]
        if changed:
            tell([f"formatted by `{command}`: {first_few(changed, 10)}"])


def _run_formatter(world: World, command: str, names: Sequence[str]) -> str:
    """Run a formatter on files; return why it failed, or nothing."""
    text = f"{command} {' '.join(map(quote_word, names))}"
    own = _world_of_user(world, text)
    try:
        outcome = run_commands(own, text, None)
    except CladaError as raised:
        return raised.error.sentence
    finally:
        world.note_file_changes()
    if not isinstance(outcome, Failed):
        return ""
    last = next((line for line in reversed(own.output) if line and line.strip()), "")
    return f"{outcome.error.sentence}{f': {escape_controls(last[:LONGEST_REASON])}' if last else ''}"
