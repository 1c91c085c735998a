"""Choosing parts of a plan: the plan without what is left out, whether operations or hunks of a file.

`preview` says what each operation would do, `select` makes the plan of what was chosen, and `warnings` says
what depends on something that is left out.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.model import Change, Done, Operation
from clada.report.diff import FileHunk, file_hunks
from clada.run import execute
from clada.text.diff import split_lines
from clada.values import Value
from clada.world.files.paths import display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from clada.model import Outcome, Plan, Task
    from clada.report import Report
    from clada.settings import Settings
    from clada.world.world import World

    # What is chosen, by the index of the operation: None for all of it, or some of its hunks.
    Chosen = Mapping[int, tuple[FileHunk, ...] | None]

NOT_CHOSEN = "not chosen"
MAX_NAMED = 5  # tasks that a warning names
MAX_COMPARED = 2_000_000_000  # bytes of files, in all, of which the hunks are looked for


class Preview(Value):
    """What one operation would do, if all before it was done."""

    task: Task  # of a dry run
    hunks: tuple[FileHunk, ...] = ()  # of the one file that it changes; none where they cannot be told


def preview(plan: Plan, settings: Settings, **callbacks: Any) -> tuple[Report, tuple[Preview, ...]]:
    """Try a plan, touching nothing; return the report, and what each operation would do, in order."""
    seen = _Seen()
    watched = _mapped(plan, lambda index, item: _Watched.of(item, index, seen) if item.in_part else item)
    report = execute(watched, settings=settings.replace(dry_run=True), **callbacks)
    tasks = report.tasks
    return report, tuple(Preview(task, seen.hunks.get(task.index, ()) if task.ok else ()) for task in tasks)


def select(plan: Plan, chosen: Chosen) -> Plan:
    """Return the plan of what is chosen; the operations that are left out stay in it, and are reported so.

    An operation of which only some hunks are chosen makes those alone, and fails where their lines, with
    those around them, are not as they were shown. What is invalid can neither be chosen nor left out.
    """
    items = [item for block in plan.blocks for item in block.operations]
    left_out = {
        index: NOT_CHOSEN
        for index, item in enumerate(items)
        if isinstance(item, Operation) and chosen.get(index, ()) == ()
    }

    def part(index: int, item: Operation) -> Operation:
        hunks = chosen.get(index)
        return _Part.of(item, hunks) if hunks and len(hunks) < hunks[0].of else item

    return _mapped(plan, part).replace(left_out={**plan.left_out, **left_out})


def warnings(plan: Plan, labels: Sequence[str]) -> list[str]:
    """Return what depends on what was left out of a plan; `labels` are those of its tasks, by their index.

    These are operations on a file that another was to write, move or remove; commands, on all of their block;
    and blocks that are all or nothing. Whether an edit needs another of the same file, a dry run shows.
    """
    found: list[str] = []
    lacking: dict[str, list[str]] = {}  # by path: what is left out so far
    without: dict[str, list[str]] = {}  # by the path of these: what is chosen all the same
    index = 0
    for block in plan.blocks:
        in_block: list[str] = []
        for item in block.operations:
            label, is_left_out = labels[index], index in plan.left_out
            index += 1
            paths = [_normal(path) for path in item.paths] if isinstance(item, Operation) else []
            if is_left_out:
                in_block.append(label)
                for path in paths if not getattr(item, "holds", None) else ():
                    lacking.setdefault(path, []).append(label)
                continue
            if getattr(item, "is_command", False) and in_block:
                found.append(f"task {label} is a command that runs without {_tasks(in_block)} of its block")
            for place in {place for path in paths for place in _with_parents(path) if place in lacking}:
                without.setdefault(place, []).append(label)
        if in_block and block.atomic and len(in_block) < len(block.operations):
            found.append(f"a block that is all or nothing goes without {_tasks(in_block)}")
    changed = (
        f"{path}: {_tasks(labels)} without {_tasks(lacking[path])}" for path, labels in without.items()
    )
    return [*changed, *found]


def _with_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:size]) for size in range(1, len(parts) + 1)]


def _tasks(labels: Sequence[str]) -> str:
    named = ", ".join([*labels[:MAX_NAMED], *(["…"] if len(labels) > MAX_NAMED else [])])
    return f"task{'' if len(labels) == 1 else 's'} {named}"


def _normal(path: str) -> str:
    slashes = path.replace("\\", "/")
    return os.path.normpath(slashes)


def _mapped(plan: Plan, change: Callable[[int, Operation], Operation]) -> Plan:
    """Return the plan with each valid operation as this function makes it, of its index and itself."""
    blocks, index = [], 0
    for block in plan.blocks:
        items = []
        for item in block.operations:
            items.append(change(index, item) if isinstance(item, Operation) else item)
            index += 1
        blocks.append(block.replace(operations=tuple(items)))
    return plan.replace(blocks=tuple(blocks))


class _Instead(Operation):
    """An operation in the place of another, in whose name it is reported."""

    name: str  # type: ignore[misc]  # of each its own
    target: str
    path: str
    dialect: str

    fields: ClassVar = ()
    only_its_paths: ClassVar = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The path."""
        return (self.path,)

    @staticmethod
    def taken(item: Any) -> tuple[Any, ...]:
        """Return what it takes over."""
        return item.line, item.span, item.attributes, item.name, item.target, item.path, item.dialect


