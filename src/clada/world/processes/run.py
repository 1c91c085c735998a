"""Runs a program to its end: streams its output in safe lines, limits it, and leaves no process behind.

    options = RunOptions(handle, 30.0, printed.extend, path=search_path(os.environ))
    result = run(["npm", "test"], Launcher(os.environ), options)

A program that cannot be started raises CladaError("exec_failed"). `capture` is for programs whose output is
not for the report, such as git.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time

from clada.errors import CladaError
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.handles import write
from clada.world.processes.children import (
    GRACE,
    MARK,
    DirectChild,
    NotStartedError,
    PipedChildren,
    cannot_start,
)
from clada.world.processes.output import OutputReader
from clada.world.processes.spawn import SpawnSpec, spawn
from clada.world.processes.supervise import SupervisedChild, start_supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from clada.world.processes.children import Child
    from clada.world.processes.output import Emit, OutputMask
    from clada.world.processes.spawn import ThreadRules

    Result = TypeVar("Result")


SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin", "/opt/homebrew/bin")
_LINUX = sys.platform == "linux"
_ATTEMPTS = 16  # to set up a sandbox: a file that it has to cover can vanish at that moment
_POLL_MS = 20  # between looks at a child, where the system cannot wake us when it ends


class RunOptions(Value):
    """How a program runs, or several in a pipeline.

    `emit` gets lines without their line breaks, with control characters escaped, as many as came at once. The
    time that it waits does not count as time of the program. Once it returns true, further output is
    discarded.
    """

    directory: int  # a handle
    timeout: float | None  # seconds
    emit: Emit
    stop: int | None = None  # a handle that becomes readable when the run must end early
    path: Sequence[str] = SYSTEM_PATH  # directories to search for the program
    mask: OutputMask | None = None  # removes secrets from each line before it is emitted


class ProcessResult(Value):
    """How a program ended: its exit code, 128 + the signal if one killed it, and what cut it short."""

    exit_code: int
    timed_out: bool = False
    cancelled: bool = False
    hint: str | None = None  # a hint at what the sandbox kept a failed program from


def find_program(name: str, path: Sequence[str] = SYSTEM_PATH) -> str:
    """Return a name with a slash as it is; else look it up in the absolute directories of the path."""
    if "/" in name:
        return name
    candidates = [f"{directory}/{name}" for directory in path if directory.startswith("/")] if name else []
    files = []
    for candidate in filter(os.path.isfile, candidates):
        if os.access(candidate, os.X_OK):
            return candidate
        files.append(candidate)
    if files:
        raise CladaError("exec_failed", f"{name} is not executable", f"found at {files[0]}")
    raise CladaError("exec_failed", f"{name} is not installed")


def _refuse_directory(name: str, here: int) -> None:
    """Raise if the name is that of a directory: the system would only say that permission is lacking."""
    try:
        mode = os.stat(name, dir_fd=here).st_mode if "/" in name else 0
    except (OSError, ValueError):
        return  # starting it will tell
    if stat.S_ISDIR(mode):
        raise CladaError("exec_failed", f"{name} is a directory", "name a program in it")


def search_path(environment: Mapping[str, str]) -> Sequence[str]:
    """Return the directories in which an environment has its programs."""
    return environment["PATH"].split(":") if environment.get("PATH") else SYSTEM_PATH


def run(argv: Sequence[str], launcher: Launcher, options: RunOptions) -> ProcessResult:
    """Run a program until it ends, is stopped or takes too long; then nothing it started is alive."""
    return run_pipeline([(argv, launcher)], options)


def run_pipeline(programs: Sequence[tuple[Sequence[str], Launcher]], options: RunOptions) -> ProcessResult:
    """Run programs at once, each reading the output of the one before, until all have ended.

    Time and output are those of all together; the exit code is that of the last one. Only a single program
    may need a supervisor or another attempt.
    """
    last = programs[-1][1]
    try:
        specs = []
        for argv, launcher in programs:
            program = find_program(argv[0], options.path)
            _refuse_directory(argv[0], options.directory)
            spec = SpawnSpec(
                program, argv, launcher.environment, options.directory, cpu_seconds=options.timeout
            )
            specs.append((spec, launcher))
        result, tail = _retry(lambda: _run_once(specs, options.replace(emit=last.listen(options.emit))))
    finally:
        for _argv, launcher in programs:
            launcher.close()
    return last.explain(result, tail)


def _retry(attempt: Callable[[], Result]) -> Result:
    """Call a function, several times while it starts nothing."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except NotStartedError:
            continue
    return attempt()


