"""Runs a command in bubblewrap: in namespaces where it sees a read-only system around its workspace."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import Trouble, system_words
from clada.world.processes.children import DirectChild, NotStarted, cannot_start
from clada.world.processes.process_tree import (
    GIVE_UP_AFTER,
    SIGKILL,
    SIGTERM,
    descendants,
    open_pidfd,
    send_signal,
)
from clada.world.processes.running import Launcher, find_program, run
from clada.world.sandbox.guard import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.world.processes.output import Listener
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.layers import Confinement

_TMP = "/tmp"  # noqa: S108 (it is hidden, not used)
_SANDBOX = """
    --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
    --ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --tmpfs /tmp --tmpfs /run
""".split()
# Kernel settings besides those in /proc/sys that root could write even without capabilities.
_KERNEL = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")

_PRIVATE = ("/tmp/", "/run/", "/dev/", "/proc/")  # noqa: S108 (the sandbox has its own)
# /run is hidden for its sockets, except for these, read-only: some systems have their programs there, and
# with the network the names of hosts are looked up there.
_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
_RUN_NETWORK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
# In the user's home: what gives access to other machines and accounts, or names them.
CREDENTIALS = """
    .ssh .aws .azure .gnupg .kube .docker .password-store .terraform.d .vault-token .netrc .pgpass .my.cnf
    .git-credentials .npmrc .pypirc .yarnrc.yml .cargo/credentials .cargo/credentials.toml .gem/credentials
    .config/gh .config/glab-cli .config/gcloud .config/git/credentials .config/op .config/rclone .config/sops
    .config/containers .config/google-chrome .config/chromium .mozilla .local/share/keyrings
    .bash_history .zsh_history .python_history .node_repl_history
""".split()


def trouble() -> str | None:
    """Return why bubblewrap does not work here with our options, by trying it; None if it does."""
    lines: list[str] = []
    try:
        argv = [find_program("bwrap"), *_SANDBOX, "--", find_program("true")]
    except Trouble:
        return "not installed"
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        launcher = Launcher({}, supervised=False)
        result = run(argv, launcher, directory=root, timeout=5.0, max_output=1 << 12, emit=lines.append)
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
    """Start bubblewrap, which writes its JSON messages to `status`, and return its process id."""
    from clada.world.processes.spawn import spawn

    program = find_program("bwrap")
    handles = [status]
    try:
        handles.append(_filter_handle(network=confinement.network))
        options = ["--json-status-fd", "3", "--seccomp", "4", *arguments(confinement)]
        argv = [program, *options, "--", spec.program, *spec.argv[1:]]
        return spawn(spec.replace(program=program, argv=argv, handles=handles, cpu_seconds=None))
    except OSError as error:
        message = f"the sandbox could not be started: {system_words(error)}"
        raise Trouble("command_not_allowed", message) from error
    finally:
        for handle in handles[1:]:
            os.close(handle)


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


def arguments(confinement: Confinement) -> list[str]:
    """Return the options that build the sandbox. A later mount covers an earlier one."""
    workspace = confinement.workspace
    options = [*_SANDBOX, *(["--share-net"] if confinement.network else [])]
    for path in (*_KERNEL, *_RUN, *(_RUN_NETWORK if confinement.network else ()), *_programs_in_tmp()):
        options += ["--ro-bind-try", path, path]
    options += ["--bind", workspace, workspace]
    for path in _hidden(workspace):
        options += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    for option, paths in (("--ro-bind-try", confinement.read), ("--bind-try", confinement.write)):
        for path in paths:
            options += [option, path, path]
    for name in set(PROTECTED) - set(not_mountable(workspace)):
        path = os.path.join(workspace, name)
        options += ["--ro-bind", path, path]
    return options


def _programs_in_tmp() -> list[str]:
    """Return what PATH needs of /tmp, which the sandbox hides: there may be a virtual environment."""
    places = os.environ.get("PATH", "").split(":")
    directories = [os.path.normpath(place) for place in places if place.startswith(f"{_TMP}/")]
    above = {directory: os.path.dirname(directory) for directory in directories}
    return sorted({directory if parent == _TMP else parent for directory, parent in above.items()})


def not_mountable(workspace: str) -> tuple[str, ...]:
    """Return the protected names that a mount cannot protect: those that are missing or a link."""
    paths = {name: os.path.join(workspace, name) for name in PROTECTED}
    return tuple(name for name, path in paths.items() if os.path.islink(path) or not os.path.exists(path))


def _hidden(workspace: str) -> list[str]:
    """Return the credentials that exist, and the sockets on which services outside listen."""
    home = os.path.expanduser("~")
    paths = [os.path.join(home, name) for name in CREDENTIALS]
    there = dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path))
    there |= dict.fromkeys(path for path in _sockets() if not _is_in(path, workspace))
    return [
        path
        for path in there
        if _is_in(path, workspace) or not (_is_in(workspace, path) or path.startswith(_PRIVATE))
    ]


def _is_in(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory}/")


def _sockets() -> Iterator[str]:
    """Return the sockets of services: a read-only mount does not keep a command from connecting to them."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            path = line.rstrip("\n").split(" ", 7)[-1].lstrip(" 0123456789")
            if not path.startswith("/") or path.startswith(_PRIVATE):
                continue
            try:
                is_socket = stat.S_ISSOCK(os.stat(path).st_mode)
            except OSError:  # its name is gone, so nobody can connect
                continue
            if is_socket and os.access(path, os.W_OK):
                yield path


_PREFIX = "bwrap: "  # of bubblewrap's own lines
_NOT_EXECUTED = f"{_PREFIX}execvp "


class BwrapOutput:
    """Passes on what is printed, but keeps back a first line that may be bubblewrap's until that is known."""

    def __init__(self, listener: Listener) -> None:
        self.reason = ""  # the first line, if it looks like bubblewrap's
        self._listener = listener
        self._is_kept = self._is_truncated = False
        self._has_begun = False

    def emit(self, line: str) -> None:
        """Take one line. The limit of output may have left only the beginning of the first one."""
        if not self._has_begun and line and (line.startswith(_PREFIX) or _PREFIX.startswith(line)):
            self.reason = line
            self._is_kept = True
        else:
            self.release()
            self._listener.emit(line)
        self._has_begun = True

    def truncate(self) -> None:
        """Note that the rest of the output is left out."""
        if self._is_kept or not self._has_begun:
            self._is_truncated = True
        else:
            self._listener.truncated()

    def release(self) -> None:
        """Pass on what was kept back: it was the command's."""
        if self._is_kept:
            self._listener.emit(self.reason)
        if self._is_truncated:
            self._listener.truncated()
        self._is_kept = self._is_truncated = False


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
        """Return the command's exit code; raise Trouble if the sandbox failed before it was executed."""
        code = super().exit_code()
        if self._number("exit-code") is None and code < 128:  # noqa: PLR2004 (it was not killed)
            reason = self._output.reason or "it ended at once"
            if reason.startswith(_NOT_EXECUTED):
                raise Trouble("exec_failed", reason.removeprefix(_NOT_EXECUTED))
            message = f"the sandbox could not be set up, nothing was run: {reason}"
            raise NotStarted("command_not_allowed", message)
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
