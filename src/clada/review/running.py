"""What pages are told of a run, and how it is answered for the person who chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import clada
from clada.review.words import heading, outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clada.review.choices import Choices
    from clada.review.page import Review

    Tell = Callable[..., None]

MAX_TEXT = 200_000  # characters of a report that a page shows
MAX_FAILURES = 100  # failures that are listed above a report
AND_MORE = "… and more, which the terminal will show\n"


class Running:
    """Tells the events of a run, and answers for its commands."""

    def __init__(self, tell: Tell, review: Review, choices: Choices) -> None:
        self._tell = tell
        self._indexes = {each.task.label: each.task.index for each in review.previews}
        self._answers = {int(index): answer for index, answer in choices.answers.items()}
        self._current = -1

    def take(self, event: clada.Event) -> None:
        """Tell an event."""
        match event:
            case clada.TaskStarted(label=label):
                self._current = self._indexes[label]
                self._tell("started", index=self._current)
            case clada.Output(label=label, lines=lines):
                self._tell("output", index=self._indexes[label], lines=lines)
            case clada.OutputTruncated(label=label):
                self._tell("output", index=self._indexes[label], lines=["[output truncated]"])
            case clada.TaskEnded(task=task):
                colour, words = outcome(task, planned=False)
                how = {"status": task.status, "colour": colour, "words": words, "failed": not task.ok}
                self._tell("ended", index=task.index, **how)
            case clada.Note(text=text):
                self._tell("note", text=text)
            case clada.BlockSkipped():
                pass  # its tasks are told each

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> Any:  # noqa: ARG002 (seen)
        """Answer for the command that runs now: as the person did who saw it; None if they did not."""
        answer = self._answers.get(self._current)
        return answer if network or answer is None else answer.removesuffix("+network")


def report_event(report: clada.Report, review: Review, choices: Choices) -> dict[str, Any]:
    """Return what pages show of a report: failures first, and what is copied for the model."""
    text = report.text()
    failures = [
        {"index": task.index, "text": f"{task.operation} {task.target}: {outcome(task, planned=False)[1]}"}
        for task in report.tasks
        if not task.ok
    ]
    return {
        "ok": report.ok,
        "heading": heading(report),
        "done": report.fatal is None,
        "failures": failures[:MAX_FAILURES],
        "text": text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n{AND_MORE}",
        "for_llm": report.text(for_llm=True) + _notes(choices, review),
        "recorded": report.recorded,
    }


def _notes(choices: Choices, review: Review) -> str:
    """Return what the person says of operations and hunks, for the model; the report has reasons."""
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
