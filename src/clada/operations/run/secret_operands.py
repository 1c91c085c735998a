"""Which operands of a command name a file that looks like a secret, so that it needs approval."""

from __future__ import annotations

from clada.commands.judgements import Allowed, BuiltIn, Piped
from clada.errors import CladaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from clada.world.files.paths import Parts
    from clada.world.world import World

# Programs that show names, sizes and dates of files, and nothing of what is in them.
NAMES_ONLY = frozenset("ls stat find tree realpath dirname".split())
GIT_NAMES_ONLY = frozenset("status ls-files branch stash".split())
COPYING = frozenset(("cp", "mv"))  # built-in commands after which a file can be read by another name


def secret_operand(world: World, verdict: object, here: Parts) -> str | None:
    """Return the operand with which a command would show or copy a secret file; None if there is none."""
    if isinstance(verdict, Piped):
        return next(filter(None, (secret_operand(world, part, here) for part in verdict.parts)), None)
    return next((path for path in _shown(verdict) if _is_secret(world, path, here)), None)


def _shown(verdict: object) -> Iterable[str]:
    """Return the operands of a command whose content it shows or copies."""
    if isinstance(verdict, BuiltIn) and verdict.name in COPYING:
        return verdict.operands[:-1] or verdict.operands
    if not isinstance(verdict, Allowed) or verdict.program in NAMES_ONLY:
        return ()
    if verdict.program != "git":
        return verdict.paths
    if verdict.argv[1] in GIT_NAMES_ONLY:
        return ()
    # In `HEAD:.env` and `:0:.env`, a path stands behind the revision.
    named = (word.rpartition(":")[2] for word in verdict.revisions)
    return (*verdict.paths, *verdict.pathspecs, *named)


def _is_secret(world: World, path: str, here: Parts) -> bool:
    try:
        parts = world.files.locate(path.rstrip("/"), here) if path.strip("/") else ()
    except CladaError:
        return False  # no path of the workspace: what is wrong with it is said elsewhere
    return bool(parts) and world.secrets.names("/".join(parts))