class _Seen:
    """What the operations of a plan change in their files, as far as that is looked for."""

    def __init__(self) -> None:
        self.hunks: dict[int, tuple[FileHunk, ...]] = {}  # by the index of the operation
        self._room = MAX_COMPARED

    def add(self, index: int, before: bytes | None, after: bytes | None) -> None:
        """Note what an operation has changed."""
        old, new = before or b"", after or b""
        self._room -= len(old) + len(new)
        if self._room >= 0 and old != new and b"\0" not in old and b"\0" not in new:
            self.hunks[index] = tuple(file_hunks(old, new) or ())


class _Watched(_Instead):
    """Carries out an operation, and notes what that changes in its file."""

    inner: Operation
    index: int
    seen: _Seen

    @classmethod
    def of(cls, item: Operation, index: int, seen: _Seen) -> _Watched:
        """Watch this operation."""
        make: Any = cls
        watched: _Watched = make(*cls.taken(item), item, index, seen)
        return watched

    def apply(self, world: World) -> Outcome:
        """Carry it out."""
        before = _content(world, self.path)
        outcome = self.inner.apply(world)
        self.seen.add(self.index, before, _content(world, self.path))
        return outcome


def _content(world: World, path: str) -> bytes | None:
    try:
        parts = world.files.locate(path)
        entry = world.files.entry(parts)
        return world.files.load(parts) if entry and entry.kind == "file" else None
    except CladaError:
        return None  # the operation itself will say why


class _Part(_Instead):
    """Makes the chosen hunks of what an operation would do, and no other."""

    hunks: tuple[FileHunk, ...]
    how: str  # what is reported as done

    is_part: ClassVar = True

    @classmethod
    def of(cls, item: Operation, hunks: tuple[FileHunk, ...]) -> _Part:
        """Make these hunks of an operation."""
        make: Any = cls
        part: _Part = make(*cls.taken(item), tuple(sorted(hunks, key=lambda hunk: hunk.number)), item.in_part)
        return part

    def apply(self, world: World) -> Outcome:
        """Put each hunk in its place, or none where one has no place."""
        parts = world.files.locate(self.path)
        data = world.files.load(parts)
        made, lines = _with_hunks(data, self.hunks)
        if made == data:
            return Done("unchanged", self.path)
        world.files.store(parts, made)
        numbers = ", ".join(str(hunk.number) for hunk in self.hunks)
        remark = f"hunk{'' if len(self.hunks) == 1 else 's'} {numbers} of {self.hunks[0].of}"
        return Done(
            self.how,
            self.path,
            bytes=len(made),
            count=len(self.hunks),
            lines=lines,
            changes=(Change(display_path(parts), self.how),),
            remarks=(remark,),
        )


def _with_hunks(data: bytes, hunks: tuple[FileHunk, ...]) -> tuple[bytes, tuple[int, ...]]:
    """Return the text with the hunks in their places, and the lines at which they are."""
    pieces, lines, at = [], [], 0
    for hunk in hunks:
        start = _place(data, hunk, at)
        pieces += [data[at:start], hunk.new]
        lines.append(data.count(b"\n", 0, start + _same_start(hunk)) + 1)
        at = start + len(hunk.old)
    return b"".join([*pieces, data[at:]]), tuple(lines)


def _same_start(hunk: FileHunk) -> int:
    """Return how long the lines are that stand around a hunk, before what it changes."""
    size = 0
    for old, new in zip(split_lines(hunk.old), split_lines(hunk.new), strict=False):
        if old != new:
            break
        size += len(old)
    return size


def _place(data: bytes, hunk: FileHunk, after: int) -> int:
    """Return where the lines of a hunk are: at their line, or wherever else they are once."""
    start = _offset(data, hunk.start)
    if start is not None and start >= after and _fits(data, hunk.old, start):
        return start
    found: list[int] = []
    start = data.find(hunk.old, after)
    while start >= 0 and len(found) < 2:  # noqa: PLR2004 (more than one is too many)
        if _fits(data, hunk.old, start):
            found.append(start)
        start = data.find(hunk.old, start + 1)
    if len(found) == 1:
        return found[0]
    message = f"hunk {hunk.number} of {hunk.of} has no place: its lines are not as they were shown"
    raise CladaError("match_count_mismatch", message, "look at it again, and choose again")


def _fits(data: bytes, old: bytes, start: int) -> bool:
    """Whether these lines stand here, and are whole ones."""
    end = start + len(old)
    begins = start == 0 or data[start - 1 : start] == b"\n"
    return begins and data.startswith(old, start) and (old.endswith(b"\n") or end == len(data))


def _offset(data: bytes, lines: int) -> int | None:
    """Return where the text goes on after so many lines."""
    at = 0
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if not at:
            return None
    return at
