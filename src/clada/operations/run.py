"""run: commands, one after the other until one fails, without a shell."""

from __future__ import annotations

import os

from clada.commands.judgements import Allowed, BuiltIn
from clada.model import Change, Done, Failed, Outcome, Output, Skipped, Truncated
from clada.operations.builtins import run as run_builtin
from clada.operations.permission import Approved, Step, Unapproved, note_once, permitted
from clada.problems import Error, Trouble
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from clada.operations import World
    from clada.world.confinement import Confinement
    from clada.world.paths import Parts
    from clada.world.processes import Ended

READER_SECONDS, READER_OUTPUT = 5.0, 10 << 20  # of allowed programs, fixed
TAIL = 20  # lines of a failed command's output that `full` shows again


class Limits(Value):
    """How long a program may take, and how many bytes of its output are kept."""

    seconds: float
    output: int


def apply(world: World, fields: Mapping[str, Any]) -> Outcome:
    """Check all of a run, then carry it out."""
    body = fields["command"]
    here = _directory(world, fields.get("dir"))
    steps = permitted(world, body, os.path.join(world.files.root, *here))
    return _Run(world, body, here).through(steps)


def _directory(world: World, path: str | None) -> Parts:
    here = world.files.locate_directory(path) if path is not None else ()
    entry = world.files.entry(here)
    if entry is None:
        raise Trouble("file_not_found", f"no such directory: {path}")
    if entry.kind == "link":
        raise Trouble("symlink_not_allowed", f"{path} is a symbolic link")
    if entry.kind != "directory":
        raise Trouble("file_not_found", f"not a directory: {path}")
    return here


class _Run:
    """One run on its way: where it is, what it has changed, and the end of its output."""

    def __init__(self, world: World, body: str, here: Parts) -> None:
        self.world, self.body, self.here = world, body, here
        self.changes: list[Change] = []
        self.tail: list[str] = []

    def through(self, steps: Sequence[Step]) -> Outcome:
        for step in steps:
            try:
                ended = self._step(step)
            except Trouble as trouble:
                return Failed(trouble.error, changes=tuple(self.changes))
            if ended:
                return ended
        return Done("ran", self.body, exit_code=0, changes=tuple(self.changes))

    def _step(self, step: Step) -> Outcome | None:
        how = step.how
        if isinstance(how, BuiltIn):
            ran = run_builtin(how, self.world.files, self.here, self._emit)
            self.here = ran.here
            self.changes += ran.changes
            return self._exited(ran.exit_code) if ran.exit_code else None
        if isinstance(how, Unapproved):
            return Skipped(f"not run in a dry run: it would need approval ({how.reason})")
        if self.world.settings.dry_run:
            return Skipped("not run in a dry run: it needs no approval")
        ended = self._read(how) if isinstance(how, Allowed) else self._run(how)
        return self._judged(ended, how)

    def _read(self, how: Allowed) -> Ended:
        """Run an allowed program, which only reads."""
        for path in how.paths:
            _check_operand(self.world, path, self.here)
        argv, environment = _command_line(self.world, how)
        if how.whole_repository:
            self.world.ran = True
        limits = Limits(READER_SECONDS, READER_OUTPUT)
        return self._process(argv, environment, limits, _reading(self.world), supervised=False)

    def _run(self, how: Approved) -> Ended:
        world, settings = self.world, self.world.settings
        confinement = _confinement(world, network=how.network)
        world.confinement = confinement.layer if confinement else "none"
        world.ran = True
        limits = Limits(settings.timeout, settings.max_output)
        return self._process(how.argv, os.environ, limits, confinement, supervised=True)

    def _process(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        limits: Limits,
        confinement: Confinement | None,
        *,
        supervised: bool,
    ) -> Ended:
        from clada.world.processes import run

        world = self.world
        remaining = world.remaining()
        directory = world.files.handle(self.here)
        world.files.forget()
        try:
            return run(
                argv,
                directory=directory,
                environment=environment,
                timeout=limits.seconds if remaining is None else max(0.0, min(limits.seconds, remaining)),
                max_output=limits.output,
                emit=self._emit,
                truncated=self._truncate,
                stop=world.stop.handle if world.stop else None,
                supervised=supervised,
                confinement=confinement,
            )
        finally:
            os.close(directory)

    def _emit(self, line: str) -> None:
        self.tail = [*self.tail[1 - TAIL :], line]
        self.world.emit(Output(self.world.label, line))

    def _truncate(self) -> None:
        self.world.truncated = True
        self.world.emit(Truncated(self.world.label))

    def _judged(self, ended: Ended, how: Allowed | Approved) -> Outcome | None:
        if ended.cancelled:
            return self._failed("exec_failed", "interrupted", ended.exit_code)
        if ended.timed_out:
            remaining = self.world.remaining()
            if remaining is not None and remaining <= 0:
                return self._failed("exec_timeout", "the total timeout was reached", ended.exit_code)
            seconds = READER_SECONDS if isinstance(how, Allowed) else self.world.settings.timeout
            return self._failed("exec_timeout", f"took longer than {seconds:g}s", ended.exit_code)
        if not ended.exit_code:
            return None
        meanings = how.exit_meanings if isinstance(how, Allowed) else {}
        return self._exited(ended.exit_code, meanings.get(ended.exit_code), ended.lacked)

    def _exited(self, code: int, meaning: str | None = None, hint: str | None = None) -> Failed:
        message = f"exit code {code}" + (f": {meaning}" if meaning else "")
        return self._failed("exec_failed", message, code, hint)

    def _failed(self, type_: str, message: str, code: int, hint: str | None = None) -> Failed:
        details = "\n".join(self.tail) or None
        return Failed(Error(type_, message, hint, details=details), code, tuple(self.changes))


def _check_operand(world: World, path: str, here: Parts) -> None:
    """Hold the operand of a program to the rules of file operations."""
    entry = world.files.entry(world.files.locate(path, here))
    if entry and entry.kind == "link":
        raise Trouble("symlink_not_allowed", f"{path} is a symbolic link")
    if entry and entry.kind == "other":
        raise Trouble("permission_denied", f"{path} is not a regular file")


def _command_line(world: World, how: Allowed) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the words and the environment of an allowed program; git's with all that keeps it harmless."""
    if how.program != "git":
        return how.argv, os.environ
    from clada.world import git, repository

    found = repository.find(world.files.root)
    if how.whole_repository and found.prefix:
        raise Trouble("command_not_allowed", "git stash would change files outside of the workspace")
    return git.hardened(how.argv[1:], found)


def _reading(world: World) -> Confinement | None:
    if world.settings.sandbox == "off" or world.settings.allow_escape:
        return None
    from clada.world.confinement import Confinement, has_landlock

    return Confinement("landlock", world.files.root, read_only=True) if has_landlock() else None


def _confinement(world: World, *, network: bool) -> Confinement | None:
    """Return how an approved command is confined, as far as this machine can."""
    settings = world.settings
    if settings.sandbox == "off":
        return None
    from clada.world.confinement import Confinement, available

    layer = available()
    if layer == "none":
        if settings.sandbox == "require":
            raise Trouble("command_not_allowed", "this machine has no sandbox", "see clada doctor")
        note_once(world, "commands run unsandboxed: this machine has neither bubblewrap nor Landlock")
        return None
    return Confinement(
        layer,
        world.files.root,
        network=network,
        write=tuple(settings.sandbox_write),
        read=tuple(settings.sandbox_read),
        hide=tuple(settings.sandbox_env_hide),
    )
