"""Hints at what a failed command lacked in the sandbox, judging by the end of its output."""

from __future__ import annotations

import os
import re

from clada.values import Value
from clada.world.sandbox import mounts
from clada.world.sandbox.guard import PROTECTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from clada.world.sandbox.layers import Confinement

# Messages of programs that could not do something, by layer: phrases in small letters, codes in capitals.
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
_OWN_PLACES = ("/tmp", "/run", "/var/tmp", "/dev", "/proc")  # noqa: S108 (each command has its own, or none)


# What overlayfs refuses: to rename a directory of the lower layer, and to copy a file of another owner.
_NOT_ON_OVERLAY = ("cross-device link", "EXDEV", "value too large for defined data type", "EOVERFLOW")


class _Signs(Value):
    """Messages of programs that could not reach, read or write something."""

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


def failure_hint(confinement: Confinement, lines: Sequence[str]) -> str | None:
    """Return a hint at what a failed command lacked, judging by the end of its output."""
    signs = _SIGNS[confinement.layer]
    if not confinement.network and _lines_with(signs.no_network, lines):
        return "ran without network: approve it with network"
    if confinement.overlay and _lines_with(_NOT_ON_OVERLAY, lines):
        return (
            "in an atomic run, commands cannot rename directories that were there before, or change files of "
            "another owner or group: do without --atomic"
        )
    unwritten = _lines_with(signs.no_write, lines)
    for name in PROTECTED:
        if any(name in line for line in unwritten):
            instead = " (commit yourself, or use --sandbox=off)" if name == ".git" else ""
            return f"the sandbox keeps {name} read-only{instead}"
    missing = _lines_with(_MOUNTED.no_read, lines) if confinement.layer == "landlock" else ()
    if _closed_paths(confinement, _lines_with(signs.no_read, lines)) or any(
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
    home = mounts.home()
    opened = (confinement.workspace, *confinement.read, *confinement.write, *mounts.system())
    closed = []
    for path in re.findall(r"(?<![\w.])(?:~|/)[^\s'\":,;)\]`]*", "\n".join(lines)):
        full = os.path.normpath(home + path[1:] if path.startswith("~") else path)
        is_own = not mounts.is_in(full, home) and any(mounts.is_in(full, place) for place in _OWN_PLACES)
        if full != "/" and not is_own and not any(mounts.is_in(full, place) for place in opened):
            closed.append(full)
    return closed


def missing_variable(names: Iterable[str], lines: Sequence[str]) -> str | None:
    """Return a hint if the output names a variable that was not passed on."""
    words = set(re.findall(r"\w+", "\n".join(lines)))
    for name in sorted(words.intersection(names)):
        return f"{name} looks like a secret and was not passed on (sandbox_env_keep passes it)"
    return None


def _lines_with(signs: Sequence[str], lines: Sequence[str]) -> list[str]:
    """Return the lines that contain one of the signs; phrases in any case, codes in capitals."""
    return [line for line in lines if any(sign in line or sign in line.lower() for sign in signs)]
