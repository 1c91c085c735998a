"""Cases: an answer, the tree it is applied to, and the trees that count as right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from applybench.formats import FORMATS
from applybench.hunks import Changes
from applybench.slips import SLIPS, Draft, build
from applybench.tasks import Task

Tree = dict[str, bytes]


@dataclass(frozen=True)
class Case:
    """One answer for one task, with what should happen."""

    task: str
    path: str
    format: str
    slip: str
    label: str
    answer: str
    tree: Tree
    right: tuple[Tree, ...]

    def is_right(self, tree: Tree) -> bool:
        """Return whether the edit was applied as it should be, byte for byte."""
        return tree in self.right


def cases_of(task: Task, seed: int, slips_per_format: int | None = None) -> Iterator[Case]:
    """Return the task's cases: all slips, or none and some others that the seed chooses for each format."""
    changes = Changes(task.before, task.after)
    for form in FORMATS:
        slips = [slip for slip in SLIPS if slip != "none"]
        if slips_per_format is not None:
            Random(f"{seed} {task.name} {form}").shuffle(slips)
        cases = (_case(task, changes, form, slip, seed) for slip in ("none", *slips))
        found = 0
        for case in cases:
            if case:
                yield case
                found += 1
            if slips_per_format is not None and found > slips_per_format:
                break


def _case(task: Task, changes: Changes, form: str, slip: str, seed: int) -> Case | None:
    draft = build(task, changes, form, slip, seed)
    if draft is None or draft.answer is None:
        return None
    before = task.before if draft.before is None else draft.before
    tree = {path: text.encode() for path, text in {**task.bystanders, task.path: before}.items()}
    return Case(
        task.name, task.path, form, slip, draft.label, draft.answer, tree, _right_trees(task, draft, tree)
    )


def _right_trees(task: Task, draft: Draft, tree: Tree) -> tuple[Tree, ...]:
    trees = [{**tree, task.path: text.encode()} for text in draft.right]
    if draft.neighbour is not None and task.neighbour:
        trees += [{**right, task.neighbour[0]: draft.neighbour.encode()} for right in trees]
    return tuple(right for right in trees if right != tree)
