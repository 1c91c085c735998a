"""The events of a run, as pages get them, and the answers of a person to its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clada
from clada.review.operations import describe_outcome, heading

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clada.review.choices import Choices
    from clada.review.page import Review

    Tell = Callable[..., None]

MAX_TEXT = 200_000  # characters of a report that a page shows
MAX_FAILURES = 100  # failures that are listed above a report
AND_MORE = "… and more, which the terminal will show\n"


class RunEvents:
    """Passes the events of a run on to pages, and answers for its commands."""

    def __init__(self, tell: Tell, review: Review, choices: Choices) -> None:
        self._tell = tell
        self._indexes = {each.task.label: each.task.index for each in review.previews}
        self._answers = {int(index): answer for index, answer in choices.answers.items()}
        # A page shows these errors already.
        self._planned_errors = {each.task.index: each.task.error for each in review.previews}
        self._current = -1

    def on_event(self, event: clada.Event) -> None:
        """Pass an event on."""
        match event:
            case clada.TaskStarted(label=label):
                self._current = self._indexes[label]
                self._tell("started", index=self._current)
            case clada.Output(label=label, lines=lines):
                self._tell("output", index=self._indexes[label], lines=lines)
            case clada.OutputTruncated(label=label):
                self._tell("output", index=self._indexes[label], lines=["[output truncated]"])
            case clada.TaskEnded(task=task):
                colour, words = describe_outcome(task, planned=False)
                if task.error and task.error == self._planned_errors[task.index]:
                    words = "failed"
                how = {"status": task.status, "colour": colour, "words": words, "failed": not task.ok}
                self._tell("ended", index=task.index, **how)
            case clada.Note(text=text):
                self._tell("note", text=text)
            case clada.BlockSkipped():
                pass  # its tasks are told each

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> Any:  # noqa: ARG002 (seen)
        """Answer for the command that runs now as the person did; None without an answer."""
        answer = self._answers.get(self._current)
        return answer if network or answer is None else answer.removesuffix("+network")


def report_event(report: clada.Report, review: Review, choices: Choices) -> dict[str, Any]:
    """Return a report as pages get it: failures first, and the text to copy for the model."""
    text = report.text()
    failures = [
        {"index": task.index, "text": f"{task.operation} {task.target}: {words}"}
        for task in report.tasks
        if not task.ok
        for _colour, words in [describe_outcome(task, planned=False)]
    ]
    return {
        "ok": report.ok,
        "heading": heading(report),
        "done": report.fatal is None,
        "failures": failures[:MAX_FAILURES],
        "text": text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n{AND_MORE}",
        "for_llm": report.text(for_llm=True) + _notes(choices, review),
        "can_undo": report.recorded is not None and report.undoable,
    }


def _notes(choices: Choices, review: Review) -> str:
    """Return the notes of the person for the model, except those that the report has as reasons."""
    told = choices.reasons()
    lines = []
    for key, note in choices.notes.items():
        index, _, number = key.partition(".")
        if number or int(index) not in told:
            task = review.previews[int(index)].task
            hunk = f"hunk {number} of " if number else ""
            what = f"{task.operation} {task.target.splitlines()[0]}"
            lines.append(f"- on {hunk}task {task.label} ({what}): {note}\n")
    return "".join(["\nThe user says:\n", *lines]) if lines else ""
