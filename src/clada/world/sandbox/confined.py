"""What surrounds a confined command while it runs: its environment, its layer, what it must leave alone.

    ended = run(argv, confined(Confinement(layer, "/path/to/workspace", network=False), os.environ), …)

`Ended.lacked` says what a failed command seems to have lacked; a command that changed `.git` or `.clada`
all the same raises Trouble("permission_denied") after it was undone, and a sandbox that cannot be set up
Trouble("command_not_allowed").
"""

from __future__ import annotations

import os

from clada.errors import Trouble, system_words
from clada.world.handles import remove_tree
from clada.world.processes.running import Frame
from clada.world.sandbox.guard import Guard
from clada.world.sandbox.layers import ReadOnly, lacked, was_undone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clada.world.processes.children import Child
    from clada.world.processes.output import Listener
    from clada.world.processes.running import Ended
    from clada.world.processes.spawn import Order
    from clada.world.sandbox.boxed import Held
    from clada.world.sandbox.layers import Confinement

# What `secrets` stands for in the list of environment variables to hide.
SECRETS = """
    *_TOKEN *_KEY *_SECRET *_PASSWORD *_PASSWD *_CREDENTIALS *_API_KEY *_APIKEY *_PAT TOKEN SECRET PASSWORD
    AWS_* AZURE_* GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL SSH_AUTH_SOCK
""".split()
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")


def confined(confinement: Confinement | ReadOnly, environment: Mapping[str, str]) -> Frame:
    """Return what surrounds a command that is confined like this."""
    if isinstance(confinement, ReadOnly):
        return _Reading(environment, supervised=False)
    try:
        return _FRAMES[confinement.layer](_resolved(confinement), environment)
    except OSError as error:
        message = f"the sandbox could not be set up: {system_words(error)}"
        raise Trouble("command_not_allowed", message) from error


class _Reading(Frame):
    """Landlock around a reader. It lacks nothing that it would need, so its failures are its own."""

    def start(self, order: Order) -> Child:
        """Start the reader."""
        from clada.world.sandbox.landlock import Rules

        return super().start(order.replace(rules=Rules()))


class _Guarded(Frame):
    """Around a command that may write: what it changes in the protected parts all the same is put back."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str], guard: Guard) -> None:
        super().__init__(environment)
        self._confinement = confinement
        self._guard = guard
        self._changed: list[str] = []

    def end(self) -> None:
        """Undo what must not have been done."""
        self._changed = self._guard.restore()

    def judged(self, ended: Ended, tail: Sequence[str]) -> Ended:
        """Say what was undone, which is a failure; else what a failed command seems to have lacked."""
        if ended.timed_out or ended.cancelled:
            return ended.replace(lacked=str(was_undone(self._changed)) if self._changed else None)
        if self._changed:
            raise was_undone(self._changed)
        return ended.replace(lacked=lacked(self._confinement, tail)) if ended.exit_code else ended


class _InBubblewrap(_Guarded):
    """A sandbox of bubblewrap's; only what no mount of its can protect is guarded."""

    _held: Held  # hears the command that is started next

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        from clada.world.sandbox.bubblewrap import not_mountable

        guard = Guard(confinement.workspace, not_mountable(confinement.workspace))
        super().__init__(confinement, _variables(confinement, environment), guard)

    def hear(self, listener: Listener) -> Listener:
        """Tell bubblewrap's own words from the command's."""
        from clada.world.sandbox.boxed import Held

        self._held = Held(listener)
        return listener.replace(emit=self._held.take, truncated=self._held.cut)

    def start(self, order: Order) -> Child:
        """Start the command in its sandbox, whose end is the end of all that it starts."""
        from clada.world.sandbox import bubblewrap

        return bubblewrap.start(order, self._confinement, self._held)


class _UnderLandlock(_Guarded):
    """Rules of the kernel's, under which a command has a temporary directory of its own."""

    def __init__(self, confinement: Confinement, environment: Mapping[str, str]) -> None:
        self._temporary = _temporary_directory()
        try:
            guard = Guard(confinement.workspace)
        except OSError:
            self._clear()
            raise
        own = dict.fromkeys(_TEMPORARY, self._temporary)
        super().__init__(confinement, _variables(confinement, environment) | own, guard)

    def start(self, order: Order) -> Child:
        """Start the command under its rules, and under a supervisor."""
        from clada.world.sandbox.landlock import Rules

        writable = (self._confinement.workspace, self._temporary, *self._confinement.write)
        rules = Rules(writable, self._confinement.network)
        return super().start(order.replace(rules=rules, temporary=self._temporary))

    def end(self) -> None:
        """Undo what must not have been done, and leave nothing behind."""
        try:
            super().end()
        finally:
            self._clear()

    def _clear(self) -> None:
        try:
            remove_tree(self._temporary)
        except OSError:  # left to whoever clears that place
            return


_FRAMES = {"bubblewrap": _InBubblewrap, "landlock": _UnderLandlock}


def _resolved(confinement: Confinement) -> Confinement:
    """Return the confinement with links and `~` in its paths resolved; refuse one that confines nothing."""
    workspace = os.path.realpath(confinement.workspace)
    if workspace == "/":
        raise Trouble("command_not_allowed", "the workspace is the whole file system: no sandbox could help")
    write, read = (tuple(map(_expanded, paths)) for paths in (confinement.write, confinement.read))
    return confinement.replace(workspace=workspace, write=write, read=read)


def _expanded(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


def _variables(confinement: Confinement, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a command sees of the environment: not what is hidden, nor where others have files."""
    seen = {name: value for name, value in environment.items() if name not in _TEMPORARY}
    seen = dict(_without(seen, confinement.hide))
    return seen | _quiet_git(seen)


def _without(environment: Mapping[str, str], hide: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not hide:
        yield from environment.items()
        return
    from fnmatch import fnmatchcase

    patterns = [pattern for word in hide for pattern in (SECRETS if word == "secrets" else [word])]
    for name, value in environment.items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            yield name, value


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


def _temporary_directory() -> str:
    places = [os.environ.get(name, "") for name in _TEMPORARY]
    place = next((place for place in places if os.path.isdir(place)), "/tmp")  # noqa: S108 (as tempfile does)
    directory = os.path.join(os.path.abspath(place), f"clada-{os.urandom(8).hex()}")
    os.mkdir(directory, 0o700)
    return directory