def _start_pipeline(programs: Sequence[tuple[SpawnSpec, Launcher]], sink: int) -> Child:
    """Start all programs; their errors, and the output of the last one, go to `sink`."""
    children: list[Child] = []
    reading = -1  # the output of the last one that was started
    try:
        for spec, launcher in programs[:-1]:
            following, writing = os.pipe()
            try:
                children.append(launcher.start(spec.replace(input=reading, output=writing, errors=sink)))
            finally:
                os.close(writing)  # so that the next one sees an end
                if reading >= 0:
                    os.close(reading)  # so that its writer gets SIGPIPE once this one has ended
                reading = following
        spec, launcher = programs[-1]
        if not children:
            return launcher.start(spec.replace(output=sink))
        children.append(launcher.start(spec.replace(input=reading, output=sink, errors=sink)))
    except BaseException:
        for child in children:
            child.reap()  # which ends it
        raise
    finally:
        if reading >= 0:
            os.close(reading)
    return PipedChildren(children)


def _run_once(
    programs: Sequence[tuple[SpawnSpec, Launcher]], options: RunOptions
) -> tuple[ProcessResult, list[str]]:
    """Run programs; return how they ended, and their last lines of output."""
    source, sink = os.pipe()
    output = OutputReader(source, options.emit, options.mask)
    try:
        try:
            child = _start_pipeline(programs, sink)
        finally:
            os.close(sink)  # from now on only the program can write to the pipe
        try:
            deadline = None if options.timeout is None else time.monotonic() + options.timeout
            cut = _follow(child, output, deadline, options.stop)
        finally:
            child.reap()
        output.finish()
    finally:
        output.close()
    return ProcessResult(child.exit_code(), cut == "timed out", cut == "cancelled"), output.tail


class StoppedError(CladaError):
    """The run must end, and so a program was ended."""


class Captured(Value):
    """The output of a program, and its exit code."""

    code: int
    output: bytes
    errors: bytes

    @property
    def complaint(self) -> str:
        """Its first error message, on one line."""
        lines = self.errors.decode("utf-8", "surrogateescape").splitlines()
        errors = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
        return escape_controls(errors[0]) if errors else f"exit {self.code}"


def capture(  # noqa: PLR0913 (each is a plain fact about one run, and named)
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: bytes = b"",
    rules: ThreadRules | None = None,
    stop: int | None = None,
    slow: tuple[float, Callable[[], None]] | None = None,
    grace: float = 0.0,
) -> Captured:
    """Run a program to its end, and return its output. Its input and output are files: it never waits.

    `slow` is called once after so many seconds, and may raise to end the program. If the run must end before
    the program does, that has `grace` seconds to end by itself, and then gets SIGTERM; StoppedError is
    raised where `stop` is the reason.
    """
    files: list[int] = []
    try:
        files += [_unnamed_file(stdin), _unnamed_file(), _unnamed_file()]
        spec = SpawnSpec(
            argv[0], argv, environment, -1, files[1], rules=rules, input=files[0], errors=files[2]
        )
        child = DirectChild(spawn(spec))
        try:
            if slow and not _ends(child, slow[0], stop):
                slow[1]()
            _ends(child, None, stop)
        except BaseException:
            if not _ends(child, grace, None):
                child.terminate()
                _ends(child, None, None)
            raise
        finally:
            child.reap()
        return Captured(child.exit_code(), _content(files[1]), _content(files[2]))
    finally:
        for handle in files:
            os.close(handle)


