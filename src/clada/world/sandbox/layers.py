"""The layers of confinement: bubblewrap where it works, else Landlock and seccomp, else none.

    layer = available()                                   # "bubblewrap", "landlock" or "none"
    Confinement(layer, "/path/to/workspace", network=False)

A reader that starts no programs runs under `ReadOnly()`, where `has_landlock()`.
"""

from __future__ import annotations

import os
import sys

from clada.errors import Trouble
from clada.values import Value
from clada.world.sandbox.guard import IGNORED, PROTECTED, listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    Layer = Literal["bubblewrap", "landlock", "none"]

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


class ReadOnly(Value):
    """How a reader is confined that starts no programs: it can write nothing."""

    layer: str = "landlock"


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
    from clada.world.sandbox import bubblewrap

    return bubblewrap.trouble() is None


def has_landlock() -> bool:
    """Return whether the kernel has Landlock and takes seccomp filters."""
    if sys.platform != "linux":
        return False
    from clada.world.sandbox import landlock, seccomp

    return landlock.version() > 0 and seccomp.is_supported()


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
        return "only the workspace and the temporary directory can be written (sandbox_write names more)"
    return None


def _with_any(signs: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the lines with one of these phrases, in any case, or of these codes, which are in capitals."""
    return [line for line in lines if any(sign in line or sign in line.lower() for sign in signs)]
