"""Runs a command in bubblewrap: in namespaces where it sees its workspace, the system and an empty home."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import CladaError, system_words
from clada.world.processes.children import (
    GIVE_UP_AFTER,
    SIGKILL,
    SIGTERM,
    DirectChild,
    NotStartedError,
    cannot_start,
    descendants,
    open_pidfd,
    send_signal,
)
from clada.world.processes.run import Launcher, find_program, run
from clada.world.sandbox import visible
from clada.world.sandbox.guard import PROTECTED, folders_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clada.world.processes.output import Emit
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.layers import Confinement

_SANDBOX = """
    --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
""".split()
_OWN = "--dev /dev --proc /proc --tmpfs /tmp --tmpfs /run --tmpfs /var/tmp --symlink ../run /var/run".split()
# Comes last: there are many mounts below it, and bubblewrap reads the list of all for each that it makes.
_MACHINE = "/sys"
_PIPE = 1 << 16  # bytes that a pipe can hold
_TRIES = 3  # where something vanishes each time
_PRIVATE = ("/tmp", "/run", "/var/tmp", "/dev", "/proc")  # noqa: S108 (the sandbox has its own)


def trouble() -> str | None:
    """Return why bubblewrap does not work here with our options, by trying it; None if it does.

    What is to be hidden may be gone by the time that it is mounted over, as services come and go: then that
    says nothing about bubblewrap, and it is tried again.
    """
    try:
        programs = find_program("bwrap"), find_program("true")
    except CladaError:
        return "not installed"
    problem: str | None = None
    tried: list[str] = []
    for _ in range(_TRIES):
        options = _system(visible.listening())
        if options == tried:
            break
        tried, problem = options, _try(*programs, options)
        if problem is None:
            break
    return problem


def _try(bwrap: str, true: str, options: Sequence[str]) -> str | None:
    """Return why bubblewrap does not work with these options; None if it does."""
    lines: list[str] = []
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        argv = [bwrap, *_SANDBOX, *_OWN, *options, "--", true]
        launcher = Launcher({}, supervised=False)
        result = run(argv, launcher, directory=root, timeout=5.0, emit=lines.extend)
    finally:
        os.close(root)
    return None if result.exit_code == 0 else (lines or ["no reason given"])[0].removeprefix("bwrap: ")


def start(spec: SpawnSpec, confinement: Confinement, output: BwrapOutput) -> BwrapProcess:
    """Start a program in the sandbox; nothing is started if that fails."""
    if problem := _execute_errno(spec):
        raise cannot_start(spec.argv[0], problem)
    status, status_writer = os.pipe()
    try:
        return BwrapProcess(_spawn(spec, confinement, status_writer), status, output)
    except BaseException:
        os.close(status)
        raise
    finally:
        os.close(status_writer)


def _spawn(spec: SpawnSpec, confinement: Confinement, status: int) -> int:
    """Start bubblewrap, which writes its JSON messages to `status`, and return its process id.

    What the command sees is looked up while bubblewrap starts, and sent after it: that saves half a
    millisecond. Until it has all of it, nothing is there that could be executed.
    """
    from clada.world.processes.spawn import spawn

    program = find_program("bwrap")
    source, sink = os.pipe()
    handles = [status, source]
    try:
        handles.append(_filter_handle(network=confinement.network))
        network = ["--share-net"] if confinement.network else []
        options = ["--json-status-fd", "3", *_SANDBOX, *network, "--args", "4", "--seccomp", "5"]
        argv = [program, *options, "--", spec.program, *spec.argv[1:]]
        pid = spawn(spec.replace(program=program, argv=argv, handles=handles, cpu_seconds=None))
        try:
            _send(sink, mounts(confinement, spec.environment.get("PATH", ""), spec.program))
        except BaseException:
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            raise
    except OSError as error:
        message = f"the sandbox could not be started: {system_words(error)}"
        raise CladaError("command_not_allowed", message) from error
    finally:
        for handle in (*handles[1:], sink):
            os.close(handle)
    return pid


def _send(sink: int, options: Sequence[str]) -> None:
    """Write options to an empty pipe, all at once: if clada is killed, a part must not pass for all."""
    data = os.fsencode("\0".join(options) + "\0")
    if data.count(b"\0") != len(options):
        raise OSError(errno.EINVAL, "a path contains a NUL character")
    if len(data) > _PIPE:
        import fcntl

        fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, len(data))
    try:
        os.write(sink, data)
    except BrokenPipeError:  # it has ended, and its exit code will tell
        return


def _execute_errno(spec: SpawnSpec) -> int:
    """Return the errno that executing the program would fail with, or 0: bubblewrap would only print it."""
    try:
        found = os.stat(spec.program, dir_fd=spec.directory)
    except OSError as error:
        return error.errno or errno.ENOENT
    runnable = stat.S_ISREG(found.st_mode) and os.access(spec.program, os.X_OK, dir_fd=spec.directory)
    return 0 if runnable else errno.EACCES


def _filter_handle(*, network: bool) -> int:
    from clada.world.sandbox.seccomp import filter_program

    handle = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(handle, filter_program(network=network, shared=False))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def bare_mounts() -> list[str]:
    """Return the options for a command that sees the system only."""
    return [*_OWN, *_system(visible.listening()), "--remount-ro", "/"]


def mounts(confinement: Confinement, path: str, program: str) -> list[str]:
    """Return the options for all that the command sees. A later mount covers an earlier one."""
    home, programs, listening = visible.home(), visible.programs(path, program), visible.listening()
    opened = sorted(_open(confinement, home, programs), key=lambda mount: mount[-1].count("/"))
    late = [] if any(visible.is_in(mount[-1], _MACHINE) for mount in opened) else [_MACHINE]
    options = [*_OWN, *_system(listening, without=late)]
    options += _bound("--ro-bind-try", visible.NETWORK if confinement.network else ())
    for mount in opened:
        options += mount
    options += _hidden(_closed(confinement, programs, listening))
    if home == confinement.workspace:
        options += _covered(confinement.workspace)
        options += _bound("--ro-bind-try", confinement.read) + _bound("--bind-try", _writable(confinement))
    return [*options, *_protected(confinement), *_bound("--ro-bind-try", late), "--remount-ro", "/"]


def _open(confinement: Confinement, home: str, programs: Iterable[str]) -> Iterable[Sequence[str]]:
    """Return the options for what is open; of those for the same place, the last one counts."""
    workspace = confinement.workspace
    if _can_be_private(home):
        yield "--tmpfs", home
    for place in programs:
        if not visible.is_in(place, workspace):  # there it could not be written any more
            yield "--ro-bind-try", place, place
    for option, places in (("--ro-bind-try", confinement.read), ("--bind-try", _writable(confinement))):
        for place in places:
            yield option, place, place
    yield (("--overlay", confinement.overlay) if confinement.overlay else ("--bind", workspace)) + (
        workspace,
    )


def _writable(confinement: Confinement) -> Sequence[str]:
    """Return what can be written outside of the workspace; what lies in an overlay must not lead past it."""
    if not confinement.overlay:
        return confinement.write
    return [path for path in confinement.write if not visible.is_in(path, confinement.workspace)]


def _closed(confinement: Confinement, programs: Iterable[str], listening: Sequence[str]) -> Iterator[str]:
    """Yield what is hidden of what is open: sockets of services, but for those where the command writes."""
    own = (confinement.workspace, *confinement.write)
    for path in visible.closed_in(programs, confinement.read, listening):
        has_own = any(visible.is_in(place, path) for place in (*own, *confinement.read))
        if not has_own and not any(visible.is_in(path, place) for place in own):
            yield path


def _protected(confinement: Confinement) -> list[str]:
    """Return the options that make repositories and approvals read-only.

    The folders above them become mounts too: those cannot be moved away, with another one put in their place.
    """
    names = confinement.protected
    paths = sorted(set(names) - set(not_mountable(confinement.workspace, names)))
    option = "--bind-inside" if confinement.overlay else "--bind"
    above = _bound(option, (f"{confinement.workspace}/{path}" for path in folders_above(paths)))
    return above + _bound("--ro-bind", (f"{confinement.workspace}/{path}" for path in paths))


def _bound(option: str, paths: Iterable[str]) -> list[str]:
    return [word for path in paths for word in (option, path, path)]


def _system(listening: Sequence[str], without: Sequence[str] = ()) -> list[str]:
    """Return the options for the system's own directories; root's rights in them are taken away."""
    options: list[str] = []
    for path in visible.system():
        if path in without:
            continue
        is_link = os.path.islink(path)
        options += ["--symlink", os.readlink(path), path] if is_link else ["--ro-bind", path, path]
    options += _hidden(visible.closed_places(listening))
    if os.geteuid():
        return options
    closed = _hidden(path for path in visible.ROOT_ONLY if os.path.exists(path))
    # There are settings of the kernel that root could write even without capabilities.
    return [*options, *closed, "--remount-ro", "/proc"]


def _hidden(paths: Iterable[str]) -> list[str]:
    return [
        word
        for path in paths
        for word in (("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path))
    ]


def _can_be_private(home: str) -> bool:
    """Return whether an empty home can be put in the place of this one."""
    if home in ("/", *_PRIVATE) or visible.is_in(home, "/dev") or visible.is_in(home, "/proc"):
        return False
    near = (path for path in visible.ALL_SYSTEM if visible.is_in(home, path) or visible.is_in(path, home))
    within = list(filter(os.path.lexists, near))
    return not within or (os.path.isdir(home) and home not in within)


def _covered(home: str) -> list[str]:
    """Hide the settings in a home that is the workspace."""
    names = [name for name in os.listdir(home) if name.startswith(".") and name not in PROTECTED]
    return _hidden(path for path in (f"{home}/{name}" for name in sorted(names)) if not os.path.islink(path))


def not_mountable(workspace: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the protected paths that a mount cannot protect: those that are missing or a link."""
    paths = {name: os.path.join(workspace, name) for name in names}
    return tuple(name for name, path in paths.items() if os.path.islink(path) or not os.path.exists(path))


