"""The sandbox of bubblewrap: namespaces in which a command sees a read-only system around its workspace."""

from __future__ import annotations

import errno
import os
import stat

from clada.errors import Trouble, system_words
from clada.world.sandbox.guard import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.world.processes.children import Child
    from clada.world.processes.spawn import Order
    from clada.world.sandbox.boxed import Held
    from clada.world.sandbox.layers import Confinement

TEMPORARY = "/tmp"  # noqa: S108 (it is hidden, not used)
_SANDBOX = """
    --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session
    --ro-bind / / --dev /dev --proc /proc --ro-bind /proc/sys /proc/sys --tmpfs /tmp --tmpfs /run
""".split()
# More of the kernel's settings, which root could write even without capabilities.
_KERNEL = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")

_PRIVATE = ("/tmp/", "/run/", "/dev/", "/proc/")  # noqa: S108 (what is there inside is not what is there outside)
# Below /run, which is hidden for its sockets, this is only read: some systems keep their programs there,
# and with the network the names of hosts are looked up there.
_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
_RUN_NETWORK = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf")
# In the user's home: what gives access to other machines and accounts, or tells of them.
CREDENTIALS = """
    .ssh .aws .azure .gnupg .kube .docker .password-store .terraform.d .vault-token .netrc .pgpass .my.cnf
    .git-credentials .npmrc .pypirc .yarnrc.yml .cargo/credentials .cargo/credentials.toml .gem/credentials
    .config/gh .config/glab-cli .config/gcloud .config/git/credentials .config/op .config/rclone .config/sops
    .config/containers .config/google-chrome .config/chromium .mozilla .local/share/keyrings
    .bash_history .zsh_history .python_history .node_repl_history
""".split()


def trouble() -> str | None:
    """Return why bubblewrap cannot do here what we ask of it; None if it can. It is really tried."""
    from clada.world.processes.running import Frame, find_program, run

    lines: list[str] = []
    try:
        words = [find_program("bwrap"), *_SANDBOX, "--", find_program("true")]
    except Trouble:
        return "not installed"
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        frame = Frame({}, supervised=False)
        ended = run(words, frame, directory=root, timeout=5.0, max_output=1 << 12, emit=lines.append)
    finally:
        os.close(root)
    return None if ended.exit_code == 0 else (lines or ["no reason given"])[0].removeprefix("bwrap: ")


def start(order: Order, confinement: Confinement, held: Held) -> Child:
    """Start a program in the sandbox; nothing is started where that fails."""
    from clada.world.processes.children import cannot_start
    from clada.world.sandbox.boxed import Boxed

    if problem := _cannot_execute(order):
        raise cannot_start(order.argv[0], problem)
    status, status_writer = os.pipe()
    try:
        return Boxed(_spawn(order, confinement, status_writer), status, held)
    except BaseException:
        os.close(status)
        raise
    finally:
        os.close(status_writer)


def _spawn(order: Order, confinement: Confinement, status: int) -> int:
    """Start bubblewrap, which tells by `status` how the program fares, and return its process id."""
    from clada.world.processes.running import find_program
    from clada.world.processes.spawn import spawn

    program = find_program("bwrap")
    handles = [status]
    try:
        options = ["--json-status-fd", "3", *arguments(confinement)]
        if confinement.network:  # the abstract sockets of the host's desktop are reachable with it
            handles.append(_filter_handle())
            options += ["--seccomp", "4"]
        words = [program, *options, "--", order.program, *order.argv[1:]]
        return spawn(order.replace(program=program, argv=words, handles=handles, seconds=None))
    except OSError as error:
        message = f"the sandbox could not be started: {system_words(error)}"
        raise Trouble("command_not_allowed", message) from error
    finally:
        for handle in handles[1:]:
            os.close(handle)


def _cannot_execute(order: Order) -> int:
    """Return the error that executing the program would meet: bubblewrap would only say it as output."""
    try:
        found = os.stat(order.program, dir_fd=order.directory)
    except OSError as error:
        return error.errno or errno.ENOENT
    runnable = stat.S_ISREG(found.st_mode) and os.access(order.program, os.X_OK, dir_fd=order.directory)
    return 0 if runnable else errno.EACCES


def _filter_handle() -> int:
    from clada.world.sandbox.seccomp import socket_filter

    handle = os.memfd_create("filter", os.MFD_CLOEXEC)
    os.write(handle, socket_filter(network=True))
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def arguments(confinement: Confinement) -> list[str]:
    """Return the options that build the sandbox. A later mount covers an earlier one."""
    workspace = confinement.workspace
    options = [*_SANDBOX, *(["--share-net"] if confinement.network else [])]
    for path in (*_KERNEL, *_RUN, *(_RUN_NETWORK if confinement.network else ()), *_programs()):
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


def _programs() -> list[str]:
    """Return what holds programs of PATH in /tmp, which is a new one inside: an environment may be there."""
    places = os.environ.get("PATH", "").split(":")
    directories = [place for place in places if place.startswith(f"{TEMPORARY}/")]
    above = {directory: os.path.dirname(directory) for directory in map(os.path.normpath, directories)}
    return sorted({directory if home == TEMPORARY else home for directory, home in above.items()})


def not_mountable(workspace: str) -> tuple[str, ...]:
    """Return the protected names that no mount can protect: not there, or a link."""
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
    """Return where services listen: a read-only mount would not keep a command from talking to them."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            path = line.rstrip("\n").split(" ", 7)[-1].lstrip(" 0123456789")
            if path.startswith("/") and not path.startswith(_PRIVATE) and _is_open_socket(path):
                yield path


def _is_open_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode) and os.access(path, os.W_OK)
    except OSError:
        return False
