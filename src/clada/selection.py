"""Choose parts of a plan: whole operations, or single hunks of the file that one changes.

`preview` shows what each operation would do, `select` returns the plan of the chosen parts, and `warnings`
names chosen operations that depend on others that were left out. Where a search text has no clear match,
`find_places` names the lines that it may mean, and `choose_place` has the edit apply there.
"""

from __future__ import annotations

import os

from clada.errors import CladaError
from clada.model import BY_USER, EDITED, Change, Done, Operation
from clada.operations.edit import EXACT, Edit
from clada.report.diff import FileHunk, compared_lines, file_hunks
from clada.run import execute
from clada.text.diff import common_start, split_lines
from clada.values import Value
from clada.world.files.paths import display_path
from clada.world.files.tree import content_of
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from clada.model import Invalid, Outcome, Plan, Task
    from clada.report import Report
    from clada.settings import Settings
    from clada.world.secrets.mask import Mask
    from clada.world.world import World

    # The chosen operations by index: None for the whole operation, or some of its hunks.
    Chosen = Mapping[int, tuple[FileHunk, ...] | None]

NOT_CHOSEN = "not chosen"
MAX_NAMED = 5  # tasks that a warning names
MAX_COMPARED = 2_000_000_000  # upper limit of bytes that a preview compares
MAX_KEPT = 100_000_000  # upper limit of bytes of files that previews keep
MAX_PLACES = 8  # lines of a file that one search text may mean


class Preview(Value):
    """The effect that one operation would have after all operations before it."""

    task: Task  # of a dry run
    hunks: tuple[FileHunk, ...] = ()  # of its file; empty for binary or huge files
    before: bytes | None = None  # what its file has; None if there is no such file, or too much was kept
    sizes: tuple[int, int] | None = None  # bytes of its file before and after
    is_binary: bool = False


class Place(Value):
    """Lines of a file that a search text may mean."""

    first: int
    last: int
    text: str
    difference: tuple[
        tuple[str, str], ...
    ]  # from the search text, as lines of a diff; empty if it is the same


def preview(plan: Plan, settings: Settings, **callbacks: Any) -> tuple[Report, tuple[Preview, ...]]:
    """Execute a plan as a dry run; return the report and the preview of each operation."""
    seen = _Seen()
    watched = _map_operations(
        plan, lambda index, item: _in_place_of(item, _Watched, item, index, seen) if item.in_part else item
    )
    report = execute(watched, settings=settings.replace(dry_run=True), **callbacks)
    return report, tuple(seen.preview(task) for task in report.tasks)


def mask_of(report: Report) -> Mask:
    """Return the mask that removes the values of secret files from the diff of a dry run."""
    return mask_of_changes(report.changes, report.reveal)


def find_places(item: Operation | Invalid, shown: Preview) -> tuple[Place, ...]:
    """Return the lines that the search text of a failed edit may mean: its matches, or the closest lines."""
    error, data = shown.task.error, shown.before
    if not error or data is None or not isinstance(item, Edit) or not _has_one_text(item):
        return ()
    search = item.hunks[0].search
    if error.lines:
        spans = [(line, line + search.rstrip("\n").count("\n")) for line in dict.fromkeys(error.lines)]
    elif error.nearest:
        spans = [(error.nearest.first_line, error.nearest.last_line), *error.nearest.others]
    else:
        return ()
    lines = data.decode(errors="replace").replace("\r\n", "\n").split("\n")
    return tuple(_place_at(search, lines, *span) for span in spans[:MAX_PLACES])


def _has_one_text(item: Edit) -> bool:
    """Whether an edit replaces one text, once."""
    hunk = item.hunks[0]
    others = hunk.search_end or hunk.anchors or hunk.at_end or hunk.instead or hunk.after_line
    return len(item.hunks) == 1 and item.count == 1 and bool(hunk.search) and not others


def _place_at(search: str, lines: Sequence[str], first: int, last: int) -> Place:
    text = "\n".join(lines[first - 1 : last])
    wanted = search.removesuffix("\n")
    if wanted in text:  # a match may begin and end within a line
        return Place(first, last, text, ())
    return Place(first, last, text, tuple(compared_lines(f"{wanted}\n".encode(), f"{text}\n".encode())))


def choose_place(plan: Plan, index: int, place: Place) -> Plan:
    """Return the plan in which an edit replaces these lines, as chosen by the user."""
    return _map_operations(plan, lambda at, item: _move_to_place(item, place) if at == index else item)


