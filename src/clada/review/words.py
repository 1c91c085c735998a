"""How an operation went, or would go, in a few words."""

from __future__ import annotations

import clada

# The words before a run are those of status lines of a plan.
WOULD = {
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
OF_KIND = {"delete": ("bad", WOULD["removed"]), "move": ("good", WOULD["moved"])}


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


def outcome(task: clada.Task, *, planned: bool, kind: str = "") -> tuple[str, str]:
    """Return how a task went, or would go: the class of its colour, and words."""
    if planned and kind in OF_KIND and task.status == "planned":
        return OF_KIND[kind]
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
            return "bad", f"rolled back: {_done(done, planned=planned)}"
        case clada.Done() as done:
            return "good", _done(done, planned=planned)


def _done(done: clada.Done, *, planned: bool) -> str:
    words = [WOULD.get(done.how, done.how) if planned else done.how]
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