def _ends(child: DirectChild, seconds: float | None, stop: int | None) -> bool:
    """Wait so long for the end of a program; return whether it has ended. Raise if the run must end first."""
    deadline = None if seconds is None else time.monotonic() + seconds
    poll = select.poll()
    for handle in (child.handle, stop):
        if handle is not None and handle >= 0:
            poll.register(handle, select.POLLIN)
    while True:
        ready = dict(poll.poll(_milliseconds(deadline, child.handle)))
        if (child.handle in ready or child.handle < 0) and child.has_ended():
            return True
        if stop in ready:
            raise StoppedError("exec_failed", "interrupted")
        if deadline is not None and time.monotonic() >= deadline:
            return False


def _unnamed_file(content: bytes = b"") -> int:
    """Return a handle of a new file without a name that has this content."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("clada")
    else:
        import tempfile  # not at the top: it takes longer to load than a program to run

        handle, path = tempfile.mkstemp()
        os.unlink(path)
    write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _content(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


class Launcher:
    """Starts a program for one run; the subclasses in sandbox/ start it confined.

    A program that starts no others needs no supervisor to end them: it gets a limit of processor time.
    `rules` returns the restrictions of a program, by its path.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        supervised: bool = True,
        rules: Callable[[str], ThreadRules] | None = None,
    ) -> None:
        self.environment = environment
        self._supervised, self._rules = supervised, rules
        self._child: SupervisedChild | None = None

    def listen(self, emit: Emit) -> Emit:
        """Return what takes the lines of the program that is started next, and passes them on to `emit`."""
        return emit

    def start(self, spec: SpawnSpec) -> Child:
        """Start the program; raise NotStartedError where another attempt may succeed."""
        if self._rules:
            spec = spec.replace(rules=self._rules(spec.program))
        if self._supervised:
            spec = spec.replace(cpu_seconds=None)
            if _LINUX:
                spec = spec.replace(environment={**spec.environment, MARK: os.urandom(8).hex()})
                self._child = SupervisedChild(*start_supervisor(spec, self.prepare), spec)
                return self._child
        try:
            return DirectChild(spawn(spec))
        except OSError as error:
            raise cannot_start(spec.argv[0], error.errno or 0) from error

    def prepare(self) -> None:
        """Prepare for the program while its supervisor starts."""

    def close(self) -> None:
        """Clean up after success and failure; called once. Subclasses do their part first."""
        if self._child:
            self._child.wait()

    def explain(self, result: ProcessResult, tail: Sequence[str]) -> ProcessResult:
        """Return the result, with a hint if the sandbox seems to be the cause. `tail`: the last output."""
        del tail
        return result


def _follow(child: Child, output: OutputReader, deadline: float | None, stop: int | None) -> str:
    """Pass on the output until the child has ended; return what cut it short, if anything did."""
    poll = select.poll()
    for handle in (output.source, child.handle, stop):
        if handle is not None and handle >= 0:
            poll.register(handle, select.POLLIN)
    cut = ""
    while True:
        ready = dict(poll.poll(_milliseconds(deadline, child.handle)))
        if output.source in ready:
            if not output.read():
                poll.unregister(output.source)
            deadline = None if deadline is None else deadline + output.seconds_waited()
        if (child.handle in ready or child.handle < 0) and child.has_ended():
            return cut
        late = deadline is not None and time.monotonic() >= deadline
        if cut and late:
            child.kill()
            deadline = None
        elif not cut and (late or stop in ready):
            cut = "timed out" if late else "cancelled"
            child.terminate()
            deadline = time.monotonic() + GRACE
            if stop is not None:
                poll.unregister(stop)


def _milliseconds(deadline: float | None, handle: int) -> int | None:
    """Return how long to wait for an event; None for without a limit."""
    if handle < 0:
        return _POLL_MS
    if deadline is None:
        return None
    return max(0, int((deadline - time.monotonic()) * 1000) + 1)
