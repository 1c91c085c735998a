"""Confinement of commands: bubblewrap where it works, else Landlock and seccomp, else none.

    layer = available()                                   # "bubblewrap", "landlock" or "none"
    run(argv, …, confinement=Confinement(layer, "/path/to/workspace", network=False))

A reader that starts no programs runs under `Confinement("landlock", workspace, read_only=True)`, where
`has_landlock()`. `Ended.lacked` says what a failed command seems to have lacked; a command that changed
`.git` or `.clada` all the same raises Trouble("permission_denied") after it was undone, and a sandbox
that cannot be set up Trouble("command_not_allowed").
"""

from __future__ import annotations

import os
import stat
import sys

from clada.problems import Trouble
from clada.values import Value
from clada.world.guard import IGNORED, PROTECTED, Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from clada.world.children import Child
    from clada.world.spawn import Order

    Layer = Literal["bubblewrap", "landlock", "none"]

# In the user's home: what gives access to other machines and accounts, or tells of them.
CREDENTIALS = """
    .ssh .aws .azure .gnupg .kube .docker .password-store .terraform.d .vault-token .netrc .pgpass .my.cnf
    .git-credentials .npmrc .pypirc .yarnrc.yml .cargo/credentials .cargo/credentials.toml .gem/credentials
    .config/gh .config/glab-cli .config/gcloud .config/git/credentials .config/op .config/rclone .config/sops
    .config/containers .config/google-chrome .config/chromium .mozilla .local/share/keyrings
    .bash_history .zsh_history .python_history .node_repl_history
""".split()
# What `secrets` stands for in the list of environment variables to hide.
SECRETS = """
    *_TOKEN *_KEY *_SECRET *_PASSWORD *_PASSWD *_CREDENTIALS *_API_KEY *_APIKEY *_PAT TOKEN SECRET PASSWORD
    AWS_* AZURE_* GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL SSH_AUTH_SOCK
""".split()
# Below /run, which is hidden for its sockets, this is only read: some systems keep their programs there,
# and with the network the names of hosts are looked up there.
_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
_RUN_NETWORK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
_LISTED = 3  # changed paths that a message names
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")

_BUBBLEWRAP = """
    --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
    --ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --tmpfs /tmp --tmpfs /run
""".split()
# More of the kernel's settings, which root could write even without capabilities.
_KERNEL = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")

_NO_NETWORK = """
    could not resolve|temporary failure in name resolution|name or service not known|network is unreachable
    |enotfound|eai_again|enetunreach|getaddrinfo|failed to resolve|connection refused|econnrefused
    |newconnectionerror|could not connect|failed to connect|no such host|dns error
""".replace("\n", "").replace("    ", "")
_NO_WRITE = (
    "read-only file system",
    "erofs",
    "permission denied",
    "eacces",
    "operation not permitted",
    "eperm",
)


class Confinement(Value):
    """How one command is confined. `hide` are patterns of environment variables, or the word `secrets`."""

    layer: str
    workspace: str
    network: bool = False
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    read_only: bool = False


_found: list[Layer] = []


def available() -> Layer:
    """Return the best layer that works on this machine: tried once in a process, really."""
    if not _found:
        _found.append(_probe())
    return _found[0]


def _probe() -> Layer:
    if sys.platform != "linux":
        return "none"
    if has_bubblewrap():
        return "bubblewrap"
    return "landlock" if has_landlock() else "none"


def has_landlock() -> bool:
    """Return whether the kernel has Landlock and takes seccomp filters."""
    if sys.platform != "linux":
        return False
    from clada.world import landlock, seccomp

    return landlock.version() > 0 and seccomp.is_supported()


def has_bubblewrap() -> bool:
    """Return whether bubblewrap is installed and can do here what we ask of it."""
    from clada.world.processes import find_program, run

    try:
        words = [find_program("bwrap"), *_BUBBLEWRAP, "--", find_program("true")]
        root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except Trouble:
        return False
    try:
        ended = run(
            words,
            directory=root,
            environment={},
            timeout=5.0,
            max_output=0,
            emit=lambda _line: None,
            supervised=False,
        )
    finally:
        os.close(root)
    return ended.exit_code == 0


