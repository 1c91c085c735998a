"""cp and mv: copy files and directories, and move them; links are moved, and never copied."""

from __future__ import annotations

import os

from clada.operations.builtins.job import (
    NOT_A_DIRECTORY,
    BuiltInJob,
    CommandError,
    Operand,
    refuse_link,
    refuse_special,
)
from clada.operations.builtins.mkdir_chmod import ALL, umask
from clada.values import Value
from clada.world.files.tree import rename

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.world.files.paths import Parts
    from clada.world.files.stat import Entry

    Pair = tuple[Operand, Operand]  # a source and its target
    # What to copy of a source, by the path below it: first the source itself, with ().
    Items = list[tuple[Parts, Entry]]

OWNER_ALL, ANY_WRITE = 0o700, 0o222


# Sources and targets.


def read_pairs(job: BuiltInJob) -> list[Pair]:
    """Return each source with its target: the last operand, or a path in it if it is a directory."""
    operands = job.locate_all()
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
        return [(source, _target_in(target, source)) for source in sources]
    if len(sources) > 1:
        why = NOT_A_DIRECTORY if entry else job.why_missing(target, f"target {target}")
        raise CommandError(f"target {target}: {why}")
    return [(sources[0], target)]


def _is_respelled(job: BuiltInJob, sources: list[Operand], target: Operand, there: Entry) -> bool:
    """Whether a directory is renamed in letter case only, on a file system that ignores it."""
    if len(sources) > 1 or target.slash or job.name != "mv":
        return False
    entry = job.entry(sources[0], f"cannot stat {sources[0]}")
    return entry is not None and job.relation(sources[0], entry, target, there) == "respelled"


def _target_in(directory: Operand, source: Operand) -> Operand:
    """Return the target for a source in a directory; for `.` and `..` it is the directory itself."""
    if source.name in (".", ".."):
        return Operand(directory.below(".").text, directory.parts)
    return directory.below(source.name)


def target_entry(job: BuiltInJob, target: Operand) -> Entry | None:
    """Return the entry of a target, or None; raise if it may not be replaced."""
    what = f"cannot stat {target}"
    entry = job.entry(target, what)
    refuse_special(target, entry)
    if entry is None:
        if job.why_missing(target, what) == NOT_A_DIRECTORY:
            raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
    elif target.slash and entry.kind != "directory":
        raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
    return entry


def keeps_target(job: BuiltInJob, entry: Entry, there: Entry) -> bool:
    """Whether the existing target is kept: by -n, or by -u if it is not older."""
    is_directory = entry.kind == "directory"
    if job.has("u") and not is_directory and there.modified >= entry.modified:
        return True
    return job.has("n") and (job.name == "mv" or not is_directory)


def refuse_clash(source: Operand, entry: Entry, target: Operand, there: Entry) -> None:
    """Raise CommandError if a directory would replace a file, or the other way round."""
    if entry.kind == "directory" and there.kind != "directory":
        raise CommandError(f"cannot overwrite non-directory {target} with directory {source}")
    if entry.kind != "directory" and there.kind == "directory":
        raise CommandError(f"cannot overwrite directory {target} with non-directory")


# mv.


def mv(job: BuiltInJob) -> None:
    """Move each source."""
    arrived: set[Parts] = set()
    job.each(
        read_pairs(job),
        lambda pair: _check_move(job, pair),
        lambda pair, entry: _move(job, pair, entry, arrived),
    )


def _check_move(job: BuiltInJob, pair: Pair) -> Entry:
    """Return the entry of the source, if it may be moved to its target."""
    source, target = pair
    entry = job.existing(source, f"cannot stat {source}")
    job.refuse_moving_workspace(source)
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
        if keeps_target(job, entry, there):
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
    job.note_change(source, "removed")
    job.note_change(target, "moved")
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
        job.require_parent(target, what)
        if target.slash and entry.kind != "directory":
            raise CommandError(f"{what}: {NOT_A_DIRECTORY}")


# cp.


class CopyOptions(Value):
    """Options of a cp."""

    recursive: bool
    keep_mode: bool
    keep_times: bool
    umask: int


def cp(job: BuiltInJob) -> None:
    """Copy each source."""
    kept = (job.value("preserve") or "").split(",")
    everything = job.has("p", "a") or "all" in kept or job.options.get("preserve") is True
    options = CopyOptions(
        recursive=job.has("r", "R", "a"),
        keep_mode=everything or "mode" in kept,
        keep_times=everything or "timestamps" in kept,
        umask=umask(),
    )
    copier = Copier(job, options)
    job.each(read_pairs(job), copier.check, copier.copy)


