"""mv: moves files, directories and links."""

from __future__ import annotations

from clada.operations.builtins.job import NOT_A_DIRECTORY, CommandError
from clada.operations.builtins.targets import is_kept, read_pairs, refuse_clash, target_entry
from clada.world.files.tree import rename

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.operations.builtins.job import BuiltInJob
    from clada.operations.builtins.targets import Pair
    from clada.world.files.entries import Entry
    from clada.world.files.paths import Parts


def mv(job: BuiltInJob) -> None:
    """Move each source."""
    arrived: set[Parts] = set()
    job.each(
        read_pairs(job), lambda pair: _check(job, pair), lambda pair, entry: _move(job, pair, entry, arrived)
    )


def _check(job: BuiltInJob, pair: Pair) -> Entry:
    """Return what is at the source, if it may be moved to its target."""
    source, target = pair
    entry = job.existing(source, f"cannot stat {source}")
    job.refuse_taking(source)
    if entry.kind == "directory":
        job.tree(source, f"cannot move {source} to {target}")
    target_entry(job, target)
    return entry


def _move(job: BuiltInJob, pair: Pair, entry: Entry, arrived: set[Parts]) -> None:
    source, target = pair
    there = target_entry(job, target)
    relation = job.relation(source, entry, target, there)
    if relation == "same" and not job.has("n"):
        raise CommandError(f"{source} and {target} are the same file")
    if there and relation != "respelled":
        if is_kept(job, entry, there):
            return
        refuse_clash(source, entry, target, there)
        if target.parts in arrived and there.kind != "directory":
            raise CommandError(f"will not overwrite just-created {target} with {source}")
    _refuse_move(job, pair, entry, there)
    if relation == "links":
        raise CommandError(f"{source} and {target} are the same file")
    what = f"cannot move {source} to {target}"
    job.attempt(what, source, rename, job.files, source.parts, target.parts, relation)
    arrived.add(target.parts)
    job.changed(source, "removed")
    job.changed(target, "moved")
    if job.has("v"):
        job.say(f"renamed {source} -> {target}")


def _refuse_move(job: BuiltInJob, pair: Pair, entry: Entry, there: Entry | None) -> None:
    source, target = pair
    what = f"cannot move {source} to {target}"
    if source.name in (".", ".."):
        raise CommandError(f"{what}: Device or resource busy")
    if target.parts[: len(source.parts)] == source.parts:
        raise CommandError(f"cannot move {source} to a subdirectory of itself, {target}")
    if there is None:
        job.make_sure_of_parent(target, what)
        if target.slash and entry.kind != "directory":
            raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
