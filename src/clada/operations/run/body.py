"""Run the commands of one task, one after the other until one fails."""

from __future__ import annotations

import os

from clada.commands.judgements import Allowed, BuiltIn, Piped
from clada.errors import CladaError, Error
from clada.model import Change, Done, Failed, Outcome, Output, OutputTruncated, Skipped, output_prefix
from clada.operations import builtins
from clada.operations.run import launch, operands
from clada.operations.run.permission import permit_commands
from clada.world.files.paths import display_path
from clada.world.processes.run import RunOptions, run_pipeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.operations.run.launch import Program
    from clada.operations.run.permission import Approved, How, Permit
    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry
    from clada.world.processes.run import ProcessResult
    from clada.world.sandbox.overlay import CommandOverlay
    from clada.world.world import World

INTERRUPTED = "interrupted"
TAIL = 20  # last lines of a failed command's output, for --error-detail=full
WIDEST = 200  # characters of a command in an error


def run_commands(world: World, body: str, directory: str | None) -> Outcome:
    """Check all commands of a body, then carry them out."""
    here = _directory(world, directory)
    permit = permit_commands(world, body, here)
    if isinstance(permit, Skipped):
        return permit
    return _Body(world, body, here, permit).outcome()


def _directory(world: World, path: str | None) -> Parts:
    """Return the directory in which a run starts; an error names `dir`."""
    if path is None:
        return ()
    try:
        here = world.files.locate_directory(path)
        _check_directory(world.files.entry(here))
    except CladaError as raised:
        raise operands.with_operand(raised, f"dir={path}") from None
    return here


def _check_directory(entry: Entry | None) -> None:
    if entry is None:
        raise CladaError("file_not_found", "no such directory")
    if entry.kind == "link":
        raise CladaError("symlink_not_allowed", "is a symbolic link")
    if entry.kind != "directory":
        raise CladaError("file_not_found", "is not a directory")