class Copier:
    """Carries out one cp."""

    def __init__(self, job: BuiltInJob, options: CopyOptions) -> None:
        self.job, self.options = job, options
        self._copied: set[Parts] = set()  # sources
        self._made: set[Parts] = set()  # targets

    def check(self, pair: Pair) -> Items:
        """Return the entries to copy; neither these nor those that they replace may be links."""
        source, target = pair
        entry = self.job.existing(source, f"cannot stat {source}")
        refuse_special(source, entry)
        there = target_entry(self.job, target)
        if entry.kind != "directory":
            return [((), entry)]
        if not self.options.recursive:
            raise CommandError(f"-r not specified; omitting directory {source}")
        below = self.job.tree(source, f"cannot access {source}")
        for rest, kind in below:
            refuse_special(source.below(*rest), kind)
            if there:
                replaced = target.below(*rest)
                refuse_special(replaced, self.job.entry(replaced, f"cannot stat {replaced}"))
        return [((), entry), *reversed(below)]

    def copy(self, pair: Pair, items: Items) -> None:
        """Copy a source with all that is below it, then set the final modes and times of directories."""
        source, target = pair
        kind = items[0][1].kind
        if source.parts in self._copied:
            self.job.say(f"cp: warning: source {kind} {source} specified more than once")
            return
        if source.parts == target.parts and self.job.has("n"):
            return
        if source.parts == target.parts:
            raise CommandError(f"{source} and {target} are the same file")
        if kind == "directory" and target.parts[: len(source.parts)] == source.parts:
            raise CommandError(f"cannot copy a directory, {source}, into itself, {target}")
        if kind != "directory" and target.parts in self._made:
            raise CommandError(f"will not overwrite just-created {target} with {source}")
        self._copied.add(source.parts)
        what = f"cannot create {target}"
        if self.job.entry(target, what) is None:  # all of it is new: check the limits before it begins
            size = sum(entry.size for _rest, entry in items if entry.kind == "file")
            self.job.attempt(what, target, self.job.files.limits.check, len(items), size)
        made = self._copy_all(source, target, items)
        for rest, entry in reversed(items):
            if entry.kind == "directory" and rest in made:
                self._finish(target.below(*rest), entry, new=made[rest])

    def _copy_all(self, source: Operand, target: Operand, items: Items) -> dict[Parts, bool]:
        """Copy each item; return the directories that exist now, and whether each is new."""
        made: dict[Parts, bool] = {}
        for rest, entry in items:
            if rest and rest[:-1] not in made:
                continue  # the directory above could not be made, which was printed
            try:
                new = self._copy_one(source.below(*rest), target.below(*rest), entry)
            except CommandError as error:
                self.job.complain(error)
                continue
            if entry.kind == "directory":
                made[rest] = new
            if new and not (rest and made[rest[:-1]]):  # a new directory is one change
                self.job.note_change(target.below(*rest), "created")
        return made

    def _copy_one(self, source: Operand, target: Operand, entry: Entry) -> bool:
        """Copy one entry; return whether the target is new."""
        there = target_entry(self.job, target)
        if there:
            if keeps_target(self.job, entry, there):
                return False
            if entry.kind != "directory" and self.job.relation(source, entry, target, there):
                raise CommandError(f"{source} and {target} are the same file")
            refuse_clash(source, entry, target, there)
        if entry.kind != "directory":
            self._write(source, target, entry, there)
        elif there is None:
            self._make_directory(source, target, entry)
        return there is None

    def _make_directory(self, source: Operand, target: Operand, entry: Entry) -> None:
        what = f"cannot create directory {target}"
        self.job.require_parent(target, what)
        mode = entry.mode & ALL | OWNER_ALL  # so that it can be filled
        self.job.attempt(what, target, self.job.files.make, target.parts, mode)
        self._say_copied(source, target)

    def _write(self, source: Operand, target: Operand, entry: Entry, there: Entry | None) -> None:
        files = self.job.files
        what = f"cannot create regular file {target}"
        if there is None:
            self.job.require_parent(target, what)
            if target.slash:
                raise CommandError(f"{what}: {NOT_A_DIRECTORY}")
        # As in GNU cp, a file without any write permission is replaced only with -f.
        elif not there.mode & ANY_WRITE and not self.job.has("f") and os.geteuid() != 0:
            raise CommandError(f"{what}: Permission denied")
        data = self.job.attempt(f"cannot open {source} for reading", source, files.load, source.parts)
        mode = None if there and not self.options.keep_mode else self._mode(entry)
        self.job.attempt(what, target, files.store, target.parts, data, mode)
        self._made.add(target.parts)
        if there:
            self.job.note_change(target, "overwritten")
        self._keep_times(target, entry)
        self._say_copied(source, target)

    def _mode(self, entry: Entry) -> int:
        """Return the mode of a copy, without setuid, setgid and sticky."""
        return entry.mode & ALL & ~(0 if self.options.keep_mode else self.options.umask)

    def _finish(self, target: Operand, entry: Entry, *, new: bool) -> None:
        """Set the mode and times of a directory, now that it is filled."""
        mode = self._mode(entry)
        if self.options.keep_mode or (new and entry.mode & OWNER_ALL != OWNER_ALL):
            what = f"preserving permissions for {target}"
            self.job.attempt(what, target, self.job.files.set_mode, target.parts, mode)
        self._keep_times(target, entry)

    def _keep_times(self, target: Operand, entry: Entry) -> None:
        if self.options.keep_times:
            what = f"preserving times for {target}"
            times = (entry.modified, entry.modified)
            self.job.attempt(what, target, self.job.files.set_times, target.parts, *times)

    def _say_copied(self, source: Operand, target: Operand) -> None:
        if self.job.has("v"):
            self.job.say(f"{source} -> {target}")
