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
import sys

from clada.problems import Trouble
from clada.values import Value
from clada.world.confinement.guard import IGNORED, PROTECTED, Guard, listing
from clada.world.removal import remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Literal

    from clada.world.processes.children import Child
    from clada.world.processes.spawn import Order

    Layer = Literal["bubblewrap", "landlock", "none"]

# What `secrets` stands for in the list of environment variables to hide.
SECRETS = """
    *_TOKEN *_KEY *_SECRET *_PASSWORD *_PASSWD *_CREDENTIALS *_API_KEY *_APIKEY *_PAT TOKEN SECRET PASSWORD
    AWS_* AZURE_* GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL SSH_AUTH_SOCK
""".split()
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")

# By what a program prints, in small letters, when it could not do something; by layer.
_NO_NETWORK = (
    "could not resolve",
    "failure in name resolution",
    "name or service not known",
    "network is unreachable",
    "enotfound",
    "eai_again",
    "enetunreach",
    "getaddrinfo",
    "failed to resolve",
    "connection refused",
    "econnrefused",
    "could not connect",
    "failed to connect",
    "no such host",
    "dns error",
)
_SIGNS = {
    "bubblewrap": (_NO_NETWORK, ("read-only file system", "erofs")),
    "landlock": ((*_NO_NETWORK, "operation not permitted", "eperm"), ("permission denied", "eacces")),
}


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
    if has_bubblewrap():
        return "bubblewrap"
    return "landlock" if has_landlock() else "none"


def has_bubblewrap() -> bool:
    """Return whether bubblewrap is installed and can do here what we ask of it."""
    if sys.platform != "linux":
        return False
    from clada.world.confinement import bubblewrap

    return bubblewrap.trouble() is None


def has_landlock() -> bool:
    """Return whether the kernel has Landlock and takes seccomp filters."""
    if sys.platform != "linux":
        return False
    from clada.world.confinement import landlock, seccomp

    return landlock.version() > 0 and seccomp.is_supported()


class Confined:
    """One command's confinement while it lasts: environment, temporary folder, what it must not change."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._confinement = _resolved(confinement)
        self._temporary = ""
        self._guard: Guard | None = None
        self.environment = dict(_without(environment, confinement.hide))
        if not confinement.read_only:
            try:
                self._set_up()
            except OSError as error:
                _remove_folder(self._temporary)
                raise Trouble("command_not_allowed", f"the sandbox could not be set up: {error}") from error

    def _set_up(self) -> None:
        from clada.world.confinement.bubblewrap import not_mountable

        workspace = self._confinement.workspace
        self.environment |= _quiet_git(self.environment)
        for name in _TEMPORARY:
            self.environment.pop(name, None)
        if self._confinement.layer == "bubblewrap":
            self._guard = Guard(workspace, not_mountable(workspace))
        else:
            self._temporary = _temporary_folder()
            self.environment |= dict.fromkeys(_TEMPORARY, self._temporary)
            self._guard = Guard(workspace)

    def start(self, order: Order, supervised: bool) -> Child:
        """Start the command under its layer."""
        from clada.world.confinement import bubblewrap
        from clada.world.confinement.landlock import Rules
        from clada.world.processes.running import start

        if self._confinement.layer == "bubblewrap":
            return bubblewrap.start(order, self._confinement)
        rules = Rules(self._writable(), self._confinement.network)
        return start(order.but(rules=rules, temporary=self._temporary), supervised)

    def end(self) -> list[str]:
        """Undo what must not have been done, and return the paths that were changed."""
        try:
            return self._guard.restore() if self._guard else []
        finally:
            _remove_folder(self._temporary)

    def _writable(self) -> tuple[str, ...]:
        if self._confinement.read_only:
            return ()
        return (self._confinement.workspace, self._temporary, *self._confinement.write)


def _resolved(confinement: Confinement) -> Confinement:
    """Return the confinement with links and `~` in its paths resolved; refuse one that confines nothing."""
    if confinement.layer not in {"bubblewrap", "landlock"}:
        raise Trouble("command_not_allowed", "this machine has no sandbox", "--sandbox=off runs without one")
    workspace = os.path.realpath(confinement.workspace)
    if workspace == "/" and not confinement.read_only:
        raise Trouble("command_not_allowed", "the workspace is the whole file system: no sandbox could help")
    write, read = (tuple(map(_expanded, paths)) for paths in (confinement.write, confinement.read))
    return confinement.but(workspace=workspace, write=write, read=read)


def was_undone(changed: list[str]) -> Trouble:
    """Return what to say of a command that changed what is protected."""
    listed = listing(changed)
    if any(os.path.basename(path) in IGNORED for path in changed):
        return Trouble(
            "permission_denied", f"the command changed {listed}; the git objects cannot be put back"
        )
    hint = "commands cannot change .git or .clada; --sandbox=off runs them without this protection"
    return Trouble("permission_denied", f"the command changed {listed}, which was undone", hint)


def lacked(confinement: Confinement, lines: Sequence[str]) -> str | None:
    """Return what a failed command seems to have lacked, by the end of its output."""
    no_network, no_write = _SIGNS[confinement.layer]
    if not confinement.network and _with_any(no_network, lines):
        return "ran without network: approve it with network"
    unwritten = _with_any(no_write, lines)
    for name in PROTECTED:
        if any(name in line for line in unwritten):
            return f"`{name}` is read-only"
    if unwritten:
        return "only the workspace and the temporary folder can be written (sandbox_write names more)"
    return None


def _with_any(signs: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [line for line in lines if any(sign in line.lower() for sign in signs)]


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
        if folder:
            remove(folder)
    except OSError:  # left to whoever clears that place
        return


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