def select(plan: Plan, chosen: Chosen, reasons: Mapping[int, str] | None = None) -> Plan:
    """Return the plan of the chosen parts. Operations that are not chosen stay in it, marked as left out.

    An operation of which only some hunks are chosen, or some are edited, applies those, and fails if their
    lines, with context, are not as they were shown. Invalid operations can neither be chosen nor left out.
    `reasons` has what the user says of operations that are left out.
    """
    left_out = {
        index: f"{NOT_CHOSEN}: {reasons[index]}" if reasons and index in reasons else NOT_CHOSEN
        for index, item in enumerate(plan.operations)
        if isinstance(item, Operation) and chosen.get(index, ()) == ()
    }

    def part(index: int, item: Operation) -> Operation:
        hunks = chosen.get(index)
        is_whole = not hunks or (len(hunks) == hunks[0].of and not any(hunk.edited for hunk in hunks))
        if is_whole:
            return item
        ordered = tuple(sorted(hunks or (), key=lambda hunk: hunk.number))
        return _in_place_of(item, _Part, ordered, item.in_part, getattr(item, "remarks", ()))

    return _map_operations(plan, part).replace(left_out={**plan.left_out, **left_out})


def warnings(plan: Plan, labels: Sequence[str]) -> list[str]:
    """Return warnings on chosen operations that depend on others left out; `labels` are those of the tasks.

    An operation depends on others that write, move or remove its file, a command on all of its block, an
    atomic block on all of its operations. Whether one edit needs another of the same file, a dry run shows.
    """
    found: list[str] = []
    lacking: dict[str, list[str]] = {}  # tasks left out so far, by path
    without: dict[str, list[str]] = {}  # chosen tasks that use these paths
    index = 0
    for block in plan.blocks:
        in_block: list[str] = []
        for item in block.operations:
            label, is_left_out = labels[index], index in plan.left_out
            index += 1
            changes = item.paths if isinstance(item, Operation) and item.changes_files else ()
            paths = [os.path.normpath(path.replace("\\", "/")) for path in changes]
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
            found.append(f"an atomic block runs without {_tasks(in_block)}")
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


def _map_operations(plan: Plan, change: Callable[[int, Operation], Operation]) -> Plan:
    """Return the plan with `change(index, operation)` in place of each valid operation."""
    blocks, index = [], 0
    for block in plan.blocks:
        items = []
        for item in block.operations:
            items.append(change(index, item) if isinstance(item, Operation) else item)
            index += 1
        blocks.append(block.replace(operations=tuple(items)))
    return plan.replace(blocks=tuple(blocks))


class _Substitute(Operation):
    """An operation that replaces another and is reported under its name."""

    name: str  # type: ignore[misc]  # an instance attribute here
    target: str
    path: str
    dialect: str

    fields: ClassVar = ()
    only_its_paths: ClassVar = True

    @property
    def paths(self) -> tuple[str, ...]:
        """The path."""
        return (self.path,)


def _in_place_of(item: Any, kind: Any, *fields: Any) -> Operation:
    """Return a substitute of this kind for an operation, with these fields of its own."""
    taken_over = item.line, item.span, item.attributes, item.name, item.target, item.path, item.dialect
    made: Operation = kind(*taken_over, *fields)
    return made


class _Seen:
    """Collects what operations do to their files."""

    def __init__(self) -> None:
        self._files: dict[int, Preview] = {}  # by the index of the operation; without its task
        self._room, self._kept = MAX_COMPARED, MAX_KEPT

    def add(self, index: int, before: bytes | None, after: bytes | None) -> None:
        """Add the change of one operation."""
        old, new = before or b"", after or b""
        self._room -= len(old) + len(new)
        is_binary = b"\0" in old or b"\0" in new
        hunks: Sequence[FileHunk] | None = ()
        if self._room >= 0 and old != new and not is_binary:
            hunks = file_hunks(old, new)
        self._kept -= len(old)
        kept = before if self._kept >= 0 and not is_binary else None
        make: Any = Preview
        self._files[index] = make(None, tuple(hunks or ()), kept, (len(old), len(new)), is_binary)

    def preview(self, task: Task) -> Preview:
        """Return the preview of a task; one that fails changes nothing."""
        seen = self._files.get(task.index)
        if seen is None:
            return Preview(task)
        return seen.replace(task=task) if task.ok else Preview(task, before=seen.before)


class _Watched(_Substitute):
    """Executes an operation and collects the hunks of its change."""

    inner: Operation
    index: int
    seen: _Seen

    def apply(self, world: World) -> Outcome:
        """Execute it."""
        before = after = content_of(world.files, self.path)
        try:
            outcome = self.inner.apply(world)
            after = content_of(world.files, self.path)
        finally:
            self.seen.add(self.index, before, after)
        return outcome