class Confined:
    """One command's confinement while it lasts: environment, temporary folder, what it must not change."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._confinement = confinement
        self._temporary = ""
        self._guard: Guard | None = None
        self.environment = dict(_without(environment, confinement.hide))
        if confinement.read_only:
            return
        if confinement.layer == "bubblewrap":
            self._guard = Guard(confinement.workspace, _not_mountable(confinement.workspace))
        else:
            self._guard = Guard(confinement.workspace)
        if confinement.layer == "landlock":
            self._temporary = _temporary_folder()
            self.environment |= dict.fromkeys(_TEMPORARY, self._temporary)
        else:
            for name in _TEMPORARY:
                self.environment.pop(name, None)
        self.environment |= _quiet_git(environment)

    def start(self, order: Order, supervised: bool) -> Child:
        """Start the command under its layer."""
        from clada.world.landlock import Rules
        from clada.world.processes import start

        layer = self._confinement.layer
        if layer == "bubblewrap":
            return _start_in_bubblewrap(order, self._confinement)
        if layer == "landlock":
            return start(order.but(rules=Rules(self._writable(), self._confinement.network)), supervised)
        raise Trouble("command_not_allowed", "this machine has no sandbox", "--sandbox=off runs without one")

    def end(self) -> list[str]:
        """Undo what must not have been done, and return the paths that were changed."""
        try:
            return self._guard.restore() if self._guard else []
        finally:
            if self._temporary:
                _remove_folder(self._temporary)

    def _writable(self) -> tuple[str, ...]:
        if self._confinement.read_only:
            return ()
        return (self._confinement.workspace, self._temporary, *map(_expanded, self._confinement.write))


def was_undone(changed: Sequence[str]) -> Trouble:
    """Return what to say of a command that changed what is protected."""
    rest = len(changed) - _LISTED
    listed = ", ".join(changed[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
    if any(os.path.basename(path) in IGNORED for path in changed):
        return Trouble(
            "permission_denied", f"the command changed {listed}; the git objects cannot be put back"
        )
    hint = "commands cannot change .git or .clada; --sandbox=off runs them without this protection"
    return Trouble("permission_denied", f"the command changed {listed}, which was undone", hint)


def lacked(confinement: Confinement, lines: Sequence[str]) -> str | None:
    """Return what a failed command seems to have lacked, by the end of its output."""
    tail = [line.lower() for line in lines]
    if not confinement.network and any(sign in line for line in tail for sign in _NO_NETWORK.split("|")):
        return "ran without network: approve it with network"
    unwritten = [line for line in tail if any(sign in line for sign in _NO_WRITE)]
    for name in PROTECTED:
        if any(name in line for line in unwritten):
            return f"`{name}` is read-only"
    if unwritten:
        return "only the workspace and the temporary folder can be written (sandbox_write names more)"
    return None


def _without(environment: Mapping[str, str], hide: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not hide:
        yield from environment.items()
        return
    from fnmatch import fnmatchcase

    patterns = [pattern for word in hide for pattern in (SECRETS if word == "secrets" else [word])]
    for name, value in environment.items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            yield name, value


def _temporary_folder() -> str:
    places = [os.environ.get(name, "") for name in _TEMPORARY]
    place = next((place for place in places if os.path.isdir(place)), "/tmp")  # noqa: S108 (as tempfile does)
    folder = os.path.join(os.path.abspath(place), f"clada-{os.urandom(8).hex()}")
    os.mkdir(folder, 0o700)
    return folder


def _remove_folder(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:  # something is in it
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _quiet_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which a `git status` or `git diff` does not rewrite the index in passing."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    index = int(count) if count.isdigit() else 0
    return {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(index + 1),
        f"GIT_CONFIG_KEY_{index}": "diff.autoRefreshIndex",
        f"GIT_CONFIG_VALUE_{index}": "false",
    }


def _expanded(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _start_in_bubblewrap(order: Order, confinement: Confinement) -> Child:
    from clada.world.children import Boxed, cannot_start
    from clada.world.processes import find_program
    from clada.world.spawn import spawn

    if problem := _cannot_execute(order):
        raise cannot_start(order.argv[0], problem)
    program = find_program("bwrap")
    status, status_writer = os.pipe()
    handles = [status_writer]
    try:
        arguments = ["--json-status-fd", "3"]
        if confinement.network:  # the abstract sockets of the host's desktop are reachable with it
            handles.append(_filter_handle())
            arguments += ["--seccomp", "4"]
        arguments += bubblewrap_arguments(confinement)
        words = [program, *arguments, "--", order.program, *order.argv[1:]]
        pid = spawn(order.but(program=program, argv=words, handles=handles))
    except OSError as error:
        os.close(status)
        raise Trouble("command_not_allowed", f"the sandbox could not be started: {error}") from error
    finally:
        for handle in handles:
            os.close(handle)
    return Boxed(pid, status)


def _cannot_execute(order: Order) -> int:
    """Return the error that executing the program would meet: bubblewrap would only say it as output."""
    import errno

    try:
        found = os.stat(order.program, dir_fd=order.directory)
    except OSError as error:
        return error.errno or errno.ENOENT
    runnable = stat.S_ISREG(found.st_mode) and os.access(order.program, os.X_OK, dir_fd=order.directory)
    return 0 if runnable else errno.EACCES


def _filter_handle() -> int:
    from clada.world.seccomp import socket_filter

    handle = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(handle, socket_filter(network=True))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def bubblewrap_arguments(confinement: Confinement) -> list[str]:
    """Return the options that build the sandbox. A later mount covers an earlier one."""
    workspace = confinement.workspace
    arguments = [*_BUBBLEWRAP, *(["--share-net"] if confinement.network else [])]
    for path in _KERNEL + _RUN + (_RUN_NETWORK if confinement.network else ()):
        arguments += ["--ro-bind-try", path, path]
    arguments += ["--ro-bind" if confinement.read_only else "--bind", workspace, workspace]
    for path in _hidden(workspace):
        arguments += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    for option, paths in (("--ro-bind-try", confinement.read), ("--bind-try", confinement.write)):
        for path in map(_expanded, paths):
            arguments += [option, path, path]
    for name in set(PROTECTED) - set(_not_mountable(workspace)):
        path = os.path.join(workspace, name)
        arguments += ["--ro-bind", path, path]
    return arguments


def _not_mountable(workspace: str) -> tuple[str, ...]:
    """Return the protected names that no mount can protect: not there, or a link."""
    paths = {name: os.path.join(workspace, name) for name in PROTECTED}
    return tuple(name for name, path in paths.items() if os.path.islink(path) or not os.path.exists(path))


def _hidden(workspace: str) -> list[str]:
    """Return the credentials that exist, and the sockets on which services outside listen."""
    home = os.path.expanduser("~")
    paths = [os.path.join(home, name) for name in CREDENTIALS]
    there = dict.fromkeys(os.path.realpath(path) for path in paths if os.path.exists(path))
    there |= dict.fromkeys(path for path in _sockets() if not f"{path}/".startswith(f"{workspace}/"))
    return [path for path in there if not f"{workspace}/".startswith(f"{path}/") and not _is_private(path)]


def _sockets() -> Iterator[str]:
    """Return where services listen: a read-only mount would not keep a command from talking to them."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            path = line.rstrip("\n").split(" ", 7)[-1].lstrip(" 0123456789")
            if path.startswith("/") and not _is_private(path) and _is_open_socket(path):
                yield path


def _is_open_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode) and os.access(path, os.W_OK)
    except OSError:
        return False


def _is_private(path: str) -> bool:
    return path.startswith(("/tmp/", "/run/", "/dev/", "/proc/"))  # noqa: S108 (these are private inside)