class _Body:
    """The state of one run: its directory, its changes, and its output."""

    def __init__(self, world: World, body: str, here: Parts, permit: Permit) -> None:
        self.world, self.body, self.here, self.permit = world, body, here, permit
        self.changes: list[Change] = []
        self.printed = Printed(world)
        # The limit of all built-in and approved commands together.
        self.shared = Allowance(self.printed, world.settings.max_output)

    def outcome(self) -> Outcome:
        """Carry out the commands until one fails; return the outcome."""
        for text, how in self.permit.commands:
            ended = self._check_stop() or self._name_command(text, self._try(how))
            if ended:
                return ended
        return Done("ran", self.body, exit_code=0, changes=tuple(self.changes))

    def _try(self, how: How) -> Outcome | None:
        try:
            return self._carry_out(how)
        except CladaError as raised:
            return self._failure(raised.error)

    def _check_stop(self) -> Failed | None:
        reason = self.world.stop_reason()
        if not reason:
            return None
        return self._failure(Error("exec_failed" if reason == INTERRUPTED else "exec_timeout", reason))

    def _carry_out(self, how: How) -> Outcome | None:
        """Carry out one command; return the outcome if the run ends with it."""
        if isinstance(how, BuiltIn):
            return self._run_built_in(how)
        dry_run = self.world.settings.dry_run
        if isinstance(how, Allowed | Piped):
            readers = how.parts if isinstance(how, Piped) else (how,)
            for reader in readers:
                operands.check(self.world.files, reader, self.here)
            return self._skip_in_dry_run() if dry_run else self._run_readers(readers)
        return self._skip_in_dry_run() if dry_run else self._run_approved(how)

    def _skip_in_dry_run(self) -> Skipped:
        lacking = self.permit.lacking
        reason = f"not run in a dry run: {lacking.message if lacking else 'needs no approval'}"
        return Skipped(reason, left_out=True, needs_approval=lacking.reason if lacking else None)

    def _run_built_in(self, how: BuiltIn) -> Failed | None:
        self.world.note_file_changes()
        ran = builtins.run(how, self.world.files, self.here, self._print)
        self.here = ran.here
        self.changes += ran.changes
        if ran.refused:
            return self._failure(ran.refused)
        return self._exit_failure(ran.exit_code) if ran.exit_code else None

    def _print(self, line: str) -> None:
        self.shared.emit([self.world.secrets.mask(line)])

    def _run_readers(self, parts: Sequence[Allowed]) -> Failed | None:
        """Run an allowed program, or several in a pipeline: their time and output are limited together."""
        self.world.secrets.refresh()
        programs = [launch.reader_program(self.world, part, self.here) for part in parts]
        self.world.confinement = self.world.confinement or programs[0].layer
        allowance = Allowance(self.printed, launch.READER_OUTPUT)
        if not parts[0].whole_repository:
            return self._start(programs, allowance)
        self.world.note_file_changes()
        launch.scan_before(self.world)
        try:
            return self._start(programs, allowance)
        finally:
            launch.scan_after(self.world, stash=True)

    def _run_approved(self, how: Approved) -> Failed | None:
        self.world.secrets.refresh()
        overlay = launch.overlay_for(self.world)
        program = launch.approved_program(self.world, how, overlay)
        self.world.confinement = program.layer
        if overlay:
            return self._run_on_overlay(program, overlay)
        launch.scan_before(self.world)
        try:
            return self._start([program], self.shared)
        finally:
            self.world.note_file_changes()
            launch.scan_after(self.world)
            launch.report_new_executables(self.world)

    def _run_on_overlay(self, program: Program, overlay: CommandOverlay) -> Failed | None:
        """Run a program on an overlay, which is applied if it succeeds, and dropped if it fails."""
        self.world.files.flush()
        try:
            overlay.make()
            overlay.begin()
            failed = self._start([program], self.shared)
            self.world.note_file_changes()
            if self.world.drops_writes:
                launch.drop_writes(self.world, overlay)
            elif failed is None:
                launch.put_in_place(self.world, overlay)
                launch.report_new_executables(self.world)
        finally:
            overlay.remove()
        return failed

    def _start(self, programs: Sequence[Program], allowance: Allowance) -> Failed | None:
        """Run a program, or several in a pipeline."""
        bounded = programs[-1].within(self.world.remaining())
        directory = self._handle()
        try:
            options = RunOptions(
                directory,
                bounded.seconds,
                allowance.emit,
                stop=self.world.stop.handle if self.world.stop else None,
                path=bounded.path,
                mask=self.world.secrets.mask,
            )
            ended = run_pipeline([(program.argv, program.launcher()) for program in programs], options)
        finally:
            os.close(directory)
        return self._judge_result(bounded, ended)

    def _handle(self) -> int:
        """Return a handle of the current directory, which may have been removed by now."""
        files = self.world.files
        try:
            return files.handle(self.here)
        except CladaError as raised:
            message = f"cannot run in {display_path(self.here)}: {raised.error.message}"
            raise CladaError(raised.error.type, message) from None
        finally:
            files.forget()

    # How it ends.

    def _name_command(self, text: str, ended: Outcome | None) -> Outcome | None:
        """Name the command that failed, if there are several; an interrupt is not its failure."""
        alone = len(self.permit.commands) == 1
        if alone or not isinstance(ended, Failed) or ended.error.message == INTERRUPTED:
            return ended
        which = f"the command was `{text if len(text) <= WIDEST else f'{text[:WIDEST]}…'}`"
        hint = f"{which}; {ended.error.hint}" if ended.error.hint else which
        return ended.replace(error=ended.error.replace(hint=hint))

    def _judge_result(self, program: Program, ended: ProcessResult) -> Failed | None:
        code = ended.exit_code
        if ended.cancelled:
            return self._failure(Error("exec_failed", INTERRUPTED, ended.hint), code)
        if ended.timed_out:
            return self._failure(Error("exec_timeout", program.timeout_message, ended.hint), code)
        return self._exit_failure(code, program.meanings.get(code), ended.hint) if code else None

    def _exit_failure(self, code: int, meaning: str | None = None, hint: str | None = None) -> Failed:
        message = f"exit code {code}" + (f": {meaning}" if meaning else "")
        return self._failure(Error("exec_failed", message, hint), code)

    def _failure(self, error: Error, code: int | None = None) -> Failed:
        return Failed(error.replace(details=self.printed.tail), code, tuple(self.changes))


# Output.


class Printed:
    """The output of one run."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._tail: list[str] = []
        self.overhead = len(output_prefix(world.label)) + 1  # of each line, with its line break

    @property
    def tail(self) -> str | None:
        """The last lines, or None."""
        return "\n".join(self._tail) or None

    def emit(self, lines: Sequence[str]) -> None:
        """Pass on lines."""
        self._tail = [*self._tail, *lines[-TAIL:]][-TAIL:]
        self._world.keep(lines)
        self._world.emit(Output(self._world.label, tuple(lines)))

    def truncate(self) -> None:
        """Report that output was cut off."""
        self._world.keep([], cut=True)
        self._world.emit(OutputTruncated(self._world.label))


class Allowance:
    """The bytes that one program, or several, may still print, with prefixes and line breaks."""

    def __init__(self, printed: Printed, left: int) -> None:
        self._printed, self._left = printed, left
        self._is_reported = False

    def emit(self, lines: list[str]) -> bool:
        """Pass on lines as far as they fit; return whether that exceeds the limit."""
        size = len("".join(lines).encode()) + len(lines) * self._printed.overhead
        if size <= self._left:
            self._left -= size
            self._printed.emit(lines)
            return False
        fitting = self._fitting(lines)
        if fitting:
            self._printed.emit(fitting)
        self._left = 0
        if not self._is_reported:  # reported once for all programs that share it
            self._printed.truncate()
        self._is_reported = True
        return True

    def _fitting(self, lines: list[str]) -> list[str]:
        """Return the lines that fit, and the part of the next one that fits, cut between two characters."""
        room = self._left
        for number, line in enumerate(lines):
            data = line.encode()
            room -= len(data) + self._printed.overhead
            if room < 0:
                part = data[: max(0, len(data) + room)].decode(errors="ignore")
                return [*lines[:number], part] if part else lines[:number]
        return lines
