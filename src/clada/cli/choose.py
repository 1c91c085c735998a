"""Choosing operations, and hunks of them, one question after the other."""

from __future__ import annotations

from clada.cli.pager import Pages
from clada.cli.questions import answer
from clada.engine import SIBLING
from clada.model import Skipped
from clada.notations.registry import UNKNOWN
from clada.operations import find
from clada.report import status_line
from clada.text.forms import visible
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.model import Plan
    from clada.report import Line
    from clada.report.diff import FileHunk
    from clada.selection import Chosen, Preview

KEYS = "[y] yes  [n] no  [a] yes to the rest  [q] no to the rest  [b] back  [?] "
ANSWERS = {
    "y": "yes", "yes": "yes", "n": "no", "no": "no", "a": "all", "q": "quit", "b": "back", "?": "help",
}  # fmt: skip
UNSEEN = "not run in a dry run: "  # what the reason starts with for which a plan runs no command
# Who says no to a failure may only mean that it cannot work: the model would be told that it is not wanted.
WOULD_FAIL = "  would fail: [y] tries it, and reports the error to the model; [n] reports it as not wanted"
HELP = (
    ("note", "y  carry this out"),
    ("note", "n  leave it out"),
    ("note", "a  carry out this and all that follow"),
    ("note", "q  leave out this and all that follow"),
    ("note", "b  go back to the one before"),
)


class Question(Value):
    """What can be chosen by itself: an operation, or one of several hunks of its file."""

    preview: Preview
    hunk: FileHunk | None


def choose(previews: Sequence[Preview], plan: Plan, options: dict[str, Any], terminal: int) -> Chosen | None:
    """Ask about each operation and hunk; return what is chosen, None where the answers end too early."""
    due = [each for each in previews if _can_be_chosen(each, plan)]
    questions = [Question(each, hunk) for each in due for hunk in _parts(each)]
    answers: list[bool] = []
    while len(answers) < len(questions):
        question = questions[len(answers)]
        pages = Pages(options["color"], terminal)
        pages.say(_shown(question, f"({len(answers) + 1}/{len(questions)})"))
        pages.close()
        pages.show()
        wish = "help"
        while wish == "help":
            wish = answer(terminal, None, KEYS, ANSWERS) or ""
            if wish == "help":
                pages.explain(HELP)
        if not wish:
            return None
        if wish == "back":
            del answers[-1:]
            continue
        rest = len(questions) - len(answers) if wish in ("all", "quit") else 1
        answers += [wish in ("yes", "all")] * rest
    return _chosen(questions, answers)


def _can_be_chosen(each: Preview, plan: Plan) -> bool:
    outcome = each.task.outcome
    of_invalid_block = isinstance(outcome, Skipped) and outcome.reason == SIBLING
    return not (each.task.invalid or of_invalid_block or each.task.index in plan.left_out)


def _parts(each: Preview) -> Sequence[FileHunk | None]:
    """Return the hunks of an operation, if there are several; else nothing in particular, once."""
    return each.hunks if len(each.hunks) > 1 else (None,)


def _shown(question: Question, place: str) -> list[Line]:
    """Return what the question is about: the operation, its command in full, the hunk."""
    task, hunk = question.preview.task, question.hunk
    kind, text = status_line(task, UNKNOWN)  # the same words for all notations
    _label, _, text = text.partition(" ")
    if task.ok:  # nothing has been done yet, so that no status is due
        text = text.partition(": ")[2].replace(UNSEEN, "")
    part = f", hunk {hunk.number} of {hunk.of}" if hunk else ""
    lines: list[Line] = [("note", ""), (kind, f"{place} task {task.label}: {text}{part}")]
    if task.error:
        lines.append(("note", WOULD_FAIL))
    operation = find(task.operation)
    if operation and operation.is_command:
        lines += [("detail", f"  | {visible(line)}") for line in task.target.strip("\n").split("\n")]
    for each in (hunk,) if hunk else question.preview.hunks:
        lines += each.lines
    return lines


def _chosen(questions: Sequence[Question], answers: Sequence[bool]) -> Chosen:
    chosen: dict[int, tuple[FileHunk, ...] | None] = {}
    for question, wanted in zip(questions, answers, strict=True):
        index, hunk = question.preview.task.index, question.hunk
        if hunk is None:
            chosen[index] = None if wanted else ()
        else:
            chosen[index] = (*(chosen.get(index) or ()), *((hunk,) if wanted else ()))
    return chosen
