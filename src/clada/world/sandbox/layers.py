"""The layers of confinement: bubblewrap where it works, else namespaces of our own, else Landlock, else none.

    layer = available()                                   # "bubblewrap", "namespace", "landlock" or "none"
    confinement = Confinement(layer, "/path/to/workspace", network=False)
    result = run(argv, confined_launcher(confinement, os.environ), …)

A reader runs under `ReadOnly((workspace,))`, where `has_landlock()`. `ProcessResult.hint` says
what a failed command seems to have lacked. A command that changed `.git` or `.clada` in spite of the sandbox
raises CladaError("permission_denied") after that was undone; a sandbox that cannot be set up raises
CladaError("command_not_allowed").
"""

from __future__ import annotations

import os
import sys

from clada.errors import CladaError, system_words
from clada.values import Value
from clada.world.handles import remove_tree
from clada.world.processes.run import Launcher
from clada.world.sandbox.guard import PROTECTED, Guard, first_few
from clada.world.sandbox.reading import ReadOnly, has_landlock, reader_launcher
from clada.world.sandbox.variables import looks_secret, passed_on

__all__ = ["Confinement", "ReadOnly", "available", "confined_launcher", "has_bubblewrap", "has_landlock"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from clada.world.processes.children import Child
    from clada.world.processes.output import Emit
    from clada.world.processes.run import ProcessResult
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.bubblewrap import BwrapOutput

    Layer = Literal["bubblewrap", "namespace", "landlock", "none"]

_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
# Where a person has parts of the home elsewhere.
_PARTS_OF_HOME = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")

# What a program prints when it could not do something, by layer: phrases in small letters, codes in capitals.
_NO_NETWORK = (
    "could not resolve",
    "failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "getaddrinfo",
    "failed to resolve",
    "connection refused",
    "ECONNREFUSED",
    "could not connect",
    "failed to connect",
    "no such host",
    "dns error",
)
_OWN = ("/tmp", "/run", "/var/tmp", "/dev", "/proc")  # noqa: S108 (each command has its own, or none)


# What overlayfs refuses: to rename a directory of the lower layer, and to copy a file of another owner.
_NOT_ON_OVERLAY = ("cross-device link", "EXDEV", "value too large for defined data type", "EOVERFLOW")


class _Signs(Value):
    """What a program prints when it could not reach, read or write something."""

    no_network: tuple[str, ...]
    no_read: tuple[str, ...]
    no_write: tuple[str, ...]


_MOUNTED = _Signs(
    _NO_NETWORK,
    ("no such file", "ENOENT", "not found", "does not exist"),
    ("read-only file system", "EROFS"),
)
_SIGNS = {
    "bubblewrap": _MOUNTED,
    "namespace": _MOUNTED,
    "landlock": _Signs(
        (*_NO_NETWORK, "operation not permitted", "EPERM"),
        ("permission denied", "EACCES"),
        ("permission denied", "EACCES"),
    ),
}


class Confinement(Value):
    """How one command is confined. `hide` and `keep` are patterns of environment variables.

    What looks like a secret is hidden in any case, but for what is to be kept. `nested` are repositories in
    the workspace, as `tree.look` finds them.
    """

    layer: str
    workspace: str
    network: bool = False
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    overlay: str = ""  # the directory that takes all writes to the workspace; only in the layer `namespace`

    @property
    def protected(self) -> tuple[str, ...]:
        """The paths in the workspace that a command cannot change."""
        return (*PROTECTED, *self.nested)


WITH_MOUNTS = ("bubblewrap", "namespace")
FORCED = "CLADA_SANDBOX_LAYER"  # the variable with which tests, and a person who compares, choose a layer
_found: list[Layer] = []


def available() -> Layer:
    """Return the best layer that works on this machine. Each is really tried, once in a process.

    Where the environment asks for a layer it is that one; if it does not work here, raise CladaError.
    """
    if wanted := os.environ.get(FORCED):
        return _forced(wanted)
    if not _found:
        _found.append(next((layer for layer, works in _WORKS.items() if works()), "none"))
    return _found[0]


def _forced(wanted: str) -> Layer:
    for layer, works in _WORKS.items():
        if layer == wanted and works():
            return layer
    message = f"{FORCED} asks for {wanted}, which is no layer that works here"
    raise CladaError("command_not_allowed", message, "clada doctor says what this machine has")


def has_bubblewrap() -> bool:
    """Return whether bubblewrap is installed and works here with the options that we need."""
    if sys.platform != "linux":
        return False
    from clada.world.sandbox import bubblewrap

    return bubblewrap.trouble() is None


def has_namespaces() -> bool:
    """Return whether namespaces of our own work here, with all that we need in them."""
    if sys.platform != "linux":
        return False
    from clada.world.sandbox import namespace, seccomp

    return seccomp.is_supported() and namespace.trouble() is None


# From the best to the last resort.
_WORKS: dict[Layer, Callable[[], bool]] = {
    "bubblewrap": has_bubblewrap,
    "namespace": has_namespaces,
    "landlock": has_landlock,
}


def confined_launcher(confinement: Confinement | ReadOnly, environment: Mapping[str, str]) -> Launcher:
    """Return a launcher that confines the command like this."""
    if isinstance(confinement, ReadOnly):
        return reader_launcher(confinement, environment)
    try:
        # The system's own are decoded each time that one looks at them.
        variables = dict(environment)
        return _LAUNCHERS[confinement.layer](_with_real_paths(confinement), variables)
    except OSError as error:
        raise _no_sandbox(error) from error


def _no_sandbox(error: OSError) -> CladaError:
    return CladaError("command_not_allowed", f"the sandbox could not be set up: {system_words(error)}")


class _GuardedLauncher(Launcher):
    """Starts a command that may write; what it changes in the protected directories is undone."""

    def __init__(
        self, confinement: Confinement, environment: Mapping[str, str], guard: Guard | None = None
    ) -> None:
        super().__init__(passed_on(environment, confinement.hide, confinement.keep))
        self._given = environment
        self._confinement = confinement
        self._guard = guard
        self._changed: list[str] = []

    def close(self) -> None:
        """Undo what the command changed in the protected directories; a supervisor ends meanwhile."""
        try:
            self._changed = self._guard.restore() if self._guard else []
        finally:
            self._remove_own()
            super().close()

    def _remove_own(self) -> None:
        """Remove what only this command had."""

    def explain(self, result: ProcessResult, tail: Sequence[str]) -> ProcessResult:
        """Raise if something had to be undone; else add what a failed command seems to have lacked."""
        if result.timed_out or result.cancelled:
            return result.replace(hint=str(_undone(self._changed)) if self._changed else None)
        if self._changed:
            raise _undone(self._changed)
        return result.replace(hint=self._hint(tail)) if result.exit_code else result

    def _hint(self, tail: Sequence[str]) -> str | None:
        if hint := failure_hint(self._confinement, tail):
            return hint
        hidden = ((name, value) for name, value in self._given.items() if name not in self.environment)
        return _missing_variable((name for name, value in hidden if looks_secret(name, value)), tail)


class _BubblewrapLauncher(_GuardedLauncher):
    """Starts a command in bubblewrap; guarded is only what a mount cannot protect."""

    _output: BwrapOutput  # of the command that is started next

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        from clada.world.sandbox.bubblewrap import not_mountable

        names = not_mountable(confinement.workspace, confinement.protected)
        guard = Guard(confinement.workspace, names)
        super().__init__(confinement, environment, guard)

    def listen(self, emit: Emit) -> Emit:
        """Return what keeps back a line that may be bubblewrap's own."""
        from clada.world.sandbox.bubblewrap import BwrapOutput

        self._output = BwrapOutput(emit)
        return self._output.emit

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command in a sandbox; when it ends, so does everything in the sandbox."""
        from clada.world.sandbox import bubblewrap

        return bubblewrap.start(spec, self._confinement, self._output)


class _LandlockLauncher(_GuardedLauncher):
    """Starts a command under Landlock, with a directory of its own for temporary files and as its home."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._own = _own_directory()
        self._opened: tuple[str, ...] = ()
        own = dict.fromkeys((*_TEMPORARY, "HOME"), self._own)
        seen = {name: value for name, value in environment.items() if name not in _PARTS_OF_HOME}
        super().__init__(confinement, seen)
        self.environment = {**self.environment, **own}

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command under the rules, and under a supervisor."""
        from clada.world.sandbox import visible
        from clada.world.sandbox.landlock import LandlockRules

        confined = self._confinement
        opened = (*visible.programs(spec.environment.get("PATH", ""), spec.program), *confined.read)
        network = visible.NETWORK if confined.network else ()
        write = (confined.workspace, self._own, *confined.write)
        read = (*visible.system(), *network, "/proc", *opened)
        rules = LandlockRules(write, confined.network, read, execute=(*write, *read))
        self._opened = (*opened, *confined.write, confined.workspace)
        rules.filter_program()
        return super().start(spec.replace(rules=rules, temporary=self._own))

    def prepare(self) -> None:
        """Look at the protected directories, and fill the command's own one."""
        if self._guard:  # of an attempt in which nothing was run
            self._guard.close()
            self._guard = None
        try:
            self._guard = Guard(self._confinement.workspace, self._confinement.protected)
            _link_from(self._own, self._opened)
        except OSError as error:
            raise _no_sandbox(error) from error

    def _hint(self, tail: Sequence[str]) -> str | None:
        return super()._hint([line.replace(self._own, "~") for line in tail])

    def _remove_own(self) -> None:
        try:
            remove_tree(self._own)
        except OSError:  # left to whatever clears temporary directories on this machine
            return


def _link_from(own: str, paths: Iterable[str]) -> None:
    """Make what is open of the real home have its place in the command's own home as well."""
    from clada.world.sandbox import visible

    real = visible.home()
    names = [path[len(real) + 1 :] for path in paths if path != real and visible.is_in(path, real)]
    firsts = ((name.partition("/")[0], name) for name in names)
    for name in visible.outermost(top if top in visible.ONLY_PROGRAMS else name for top, name in firsts):
        if os.path.lexists(f"{real}/{name}"):
            if "/" in name:
                os.makedirs(os.path.dirname(f"{own}/{name}"), exist_ok=True)
            try:
                os.symlink(f"{real}/{name}", f"{own}/{name}")
            except FileExistsError:  # made for an attempt before this one
                continue


class _NamespaceLauncher(_GuardedLauncher):
    """Starts a command in namespaces of our own, which hold what bubblewrap's would; guarded is the same."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        from clada.world.sandbox.bubblewrap import not_mountable

        names = not_mountable(confinement.workspace, confinement.protected)
        super().__init__(confinement, environment, Guard(confinement.workspace, names))

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command in the namespaces."""
        from clada.world.sandbox.bubblewrap import mounts
        from clada.world.sandbox.namespace import NamespaceRules, start

        seen = mounts(self._confinement, spec.environment.get("PATH", ""), spec.program)
        namespaces = NamespaceRules(tuple(seen), self._confinement.network)
        namespaces.filter_program()
        return start(spec.replace(namespaces=namespaces), super().start)


_LAUNCHERS = {
    "bubblewrap": _BubblewrapLauncher,
    "namespace": _NamespaceLauncher,
    "landlock": _LandlockLauncher,
}


def _undone(changed: list[str]) -> CladaError:
    """Return the error for a command that changed protected paths."""
    listed = first_few(changed)
    hint = (
        "commands cannot change repositories and approvals; --sandbox=off runs them without this protection"
    )
    return CladaError("permission_denied", f"the command changed {listed}, which was undone", hint)


def failure_hint(confinement: Confinement, lines: Sequence[str]) -> str | None:
    """Return what a failed command seems to have lacked, judging by the end of its output."""
    signs = _SIGNS[confinement.layer]
    if not confinement.network and _with_any(signs.no_network, lines):
        return "ran without network: approve it with network"
    if confinement.overlay and _with_any(_NOT_ON_OVERLAY, lines):
        return (
            "in an atomic run, commands cannot rename directories that were there before, or change files of "
            "another owner or group: do without --atomic"
        )
    unwritten = _with_any(signs.no_write, lines)
    for name in PROTECTED:
        if any(name in line for line in unwritten):
            return f"`{name}` is read-only"
    missing = _with_any(_MOUNTED.no_read, lines) if confinement.layer == "landlock" else ()
    if _closed_paths(confinement, _with_any(signs.no_read, lines)) or any(
        map(os.path.lexists, _closed_paths(confinement, missing))  # which such a command could see as well
    ):
        return "commands see the workspace, the system's programs and an empty home (sandbox_read names more)"
    if unwritten:
        return "only the workspace and the temporary directory can be written (sandbox_write names more)"
    return None


def _closed_paths(confinement: Confinement, lines: Sequence[str]) -> list[str]:
    """Return the paths that these lines name and that are closed, whether or not they exist."""
    if not lines:
        return []
    import re

    from clada.world.sandbox import visible

    home = visible.home()
    opened = (confinement.workspace, *confinement.read, *confinement.write, *visible.system())
    closed = []
    for path in re.findall(r"(?<![\w.])(?:~|/)[^\s'\":,;)\]`]*", "\n".join(lines)):
        full = os.path.normpath(home + path[1:] if path.startswith("~") else path)
        is_own = not visible.is_in(full, home) and any(visible.is_in(full, place) for place in _OWN)
        if full != "/" and not is_own and not any(visible.is_in(full, place) for place in opened):
            closed.append(full)
    return closed


def _missing_variable(names: Iterable[str], lines: Sequence[str]) -> str | None:
    """Return a hint if the output names a variable that was not passed on."""
    import re

    words = set(re.findall(r"\w+", "\n".join(lines)))
    for name in sorted(words.intersection(names)):
        return f"{name} looks like a secret and was not passed on (sandbox_env_keep passes it)"
    return None


def _with_any(signs: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the lines that contain one of the signs; phrases in any case, codes in capitals."""
    return [line for line in lines if any(sign in line or sign in line.lower() for sign in signs)]


def _with_real_paths(confinement: Confinement) -> Confinement:
    """Return the confinement with links and `~` in its paths resolved; refuse one that confines nothing."""
    workspace = os.path.realpath(confinement.workspace)
    if workspace == "/":
        raise CladaError(
            "command_not_allowed", "the workspace is the whole file system: no sandbox could help"
        )
    write, read = (
        tuple(os.path.realpath(os.path.expanduser(path)) for path in paths)
        for paths in (confinement.write, confinement.read)
    )
    return confinement.replace(workspace=workspace, write=write, read=read)


def _own_directory() -> str:
    """Make a directory that is a command's home and its temporary directory: two would take twice as long."""
    places = [os.environ.get(name, "") for name in _TEMPORARY]
    place = next((place for place in places if os.path.isdir(place)), "/tmp")  # noqa: S108 (as tempfile does)
    directory = os.path.join(os.path.abspath(place), f"clada-{os.urandom(8).hex()}")
    os.mkdir(directory, 0o700)
    return directory
