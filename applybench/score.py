"""Scores: what an applier made of a case.

| score | tree | the applier says |
|---|---|---|
| right | as expected, or untouched where it must refuse | anything; that it refuses |
| refused | untouched | that it refuses |
| half | changed in another way than expected | that something failed |
| wrong | anything else | that it succeeded |
| crashed | anything else | an unexpected end, or none in time |
"""

from __future__ import annotations

from dataclasses import dataclass

from applybench.cases import Case, Tree
from applybench.slips import REFUSE

SCORES = ("right", "refused", "half", "wrong", "crashed")


@dataclass(frozen=True)
class Outcome:
    """What an applier says: success, failure, or None if it crashed."""

    success: bool | None
    message: str = ""


def score(case: Case, outcome: Outcome, after: Tree) -> str:
    """Return the score of an applier that left this tree."""
    if case.is_right(after):
        return "right"
    if outcome.success is None:
        return "crashed"
    if outcome.success:
        return "wrong"
    if after != case.tree:
        return "half"
    return "right" if case.label == REFUSE else "refused"
