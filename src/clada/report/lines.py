"""Status lines: one a task, in the words of the notation's family."""

from __future__ import annotations

from clada.model import Done, Failed, Skipped, Task
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.errors import Error

MOST_LINES = 10  # line numbers in one status line
VERBS = {"created": "created", "overwritten": "overwrote", "appended": "appended to"}
STAGES = {
    "git_operation_failed": "GIT",
    "lock_timeout": "LOCK",
    "input_too_large": "INPUT",
    "invalid_utf8": "INPUT",
    "io_error": "INPUT",
    "file_not_found": "INPUT",
    "permission_denied": "INPUT",
}


def status_line(task: Task, notation: str | None) -> str:
    """Return the line that says what came of a task."""
    text = _cml(task) if notation == "cml" else _plain(task, "SEARCH" if notation == "csl" else "EDIT")
    return f"[task-{task.label}] {text}"


def fatal_line(error: Error, notation: str | None) -> str:
    """Return the line that says why nothing was executed."""
    message = escape_controls(_with_hint(error.message, error))
    if notation == "cml":
        return f"[task-1] Error: {error.type}: {message}"
    return f"[task-1] FATAL: {error.stage or STAGES.get(error.type, 'PARSE')} - {message}"


def trouble_line(error: Error, notation: str | None) -> str:
    """Return the line that says what went wrong with the run as a whole, after its tasks."""
    message = escape_controls(_with_hint(error.message, error))
    if notation == "cml":
        return f"[run] Error: {error.type}: {message}"
    return f"[run] ERROR: {STAGES.get(error.type, 'RUN')} - {error.type}: {message}"


def block_line(label: str) -> str:
    """Return the line of a block that is not executed. CML has none: its tasks have lines of their own."""
    return f"[task-{label}] SKIP: TASKS - validation errors within block"


def _plain(task: Task, edit: str) -> str:
    """Return the text of CSL, JSON and TOML: STATUS: OPERATION - details."""
    operation = edit if task.operation == "edit" else escape_controls(task.operation.upper())
    outcome = task.outcome
    match outcome:
        case Done():
            return f"SUCCESS: {operation} - {_done(outcome)}"
        case Skipped():
            return f"SKIP: {operation} - {escape_controls(outcome.reason)}"
        case Failed():
            if task.invalid:
                return f"SKIP: {operation} - {escape_controls(outcome.error.message)}"
            return f"ERROR: {operation} - {_target(task)}: {_plain_error(outcome.error)}"


def _done(done: Done) -> str:
    target = escape_controls(first_line(done.target))
    if done.how == "edited":
        return f"{target} ({_replacements(done)} at {numbered_lines(done.lines)})"
    if done.how == "ran":
        return f"{target} (exit {done.exit_code})"
    if done.how in ("moved", "removed"):
        return target
    if done.how == "unchanged":
        return f"{target} (unchanged)"
    return f"{target} ({done.how}, {counted(done.bytes or 0, 'byte')})"


def _plain_error(error: Error) -> str:
    where = f" ({numbered_lines(error.lines)})" if error.lines else ""
    return f"{error.type}: {escape_controls(_with_hint(error.message + where, error))}"


def _cml(task: Task) -> str:
    outcome = task.outcome
    match outcome:
        case Done():
            return f"Success: {_cml_done(outcome)}"
        case Skipped():
            return f"Skipped: {escape_controls(outcome.reason)}"
        case Failed(error=error):
            target = _target(task) or escape_controls(task.operation)
            return escape_controls(_with_hint(f"Error: {error.type} in {target} ({error.message})", error))


def _cml_done(done: Done) -> str:
    target = escape_controls(first_line(done.target))
    if done.how == "edited":
        return f"edited {target} ({_replacements(done)})"
    if done.how == "ran":
        return f"ran {target} (exit {done.exit_code})"
    if done.how == "unchanged":
        return f"{target} unchanged"
    return f"{VERBS.get(done.how, done.how)} {target}"


def _target(task: Task) -> str:
    return escape_controls(first_line(task.target))


def _with_hint(text: str, error: Error) -> str:
    return f"{text}; {error.hint}" if error.hint else text


def _replacements(done: Done) -> str:
    return counted(done.count or 0, "replacement")


def first_line(text: str) -> str:
    """Return the first line of a text that has any, and a sign that there is more if there is."""
    if "\n" not in text:
        return text
    first, *more = [line for line in text.split("\n") if line.strip()] or [""]
    return f"{first.strip()} …" if more else first.strip()


def counted(number: int, noun: str) -> str:
    """Return a number of things, in grammar."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def numbered_lines(lines: tuple[int, ...]) -> str:
    """Return line numbers as a status line names them: each once, ten at most."""
    different = list(dict.fromkeys(lines))
    named = ", ".join(map(str, different[:MOST_LINES]))
    more = ", …" if len(different) > MOST_LINES else ""
    return f"{'line' if len(different) == 1 else 'lines'} {named}{more}"
