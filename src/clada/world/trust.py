"""Whether a workspace's `.clada` counts: only as the user has seen it, whole, on this machine.

It travels with a repository, so its files count while they are, byte for byte, what the user trusted. Copies
of that are kept in the user's own state, one tree for all workspaces, by their real paths:

    $XDG_STATE_HOME/clada/trust/home/me/project/.clada/config.toml          as it was trusted
    $XDG_STATE_HOME/clada/trust/home/me/project/.clada/declined/config.toml as it was seen, and not trusted
    $XDG_STATE_HOME/clada/trust/home/me/project/.clada/own.json             what the user approved here

If that is inside the workspace (a home that is one), or belongs to another user, nothing is trusted.
"""

from __future__ import annotations

import os

from clada.errors import CladaError, reason
from clada.values import Value
from clada.world.files.atomic import put_at
from clada.world.handles import is_link, is_regular, open_directory, open_file, read_at_most
from clada.world.xdg import state_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER, CONFIGURATION, APPROVALS = ".clada", "config.toml", "allowed-commands.json"
DECLINED, OWN = "declined", "own.json"
EVERYWHERE = "CLADA_TRUST_WORKSPACE"  # set to 1 where a repository is trusted as a whole, as in CI
MAX_SHOWN = 100 << 10  # bytes of a file that a person can be shown
LARGEST = 10 << 20  # bytes that are read of any
OWNER_ALL = 0o700
HOW = "clada trust"  # the command that shows it and asks


def everywhere() -> bool:
    """Whether the environment says that every workspace is trusted."""
    return os.environ.get(EVERYWHERE) == "1"


def is_trusted(workspace: str, name: str, data: bytes) -> bool:
    """Whether a file in `.clada` of this content counts."""
    return everywhere() or is_remembered(workspace, name, data)


def is_remembered(workspace: str, name: str, data: bytes) -> bool:
    """Whether the user has trusted a file of this content on this machine."""
    return _read_state(workspace, name, len(data)) == data


def is_declined(workspace: str, name: str, data: bytes) -> bool:
    """Whether the user has seen a file of this content, and said no."""
    return _read_state(workspace, os.path.join(DECLINED, name), len(data)) == data


def remember(workspace: str, name: str, data: bytes) -> None:
    """Trust a file of this content from now on, and no other."""
    _write_state(workspace, name, data)


def decline(workspace: str, name: str, data: bytes) -> None:
    """Do not ask about a file of this content again."""
    _write_state(workspace, os.path.join(DECLINED, name), data)


def read_own_approvals(workspace: str) -> bytes:
    """Return the stored approvals of the user on this machine; nothing if there are none."""
    return _read_state(workspace, OWN, LARGEST) or b""


def write_own_approvals(workspace: str, data: bytes) -> None:
    """Keep the approvals that the user gave on this machine."""
    _write_state(workspace, OWN, data)


class CladaFile(Value):
    """A file in a workspace's `.clada`, as it was read once; `problem`: why it cannot be read."""

    name: str
    data: bytes = b""
    problem: str = ""
    trusted: bool = False
    declined: bool = False

    @property
    def path(self) -> str:
        """Its path, from the workspace."""
        return f"{FOLDER}/{self.name}"


def clada_files(workspace: str) -> Sequence[CladaFile]:
    """Return the files in `.clada` that could count, none if there are none. Nothing is waited for."""
    directory = os.path.join(workspace, FOLDER)
    try:
        folder = open_directory(directory)
    except FileNotFoundError:
        return ()
    except OSError as error:
        if not os.path.lexists(directory):
            return ()
        problem = "is a symbolic link" if is_link(directory) else f"cannot be read: {reason(error)}"
        return (CladaFile("", problem=problem),)
    try:
        files = [_examine(workspace, name, folder) for name in (CONFIGURATION, APPROVALS)]
    finally:
        os.close(folder)
    return [file for file in files if file]


def _examine(workspace: str, name: str, folder: int) -> CladaFile | None:
    try:
        data = read_clada_file(name, folder)
    except CladaError as raised:
        return CladaFile(name, problem=raised.error.message.removeprefix(f"{FOLDER}/{name} "))
    if data is None:
        return None
    if is_trusted(workspace, name, data):  # of any size: the user's own approvals may have made it large
        return CladaFile(name, data, trusted=True)
    if len(data) > MAX_SHOWN:
        return CladaFile(name, problem=f"is larger than {MAX_SHOWN >> 10} KB, which is too much to look at")
    return CladaFile(name, data, declined=is_declined(workspace, name, data))


def read_clada_file(name: str, folder: int) -> bytes | None:
    """Return the bytes of a file in `.clada`, of a very large one the start; None if there is none.

    A link or a pipe in its place is an error.
    """
    path = f"{FOLDER}/{name}"
    try:
        handle = open_file(name, folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise read_error(path, error, link=is_link(name, folder)) from error
    try:
        if not is_regular(handle):
            raise CladaError("io_error", f"{path} is not a regular file", f"move {path} out of the way")
        return read_at_most(handle, LARGEST + 1)
    except OSError as error:
        raise read_error(path, error) from error
    finally:
        os.close(handle)


def read_error(path: str, error: OSError, *, link: bool = False) -> CladaError:
    """Return the error for a path that cannot be read, or that is a link."""
    if link:
        return CladaError("symlink_not_allowed", f"{path} is a symbolic link", "put the file itself there")
    return CladaError("io_error", f"{path} cannot be read: {reason(error)}")


# The user's own state.


def _state_root() -> str:
    return os.path.join(state_home(), "clada", "trust")


def _state_directory(workspace: str) -> str | None:
    """Return the state directory of a workspace; None if other users could have made it."""
    top, root = _state_root(), os.path.realpath(workspace).rstrip("/")
    if not os.path.isabs(top) or f"{os.path.realpath(top)}/".startswith(f"{root}/"):
        return None
    try:
        if os.stat(top).st_uid != os.geteuid():
            return None
    except OSError:
        pass  # there is none yet
    return f"{top}{root}/{FOLDER}"


def _read_state(workspace: str, name: str, size: int) -> bytes | None:
    """Return the stored file of this name, at most one byte more than `size`; None if there is none."""
    state = _state_directory(workspace)
    if state is None:
        return None
    try:
        handle = os.open(os.path.join(state, name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return read_at_most(handle, size + 1)
    except OSError:
        return None
    finally:
        os.close(handle)


def _write_state(workspace: str, name: str, data: bytes) -> None:
    """Put a file into the state of a workspace, whole or not at all; only its user can look there."""
    if everywhere():
        return  # nothing depends on it
    state = _state_directory(workspace)
    if state is None:
        raise _state_error("it is in the workspace, or not yours")
    try:
        os.makedirs(_state_root(), mode=OWNER_ALL, exist_ok=True)
        put_at(os.path.join(state, name), data)
    except OSError as error:
        raise _state_error(reason(error)) from None


def _state_error(why: str) -> CladaError:
    message = f"cannot remember in {_state_root()} what you trust: {why}"
    return CladaError(
        "io_error", message, "set XDG_STATE_HOME to a directory of yours, outside of the workspace"
    )
