"""The layers of confinement: bubblewrap where it works, else Landlock and seccomp, else none.

    layer = available()                                   # "bubblewrap", "landlock" or "none"
    confinement = Confinement(layer, "/path/to/workspace", network=False)
    result = run(argv, confined_launcher(confinement, os.environ), …)

A reader runs under `ReadOnly((workspace,))`, where `has_landlock()`. `ProcessResult.hint` says
what a failed command seems to have lacked. A command that changed `.git` or `.clada` in spite of the sandbox
raises Trouble("permission_denied") after that was undone; a sandbox that cannot be set up raises
Trouble("command_not_allowed").
"""

from __future__ import annotations

import os
import sys

from clada.errors import Trouble, system_words
from clada.values import Value
from clada.world.handles import remove_tree
from clada.world.processes.running import Launcher
from clada.world.sandbox.guard import NOT_GUARDED, PROTECTED, Guard, first_few
from clada.world.sandbox.reading import ReadOnly, has_landlock

__all__ = ["Confinement", "ReadOnly", "available", "confined_launcher", "has_bubblewrap", "has_landlock"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from clada.world.processes.children import Child
    from clada.world.processes.output import Emit
    from clada.world.processes.running import ProcessResult
    from clada.world.processes.spawn import SpawnSpec
    from clada.world.sandbox.bubblewrap import BwrapOutput

    Layer = Literal["bubblewrap", "landlock", "none"]

# What `secrets` stands for in the list of environment variables to hide.
SECRETS = """
    *_TOKEN *_KEY *_SECRET *_PASSWORD *_PASSWD *_CREDENTIALS *_API_KEY *_APIKEY *_PAT TOKEN SECRET PASSWORD
    AWS_* AZURE_* GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL SSH_AUTH_SOCK
""".split()
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")

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
_SIGNS = {
    "bubblewrap": (_NO_NETWORK, ("read-only file system", "EROFS")),
    "landlock": ((*_NO_NETWORK, "operation not permitted", "EPERM"), ("permission denied", "EACCES")),
}


class Confinement(Value):
    """How one command is confined. `hide` are patterns of environment variables, or the word `secrets`."""

    layer: str
    workspace: str
    network: bool = False
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()


_found: list[Layer] = []


def available() -> Layer:
    """Return the best layer that works on this machine. Each is really tried, once in a process."""
    if not _found:
        _found.append("bubblewrap" if has_bubblewrap() else "landlock" if has_landlock() else "none")
    return _found[0]


def has_bubblewrap() -> bool:
    """Return whether bubblewrap is installed and works here with the options that we need."""
    if sys.platform != "linux":
        return False
    from clada.world.sandbox import bubblewrap

    return bubblewrap.trouble() is None


def confined_launcher(confinement: Confinement | ReadOnly, environment: Mapping[str, str]) -> Launcher:
    """Return a launcher that confines the command like this."""
    if isinstance(confinement, ReadOnly):
        return _ReadOnlyLauncher(confinement, environment)
    try:
        return _LAUNCHERS[confinement.layer](_with_real_paths(confinement), environment)
    except OSError as error:
        message = f"the sandbox could not be set up: {system_words(error)}"
        raise Trouble("command_not_allowed", message) from error


class _ReadOnlyLauncher(Launcher):
    """Starts a reader under Landlock. It gives no hints: a reader needs nothing that Landlock takes away."""

    def __init__(self, confinement: ReadOnly, environment: Mapping[str, str]) -> None:
        super().__init__(environment, supervised=False)
        self._confinement = confinement

    def start(self, spec: SpawnSpec) -> Child:
        """Start the reader."""
        from clada.world.sandbox.reading import rules

        return super().start(spec.replace(rules=rules(self._confinement, spec.program)))


class _GuardedLauncher(Launcher):
    """Starts a command that may write; what it changes in the protected directories is undone."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str], guard: Guard) -> None:
        super().__init__(environment)
        self._confinement = confinement
        self._guard = guard
        self._changed: list[str] = []

    def close(self) -> None:
        """Undo what the command changed in the protected directories."""
        self._changed = self._guard.restore()

    def explain(self, result: ProcessResult, tail: Sequence[str]) -> ProcessResult:
        """Raise if something had to be undone; else add what a failed command seems to have lacked."""
        if result.timed_out or result.cancelled:
            return result.replace(hint=str(_undone(self._changed)) if self._changed else None)
        if self._changed:
            raise _undone(self._changed)
        return result.replace(hint=failure_hint(self._confinement, tail)) if result.exit_code else result


class _BubblewrapLauncher(_GuardedLauncher):
    """Starts a command in bubblewrap; guarded is only what a mount cannot protect."""

    _output: BwrapOutput  # of the command that is started next

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        from clada.world.sandbox.bubblewrap import not_mountable

        guard = Guard(confinement.workspace, not_mountable(confinement.workspace))
        super().__init__(confinement, _variables(confinement, environment), guard)

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
    """Starts a command under Landlock, with a temporary directory of its own."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._temporary = _temporary_directory()
        try:
            guard = Guard(confinement.workspace)
        except OSError:
            self._remove_temporary()
            raise
        own = dict.fromkeys(_TEMPORARY, self._temporary)
        super().__init__(confinement, _variables(confinement, environment) | own, guard)

    def start(self, spec: SpawnSpec) -> Child:
        """Start the command under the rules, and under a supervisor."""
        from clada.world.sandbox.landlock import LandlockRules

        writable = (self._confinement.workspace, self._temporary, *self._confinement.write)
        rules = LandlockRules(writable, self._confinement.network)
        return super().start(spec.replace(rules=rules, temporary=self._temporary))

    def close(self) -> None:
        """Undo what the command changed in the protected directories; remove its temporary directory."""
        try:
            super().close()
        finally:
            self._remove_temporary()

    def _remove_temporary(self) -> None:
        try:
            remove_tree(self._temporary)
        except OSError:  # left to whatever clears temporary directories on this machine
            return


_LAUNCHERS = {"bubblewrap": _BubblewrapLauncher, "landlock": _LandlockLauncher}


def _undone(changed: list[str]) -> Trouble:
    """Return the error for a command that changed protected paths."""
    listed = first_few(changed)
    if any(os.path.basename(path) in NOT_GUARDED for path in changed):
        return Trouble(
            "permission_denied", f"the command changed {listed}; the git objects cannot be put back"
        )
    hint = "commands cannot change .git or .clada; --sandbox=off runs them without this protection"
    return Trouble("permission_denied", f"the command changed {listed}, which was undone", hint)


def failure_hint(confinement: Confinement, lines: Sequence[str]) -> str | None:
    """Return what a failed command seems to have lacked, judging by the end of its output."""
    no_network, no_write = _SIGNS[confinement.layer]
    if not confinement.network and _with_any(no_network, lines):
        return "ran without network: approve it with network"
    unwritten = _with_any(no_write, lines)
    for name in PROTECTED:
        if any(name in line for line in unwritten):
            return f"`{name}` is read-only"
    if unwritten:
        return "only the workspace and the temporary directory can be written (sandbox_write names more)"
    return None


def _with_any(signs: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the lines that contain one of the signs; phrases in any case, codes in capitals."""
    return [line for line in lines if any(sign in line or sign in line.lower() for sign in signs)]


def _with_real_paths(confinement: Confinement) -> Confinement:
    """Return the confinement with links and `~` in its paths resolved; refuse one that confines nothing."""
    workspace = os.path.realpath(confinement.workspace)
    if workspace == "/":
        raise Trouble("command_not_allowed", "the workspace is the whole file system: no sandbox could help")
    write, read = (
        tuple(os.path.realpath(os.path.expanduser(path)) for path in paths)
        for paths in (confinement.write, confinement.read)
    )
    return confinement.replace(workspace=workspace, write=write, read=read)


def _variables(confinement: Confinement, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: without what is hidden, and without the host's TMPDIR."""
    hidden = [pattern for word in confinement.hide for pattern in (SECRETS if word == "secrets" else [word])]
    seen = {name: value for name, value in environment.items() if name not in _TEMPORARY}
    if hidden:
        from fnmatch import fnmatchcase

        seen = {
            name: value
            for name, value in seen.items()
            if not any(fnmatchcase(name, pattern) for pattern in hidden)
        }
    return seen | _git_variables(seen)


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


def _temporary_directory() -> str:
    places = [os.environ.get(name, "") for name in _TEMPORARY]
    place = next((place for place in places if os.path.isdir(place)), "/tmp")  # noqa: S108 (as tempfile does)
    directory = os.path.join(os.path.abspath(place), f"clada-{os.urandom(8).hex()}")
    os.mkdir(directory, 0o700)
    return directory
