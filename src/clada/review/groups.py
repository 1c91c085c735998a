"""The operations of an answer, grouped by the file that they change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import clada
from clada.review.markup import MINUS
from clada.review.words import line_count

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


@dataclass(frozen=True)
class Shown:
    """One operation with all that the page shows of it."""

    item: Item
    preview: Preview
    prose: str
    gone: Mapping[str, bytes]  # files that it removes, and what they have now

    @property
    def index(self) -> int:
        """Its index in the document."""
        return self.preview.task.index

    @property
    def is_failing(self) -> bool:
        """Whether it would fail."""
        return self.preview.task.status == "error"

    @property
    def lacking(self) -> str | None:
        """Why a person has to approve it; None if that is not so."""
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
        return kinds.count("added"), kinds.count("removed") + sum(map(line_count, self.gone.values()))

    @property
    def paths(self) -> set[str]:
        """The files that it is about: those of a command as far as clada carries it out itself."""
        task = self.preview.task
        changed = {change.path for change in getattr(task.outcome, "changes", ()) if change.how != "moved"}
        return {task.path} if task.path else set(self.gone) or changed

    @property
    def name(self) -> str:
        """The operation and its target, in one line."""
        return f"{self.preview.task.operation} {self.preview.task.target}".split("\n")[0]


@dataclass(frozen=True)
class Group:
    """The operations on one file with no command between them; or one command."""

    name: str  # the path, or the first line of the command
    operations: tuple[Shown, ...]

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


def groups(operations: Sequence[Shown]) -> list[Group]:
    """Return the operations by file, in the order in which they are carried out: commands stay between."""
    found: dict[tuple[int, str], list[Shown]] = {}
    part = 0
    for each in operations:
        is_command = isinstance(each.item, clada.Run)
        part += is_command
        path = each.preview.task.path if not is_command else None
        found.setdefault((part, path or f"\0{each.index}"), []).append(each)
        part += is_command
    return [Group(each[0].preview.task.target.split("\n")[0], tuple(each)) for each in found.values()]
