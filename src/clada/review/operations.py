"""The operations of an answer as a page shows them: their kind and outcome, grouped by file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import clada
from clada.review.markup import MINUS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clada.selection import Preview

    Item = clada.Operation | clada.Invalid

# Badge and name of each kind of operation, the most notable first.
KINDS = {
    "failing": ("!", "will fail"),
    "command": ("$", "command"),
    "delete": (MINUS, "deleted"),
    "move": ("→", "moved"),
    "new": ("+", "new"),
    "replace": ("↻", "replaced"),
    "edit": ("~", "edited"),
    "other": ("·", "other"),
}
RESULTS = {
    "created": "new",
    "overwritten": "replace",
    "removed": "delete",
    "moved": "move",
    "edited": "edit",
    "merged": "edit",
}
# The words before a run are those of status lines of a plan.
PLANNED_WORDS = {
    "created": "would create",
    "overwritten": "would overwrite",
    "appended": "would append",
    "edited": "would edit",
    "moved": "would move",
    "removed": "would remove",
    "ran": "would run",
    "read": "would read",
    "merged": "would be merged",
}

# The same for commands that clada carries out itself, by the kind of what they do.
BY_KIND = {"delete": ("bad", PLANNED_WORDS["removed"]), "move": ("good", PLANNED_WORDS["moved"])}


def plural(number: int, noun: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(number: int) -> str:
    """Return a number of bytes in words."""
    for unit, bytes_ in (("MB", 1_000_000), ("KB", 1_000)):
        if number >= bytes_:
            return f"{number / bytes_:,.1f} {unit}"
    return plural(number, "byte")


def line_count(data: bytes) -> int:
    """Return how many lines a text has; the last may lack its line break."""
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


@dataclass(frozen=True)
class ShownOperation:
    """One operation as a page shows it."""

    item: Item
    preview: Preview
    prose: str
    deleted: Mapping[str, bytes]  # files that it removes, and what they have now

    @property
    def index(self) -> int:
        """Its index in the document."""
        return self.preview.task.index

    @property
    def is_failing(self) -> bool:
        """Whether it would fail."""
        return self.preview.task.status == "error"

    @property
    def needs_approval(self) -> str | None:
        """Why a person has to approve it; None if it needs no approval."""
        needed: str | None = getattr(self.preview.task.outcome, "needs_approval", None)
        return needed

    @property
    def kind(self) -> str:
        """One of KINDS."""
        task = self.preview.task
        if self.is_failing:
            return "failing"
        if isinstance(self.item, clada.Run):
            # Those of a command that clada carries out itself.
            ways = {change.how for change in getattr(task.outcome, "changes", ())}
            return "delete" if ways == {"removed"} else "move" if "moved" in ways else "command"
        how = getattr(getattr(task.outcome, "done", task.outcome), "how", "")
        if how == "unchanged":
            return "other"
        return RESULTS.get(how, "edit" if task.operation in ("edit", "write") else "other")

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines it adds and removes."""
        kinds = [kind for hunk in self.preview.hunks for kind, _text in hunk.lines]
        return kinds.count("added"), kinds.count("removed") + sum(map(line_count, self.deleted.values()))

    @property
    def paths(self) -> set[str]:
        """The files that it is about: those of a command as far as clada carries it out itself."""
        task = self.preview.task
        changed = {change.path for change in getattr(task.outcome, "changes", ()) if change.how != "moved"}
        return {task.path} if task.path else set(self.deleted) or changed

    @property
    def name(self) -> str:
        """The operation and its target, in one line."""
        return f"{self.preview.task.operation} {self.preview.task.target}".split("\n")[0]


@dataclass(frozen=True)
class Group:
    """The operations on one file with no command between them; or one command."""

    name: str  # the path, or the first line of the command
    operations: tuple[ShownOperation, ...]

    @property
    def kind(self) -> str:
        """The most notable kind of its operations."""
        kinds = {each.kind for each in self.operations}
        return next(kind for kind in KINDS if kind in kinds)

    @property
    def lines(self) -> tuple[int, int]:
        """How many lines it adds and removes."""
        added, removed = zip(*(each.lines for each in self.operations), strict=True)
        return sum(added), sum(removed)

    @property
    def id(self) -> str:
        """The id of its card."""
        return f"file-{self.operations[0].index}"


def group_by_file(operations: Sequence[ShownOperation]) -> list[Group]:
    """Return the operations by file, in the order in which they are carried out: commands stay between."""
    found: dict[tuple[int, str], list[ShownOperation]] = {}
    part = 0
    for each in operations:
        is_command = isinstance(each.item, clada.Run)
        part += is_command
        path = each.preview.task.path if not is_command else None
        found.setdefault((part, path or f"\0{each.index}"), []).append(each)
        part += is_command
    return [Group(each[0].preview.task.target.split("\n")[0], tuple(each)) for each in found.values()]


# Words.


def describe_outcome(task: clada.Task, *, planned: bool, kind: str = "") -> tuple[str, str]:
    """Return how a task went, or would go: the class of its colour, and words."""
    if planned and kind in BY_KIND and task.status == "planned":
        return BY_KIND[kind]
    match task.outcome:
        case clada.Failed(error=error):
            return "bad", "would fail" if planned else f"failed: {error.message}"
        case clada.Skipped(reason=reason, needs_approval=lacking):
            if planned and lacking:
                return "wait", "needs your approval"
            if planned and reason.startswith("not run in a dry run"):
                return "", "runs without asking"
            return "wait", reason if reason.startswith("not chosen") else f"skipped: {reason}"
        case clada.RolledBack(done=done):
            return "bad", f"rolled back: {_describe_done(done, planned=planned)}"
        case clada.Done() as done:
            return "good", _describe_done(done, planned=planned)


def _describe_done(done: clada.Done, *, planned: bool) -> str:
    words = [PLANNED_WORDS.get(done.how, done.how) if planned else done.how]
    if done.count:
        words.append(plural(done.count, "replacement"))
    elif done.bytes is not None and done.how != "unchanged":
        words.append(size(done.bytes))
    if done.exit_code is not None and not planned:
        words.append(f"exit {done.exit_code}")
    return ", ".join([*words, *done.remarks])


def heading(report: clada.Report) -> str:
    """Return how a run went, in a few words."""
    if report.fatal:
        return "Nothing was carried out"
    tasks, failed, missed = len(report.tasks), report.count("error"), len(report.not_applied)
    unfinished = sum(not task.ok for task in report.tasks)
    left_out = report.count("skipped") - unfinished  # by a person
    rows = (
        (failed, f"{failed} of {tasks} failed"),
        (unfinished, f"{unfinished} of {tasks} not carried out"),
        (missed, f"{missed} of {tasks + missed} not applied"),
        (not tasks, "No operations were found"),
        (not report.ok, "Done, with an error"),
        (left_out == tasks, "Nothing was chosen"),
        (left_out, f"Done, {left_out} not chosen"),
    )
    return next((words for applies, words in rows if applies), "Done")
