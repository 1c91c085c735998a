"""The layers of confinement: bubblewrap where it works, else namespaces of our own, else Landlock, else none.

    layer = available()                                   # "bubblewrap", "namespace", "landlock" or "none"
    confinement = Confinement(layer, "/path/to/workspace", network=False)
    result = run(argv, confined_launcher(confinement, os.environ), RunOptions(…))

A reader runs under `ReadOnly((workspace,))`, where `has_landlock()`. `ProcessResult.hint` says
what a failed command seems to have lacked. A command that changed `.git` or `.clada` in spite of the sandbox
raises CladaError("permission_denied") after that was undone; a sandbox that cannot be set up raises
CladaError("command_not_allowed").
"""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase

from clada.errors import CladaError
from clada.text.escape import first_few
from clada.values import Value
from clada.world.handles import remove_tree
from clada.world.processes.run import Launcher
from clada.world.sandbox import bwrap, mounts, namespace, seccomp
from clada.world.sandbox.guard import PROTECTED, Guard
from clada.world.sandbox.hints import failure_hint, missing_variable
from clada.world.sandbox.landlock import (
    LandlockRules,
    ReadOnly,
    has_landlock,
    reader_launcher,
    sandbox_error,
)
from clada.world.secrets.names import SECRET_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Literal

    from clada.world.processes.children import Child
    from clada.world.processes.output import Emit
    from clada.world.processes.run import ProcessResult
    from clada.world.processes.spawn import SpawnSpec

    Layer = Literal["bubblewrap", "namespace", "landlock", "none"]

_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
# Where a person has parts of the home elsewhere.
_PARTS_OF_HOME = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


class Confinement(Value):
    """How one command is confined. `hide` and `keep` are patterns of environment variables.

    Variables that look like secrets are always hidden, unless `keep` names them. `nested` are repositories in
    the workspace, as `tree.scan` finds them.
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
        return _forced_layer(wanted)
    if not _found:
        _found.append(next((layer for layer, works in _WORKS.items() if works()), "none"))
    return _found[0]


def _forced_layer(wanted: str) -> Layer:
    for layer, works in _WORKS.items():
        if layer == wanted and works():
            return layer
    message = f"{FORCED} asks for {wanted}, which is not a layer that works here"
    raise CladaError("command_not_allowed", message, "clada doctor says what this machine has")


def has_bubblewrap() -> bool:
    """Return whether bubblewrap is installed and works here with the options that we need."""
    if sys.platform != "linux":
        return False
    return bwrap.problem() is None


def has_namespaces() -> bool:
    """Return whether namespaces of our own work here, with all that we need in them."""
    if sys.platform != "linux":
        return False
    return seccomp.is_supported() and namespace.problem() is None


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
        return _LAUNCHERS[confinement.layer](_resolve_paths(confinement), variables)
    except OSError as error:
        raise sandbox_error(error) from error


class _GuardedLauncher(Launcher):
    """Starts a command that may write; its changes in the protected directories are undone."""

    def __init__(
        self, confinement: Confinement, environment: Mapping[str, str], guard: Guard | None = None
    ) -> None:
        super().__init__(filter_environment(environment, confinement.hide, confinement.keep))
        self._given = environment
        self._confinement = confinement
        self._guard = guard
        self._changed: list[str] = []

    def close(self) -> None:
        """Undo changes of the command in the protected directories; a supervisor ends meanwhile."""
        try:
            self._changed = self._guard.restore() if self._guard else []
        finally:
            self._remove_own()
            super().close()

    def _remove_own(self) -> None:
        """Remove the directories of this command."""

    def explain(self, result: ProcessResult, tail: Sequence[str]) -> ProcessResult:
        """Raise if changes had to be undone; else add a hint at what a failed command lacked."""
        if result.timed_out or result.cancelled:
            return result.replace(hint=str(_changed_error(self._changed)) if self._changed else None)
        if self._changed:
            raise _changed_error(self._changed)
        return result.replace(hint=self._hint(tail)) if result.exit_code else result

    def _hint(self, tail: Sequence[str]) -> str | None:
        if hint := failure_hint(self._confinement, tail):
            return hint
        hidden = ((name, value) for name, value in self._given.items() if name not in self.environment)
        return missing_variable((name for name, value in hidden if looks_secret(name, value)), tail)


class _MountedLauncher(_GuardedLauncher):
    """Starts a command with mounts of its own; only paths that a mount cannot protect are guarded."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        names = mounts.not_mountable(confinement.workspace, confinement.protected)
        super().__init__(confinement, environment, Guard(confinement.workspace, names))


