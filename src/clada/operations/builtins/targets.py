"""What mv and cp have in common: where each source goes, and what may be replaced there."""

from __future__ import annotations

from clada.operations.builtins.job import (
    NOT_A_DIRECTORY,
    BuiltInJob,
    CommandError,
    Operand,
    refuse_link,
    refuse_special,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.files.entries import Entry

    Pair = tuple[Operand, Operand]


def read_pairs(job: BuiltInJob) -> list[Pair]:
    """Return each source with its target: the last operand, or in it if it is a directory."""
    operands = job.located()
    if not operands:
        raise CommandError("missing file operand")
    if len(operands) == 1:
        raise CommandError(f"missing destination file operand after {operands[0]}")
    *sources, target = operands
    if job.has("T"):
        if len(sources) > 1:
            raise CommandError(f"extra operand {operands[2]}")
        return [(sources[0], target)]
    entry = job.entry(target, f"target {target}")
    refuse_link(target, entry)
    if entry and entry.kind == "directory" and not _is_respelled(job, sources, target, entry):
        return [(source, _into(target, source)) for source in sources]
    if len(sources) > 1:
        why = NOT_A_DIRECTORY if entry else job.why_missing(target, f"target {target}")
        raise CommandError(f"target {target}: {why}")
    return [(sources[0], target)]


def _is_respelled(job: BuiltInJob, sources: list[Operand], target: Operand, there: Entry) -> bool:
    """Whether a directory gets its own name in other letters, on a file system that ignores their case."""
    if len(sources) > 1 or target.slash or job.name != "mv":
        return False
    entry = job.entry(sources[0], f"cannot stat {sources[0]}")
    return entry is not None and job.relation(sources[0], entry, target, there) == "respelled"


def _into(directory: Operand, source: Operand) -> Operand:
    """Return the target for a source in a directory; for `.` and `..` it is the directory itself."""
    if source.name in (".", ".."):
        return Operand(directory.below(".").text, directory.parts)
    return directory.below(source.name)


def target_entry(job: BuiltInJob, target: Operand) -> Entry | None:
    """Return what exists at a target, or None; fail if it may not be replaced."""
    what = f"cannot stat {target}"
    entry = job.entry(target, what)
    refuse_special(target, entry)
    if entry is None:
        if job.why_missing(target, what) == NOT_A_DIRECTORY:
            raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
    elif target.slash and entry.kind != "directory":
        raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
    return entry


def is_kept(job: BuiltInJob, entry: Entry, there: Entry) -> bool:
    """Whether the existing target stays as it is: by -n, or by -u if it is not older."""
    is_directory = entry.kind == "directory"
    if job.has("u") and not is_directory and there.modified >= entry.modified:
        return True
    return job.has("n") and (job.name == "mv" or not is_directory)


def refuse_clash(source: Operand, entry: Entry, target: Operand, there: Entry) -> None:
    """Fail where a directory would replace a file, or the other way round."""
    if entry.kind == "directory" and there.kind != "directory":
        raise CommandError(f"cannot overwrite non-directory {target} with directory {source}")
    if entry.kind != "directory" and there.kind == "directory":
        raise CommandError(f"cannot overwrite directory {target} with non-directory")