_PREFIX = "bwrap: "  # of bubblewrap's own lines
_NOT_EXECUTED = f"{_PREFIX}execvp "
_CLOSED = "what it needs may lie where commands cannot read: sandbox_read names more"


class BwrapOutput:
    """Passes on what is printed, but keeps back a first line that may be bubblewrap's until that is known."""

    def __init__(self, emit: Emit) -> None:
        self.reason = ""  # the first line, if it looks like bubblewrap's
        self._emit = emit
        self._is_kept = self._has_begun = False

    def emit(self, lines: list[str]) -> bool | None:
        """Take lines; return whether there are enough."""
        if not self._has_begun and lines[0].startswith(_PREFIX):
            self.reason, lines = lines[0], lines[1:]
            self._is_kept = True
        self._has_begun = True
        if not lines:
            return False
        self.release()
        return self._emit(lines)

    def release(self) -> None:
        """Pass on what was kept back: it was the command's."""
        if self._is_kept:
            self._emit([self.reason])
        self._is_kept = False


class BwrapProcess(DirectChild):
    """A command in bubblewrap: when the first process of its namespace ends, all others in it do."""

    def __init__(self, pid: int, status: int, output: BwrapOutput) -> None:
        super().__init__(pid)
        self._status_pipe = status
        self._output = output
        self._messages = ""

    def terminate(self) -> None:
        """Ask each process inside to end; the first one of the namespace would not pass on the signal."""
        send_signal(descendants(self._pid), SIGTERM)

    def kill(self) -> None:
        """End the namespace."""
        send_signal(descendants(self._pid), SIGKILL)
        super().kill()

    def reap(self) -> None:
        """Wait until the namespace is gone, which takes a moment after bubblewrap itself has ended."""
        super().reap()
        os.set_blocking(self._status_pipe, False)
        try:
            self._messages = os.read(self._status_pipe, 1 << 12).decode("ascii", "replace")
        except BlockingIOError:  # it was killed before it could write anything
            self._messages = ""
        os.close(self._status_pipe)
        if first := self._number("child-pid"):
            _wait_for_end(first, GIVE_UP_AFTER)

    def exit_code(self) -> int:
        """Return the command's exit code; raise CladaError if the sandbox failed before it was executed."""
        code = super().exit_code()
        if self._number("exit-code") is None and code < 128:  # noqa: PLR2004 (it was not killed)
            reason = self._output.reason or "it ended at once"
            if reason.startswith(_NOT_EXECUTED):
                raise CladaError("exec_failed", reason.removeprefix(_NOT_EXECUTED), _CLOSED)
            message = f"the sandbox could not be set up, nothing was run: {reason}"
            raise NotStartedError("command_not_allowed", message)
        self._output.release()
        return code

    def _number(self, key: str) -> int | None:
        """Return a number from bubblewrap's JSON messages; importing json costs more than this."""
        digits = self._messages.partition(f'"{key}": ')[2]
        end = next((at for at, letter in enumerate(digits) if not letter.isdigit()), len(digits))
        return int(digits[:end]) if end else None


def _wait_for_end(pid: int, seconds: float) -> None:
    """Wait until a process has ended that is not our child."""
    import select

    handle = open_pidfd(pid)
    if handle < 0:
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    poll.poll(int(seconds * 1000))
    os.close(handle)