class _BubblewrapLauncher(_MountedLauncher):
    """Starts a command in bubblewrap."""

    _output: bwrap.BwrapOutput  # of the command that is started next

    def listen(self, emit: Emit) -> Emit:
        """Return what keeps back a line that may be bubblewrap's own."""
        self._output = bwrap.BwrapOutput(emit)
        return self._output.emit

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command in a sandbox; when it ends, so does everything in the sandbox."""
        return bwrap.start(spec, self._confinement, self._output)


class _LandlockLauncher(_GuardedLauncher):
    """Starts a command under Landlock, with a directory of its own for temporary files and as its home."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._own = _make_own_directory()
        self._opened: tuple[str, ...] = ()
        own = dict.fromkeys((*_TEMPORARY, "HOME"), self._own)
        seen = {name: value for name, value in environment.items() if name not in _PARTS_OF_HOME}
        super().__init__(confinement, seen)
        self.environment = {**self.environment, **own}

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command under the rules, and under a supervisor."""
        confined = self._confinement
        opened = (*mounts.programs(spec.environment.get("PATH", ""), spec.program), *confined.read)
        network = mounts.NETWORK if confined.network else ()
        write = (confined.workspace, self._own, *confined.write)
        read = (*mounts.system(), *network, "/proc", *opened)
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
            _link_open_paths(self._own, self._opened)
        except OSError as error:
            raise sandbox_error(error) from error

    def _hint(self, tail: Sequence[str]) -> str | None:
        return super()._hint([line.replace(self._own, "~") for line in tail])

    def _remove_own(self) -> None:
        try:
            remove_tree(self._own)
        except OSError:  # the system clears its temporary directories
            return


def _link_open_paths(own: str, paths: Iterable[str]) -> None:
    """Link the visible parts of the real home into the home of the command."""
    real = mounts.home()
    names = [path[len(real) + 1 :] for path in paths if path != real and mounts.is_in(path, real)]
    firsts = ((name.partition("/")[0], name) for name in names)
    for name in mounts.outermost(top if top in mounts.ONLY_PROGRAMS else name for top, name in firsts):
        if os.path.lexists(f"{real}/{name}"):
            if "/" in name:
                os.makedirs(os.path.dirname(f"{own}/{name}"), exist_ok=True)
            try:
                os.symlink(f"{real}/{name}", f"{own}/{name}")
            except FileExistsError:  # made for an attempt before this one
                continue


class _NamespaceLauncher(_MountedLauncher):
    """Starts a command in namespaces of our own, with the same mounts, under a supervisor."""

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command in the namespaces."""
        seen = mounts.mounts(self._confinement, spec.environment.get("PATH", ""), spec.program)
        namespaces = namespace.NamespaceRules(tuple(seen), self._confinement.network)
        namespaces.filter_program()  # made before the fork, it is there after it
        return super().start(spec.replace(namespaces=namespaces))


_LAUNCHERS = {
    "bubblewrap": _BubblewrapLauncher,
    "namespace": _NamespaceLauncher,
    "landlock": _LandlockLauncher,
}


def _changed_error(changed: list[str]) -> CladaError:
    """Return the error for a command that changed protected paths."""
    listed = first_few(changed)
    hint = (
        "commands cannot change repositories and approvals; --sandbox=off runs them without this protection"
    )
    return CladaError("permission_denied", f"the command changed {listed}, which was undone", hint)


def _resolve_paths(confinement: Confinement) -> Confinement:
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


def _make_own_directory() -> str:
    """Make a directory that is a command's home and its temporary directory: two would take twice as long."""
    places = [os.environ.get(name, "") for name in _TEMPORARY]
    place = next((place for place in places if os.path.isdir(place)), "/tmp")  # noqa: S108 (as tempfile does)
    directory = os.path.join(os.path.abspath(place), f"clada-{os.urandom(8).hex()}")
    os.mkdir(directory, 0o700)
    return directory


# The environment: without secrets, and without the addresses of services that hold some.


# Ends of names that say that the value is secret, and names that do.
_ENDS = tuple(
    """TOKEN SECRET PASSWORD PASSWD PASSPHRASE PASS _PW _PWD APIKEY SECRETKEY PRIVATEKEY ACCESSKEY
    CREDENTIALS""".split()
)
_NAMES = frozenset(
    """DATABASE_URL MYSQL_PWD SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS
    XDG_RUNTIME_DIR DOCKER_HOST GIT_ASKPASS SSH_ASKPASS GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT""".split()
)
# Of clouds, of which half are secrets; and of git, where the headers of requests may be set.
_BEGINNINGS = ("AWS_", "AZURE_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")


def looks_secret(name: str, value: str) -> bool:
    """Return whether a variable looks like a secret: by its name, or as an address with a password in it."""
    known = name.upper()
    if known in _NAMES or known.startswith(_BEGINNINGS) or known.endswith(_ENDS):
        return True
    return not SECRET_WORDS.isdisjoint(known.lower().split("_")) or _has_password(value)


def _has_password(value: str) -> bool:
    """Return whether a value is like https://name:password@host."""
    _scheme, mark, rest = value.partition("://")
    login, at, _host = rest.partition("/")[0].rpartition("@")
    return bool(mark and at and ":" in login.strip(":"))


def filter_environment(
    environment: Mapping[str, str], hide: Sequence[str], keep: Sequence[str]
) -> dict[str, str]:
    """Return the environment of a command: without hidden variables, other secrets and the host's TMPDIR."""
    kept, hidden = _match(environment, keep), {*_TEMPORARY, *_match(environment, hide)}
    seen = {
        name: value
        for name, value in environment.items()
        if name not in hidden and (name in kept or not looks_secret(name, value))
    }
    return seen | _git_variables(seen)


def _match(names: Iterable[str], patterns: Sequence[str]) -> set[str]:
    """Return the names that match one of the patterns."""
    if not patterns:
        return set()
    return {name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)}


def _git_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that keep `git status` and `git diff` from rewriting the index."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    index = int(count) if count.isdigit() else 0
    return {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": str(index + 1),
        f"GIT_CONFIG_KEY_{index}": "diff.autoRefreshIndex",
        f"GIT_CONFIG_VALUE_{index}": "false",
    }