class _Placed(_Substitute):
    """Executes an edit at the lines that the user chose."""

    inner: Edit
    remarks: tuple[str, ...]

    in_part: ClassVar = Edit.in_part

    @property
    def holds(self) -> str | None:
        """The path, as of the edit."""
        return self.inner.holds

    def apply(self, world: World) -> Outcome:
        """Execute it."""
        done = self.inner.apply(world)
        return done.replace(remarks=(*done.remarks, *self.remarks))


def _move_to_place(edit: Any, place: Place) -> Operation:
    """Return the edit of these lines."""
    hunk = edit.hunks[0]
    if place.difference:  # only similar, so these lines are replaced as a whole
        end = "\n" if hunk.search.endswith("\n") else ""
        replacement = _indent_like(hunk.replacement, hunk.search, place.text)
        hunk = hunk.replace(search=place.text + end, replacement=replacement)
    inner = edit.replace(hunks=(hunk.replace(near=place.first),), match=EXACT)
    lines = f"line {place.first}" if place.first == place.last else f"lines {place.first}-{place.last}"
    return _in_place_of(edit, _Placed, inner, (f"{lines} chosen {BY_USER}",))


def _indent_like(text: str, searched: str, found: str) -> str:
    """Return the new lines indented as much more, or less, as the found lines are than the searched ones."""
    old, new = (each[: len(each) - len(each.lstrip(" \t"))] for each in (searched, found))
    if new.startswith(old):
        more = new.removeprefix(old)
        return "".join(more + line if line.strip() else line for line in text.splitlines(keepends=True))
    less = old.removeprefix(new)
    return "".join(line.removeprefix(less) for line in text.splitlines(keepends=True))


class _Part(_Substitute):
    """Applies only the chosen hunks of an operation, and those that the user edited as they are now."""

    hunks: tuple[FileHunk, ...]
    how: str  # result in the report
    remarks: tuple[str, ...]

    is_part: ClassVar = True

    def apply(self, world: World) -> Outcome:
        """Apply all hunks, or none if one does not fit."""
        parts = world.files.locate(self.path)
        is_new = not any(hunk.old for hunk in self.hunks) and not world.files.entry(parts)
        data = b"" if is_new else world.files.load(parts)
        made, lines = _apply_hunks(data, self.hunks)
        remarks = (*self.remarks, *self._remarks())
        if made == data and not is_new:
            return Done("unchanged", self.path, remarks=remarks)
        world.files.store(parts, made)
        how = "created" if is_new else self.how
        changes = (Change(display_path(parts), how),)
        return Done(how, self.path, len(made), len(self.hunks), lines, changes=changes, remarks=remarks)

    def _remarks(self) -> Iterator[str]:
        """Yield remarks on the chosen hunks, if not all were chosen, and on edited ones."""
        if len(self.hunks) < self.hunks[0].of:
            numbers = ", ".join(str(hunk.number) for hunk in self.hunks)
            yield f"hunk{'' if len(self.hunks) == 1 else 's'} {numbers} of {self.hunks[0].of}"
        if any(hunk.edited for hunk in self.hunks):
            yield EDITED


def _apply_hunks(data: bytes, hunks: tuple[FileHunk, ...]) -> tuple[bytes, tuple[int, ...]]:
    """Return the text with the hunks applied, and the line number of each."""
    pieces, lines, at = [], [], 0
    for hunk in hunks:
        start = _place(data, hunk, at)
        pieces += [data[at:start], hunk.new]
        above = common_start(split_lines(hunk.old), split_lines(hunk.new))  # lines of context
        lines.append(data.count(b"\n", 0, start) + above + 1)
        at = start + len(hunk.old)
    return b"".join([*pieces, data[at:]]), tuple(lines)


def _place(data: bytes, hunk: FileHunk, after: int) -> int:
    """Return the offset of the lines of a hunk: at their line number, or where they occur once."""
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
    message = f"hunk {hunk.number} of {hunk.of} does not apply: its lines have changed since they were shown"
    raise CladaError("match_count_mismatch", message, "reload, and choose again")


def _fits(data: bytes, old: bytes, start: int) -> bool:
    """Whether these lines are at this offset, as whole lines."""
    end = start + len(old)
    begins = start == 0 or data[start - 1 : start] == b"\n"
    return begins and data.startswith(old, start) and (old.endswith(b"\n") or end == len(data))


def _offset(data: bytes, lines: int) -> int | None:
    """Return the offset after this number of lines; None if there are fewer."""
    at = 0
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if not at:
            return None
    return at
