"""The report for a model: what it needs to continue, and what to send next. It is short if all went well.

It names no flags, because a model cannot pass any.
"""

from __future__ import annotations

import re

from clada.model import Failed, RolledBack, Skipped
from clada.notations.detect import NOTHING_FOUND as NO_OPERATIONS
from clada.notations.registry import NOTATIONS, UNKNOWN, title
from clada.report import counted, failure_lines, is_command, status_line
from clada.report.details import details_title, shortened
from clada.settings import Settings
from clada.text.escape import escape_controls, fence_for
from clada.text.explain import ALREADY_THERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clada.errors import Error
    from clada.model import Outcome, Task
    from clada.notations.registry import Notation
    from clada.report import Report

MAX_OUTPUT = 200  # lines of a command's output: the first few, and the last
FIRST = 20
INDENT = "    "
BEFORE = "before"  # how a task ended that a run before this one did
# The words of each status in the overview: after a run, and in a plan.
WORDS = {
    "success": "done", BEFORE: "done before", "error": "failed", "skipped": "skipped",
    "rolled_back": "rolled back",
}  # fmt: skip
PLAN_WORDS = {
    "planned": "planned", BEFORE: "done before", "error": "would fail", "skipped": "not tried",
    "rolled_back": "would be rolled back",
}  # fmt: skip
FINISHED = ("success", BEFORE)
NOTHING_FOUND = "No operations were found."
CORRECT = "Next: nothing was carried out. Correct the document, and send all of it again."
NOT_AT_FAULT = "Next: nothing was carried out, but the document is not at fault: do not change it."
# The errors for which a run does not begin, and which only another document can mend.
OF_DOCUMENTS = re.compile("malformed_.*|unsupported_version|invalid_utf8|input_too_large|invalid_operation")
NOT_WANTED = "What was not chosen is not wanted: do not send it again."
READ_MERGED = "Merged files differ from what you saw: read them before you change them again."
READ_EDITED = "The user edited these changes: read the files before you change them again."
# How each begins: with the overview, or with why nothing was carried out.
REPORT_START = (
    r"(The operation|All \d+ operations) (was|were|would be) carried out\.\n"
    r"|Of \d+ operations?: [^\n]*\.\n|\[task-1\] (FATAL: |Error: )|No operations were found\.\n"
)


def summary(report: Report) -> str:
    """Return the report of a run for a model."""
    notation = NOTATIONS.get(report.notation or "", UNKNOWN)
    parts = [_overview(report), *_failures(report, notation)]
    for task in report.tasks:
        is_read = task.status == "success" and task.operation == "read"  # an empty file has no output
        is_users = getattr(task.outcome, "is_users", False)
        is_told = task.output or task.is_part or is_read or is_users or task.is_merged
        if is_told or _status_of(task) not in (*FINISHED, "planned"):
            line = status_line(_task_for_model(task), notation)[1]
            about = (
                *_advice(task.outcome, report),
                *_remedy(task),
                *_explain(task),
                *_repairs(task),
                *_output(task),
            )
            parts.append("\n".join([line, *about]))
    notes = [note for note in report.notes if note != NO_OPERATIONS]  # the overview says that
    parts += [f"Note: {escape_controls(without_flags(note))}" for note in notes]
    parts.append(_next_step(report))
    return "\n\n".join(part for part in parts if part) + "\n"


def _failures(report: Report, notation: Notation) -> Iterator[str]:
    """Yield what went wrong with the document, or with the run as a whole, and what to write next."""
    plain = report.replace(
        fatal=_error_for_model(report.fatal) if report.fatal else None,
        error=_error_for_model(report.error) if report.error else None,
        not_applied=tuple(each.replace(why=without_flags(each.why)) for each in report.not_applied),
    )
    for kind, text in failure_lines(plain, notation):
        fatal = Failed(report.fatal) if report.fatal and kind == "fatal" else None
        yield "\n".join([text, *_advice(fatal, report)])


def _advice(outcome: Outcome | None, report: Report) -> Iterator[str]:
    """Yield what to send after a failure, if that is known and no corrected block follows."""
    advice = ""
    if isinstance(outcome, Failed) and _is_already_applied(outcome.error):
        advice = "nothing: this edit is already applied"
    elif isinstance(outcome, Failed) and not outcome.error.repairs:
        advice = _what_to_send(outcome.error.message, outcome.error.type, report.notation)
    elif isinstance(outcome, Skipped) and not outcome.left_out:
        advice = _what_to_send(outcome.reason, "", report.notation)
    if advice:
        yield f"  send next: {advice}"


def _remedy(task: Task) -> Iterator[str]:
    """Yield what the user, not the model, can do."""
    if task.error and task.error.remedy:
        yield f"  the user can approve it: {escape_controls(', then '.join(task.error.remedy))}"


def is_report(text: str) -> bool:
    """Whether a text is what `summary` returns: a report, and no answer."""
    return bool(re.match(REPORT_START, text))


def counts(report: Report) -> str:
    """Return how many tasks ended how: `7 done, 1 failed, 2 skipped`."""
    ends = [_status_of(task) for task in report.tasks]
    numbers = [(ends.count(end), word) for end, word in (PLAN_WORDS if report.dry_run else WORDS).items()]
    numbers.append((len(report.not_applied), "not applied"))
    return ", ".join(f"{number} {word}" for number, word in numbers if number) or "nothing to do"


def _status_of(task: Task) -> str:
    return BEFORE if task.done_in else task.status


def _overview(report: Report) -> str:
    tasks = len(report.tasks)
    if report.ok and tasks and not report.count("skipped"):
        would = "would be" if report.dry_run else "was" if tasks == 1 else "were"
        return f"{'The operation' if tasks == 1 else f'All {tasks} operations'} {would} carried out."
    if not tasks and not report.fatal:
        return NOTHING_FOUND
    asked = tasks + len(report.not_applied)
    return f"Of {counted(asked, 'operation')}: {counts(report)}." if tasks else ""


def _explain(task: Task) -> Iterator[str]:
    """Yield details of a failure beyond its status line."""
    error = task.error
    if error is None or not error.details or task.output:  # the details of a command are its output
        return
    yield f"  {details_title(task)}"
    yield from (f"{INDENT}{escape_controls(line)}".rstrip() for line in shortened(error.details).split("\n"))


def _repairs(task: Task) -> Iterator[str]:
    """Yield the corrected blocks of an edit that failed."""
    blocks = task.error.repairs if task.error else ()
    lines = task.error.lines if task.error else ()
    for number, block in enumerate(blocks):
        place = f" (line {lines[number]})" if len(blocks) > 1 and len(lines) == len(blocks) else ""
        yield f"  {'or this one' if number else 'send this block again'}, from the start of a line{place}:"
        yield from (f"{INDENT}{line}" if line else "" for line in block.rstrip("\n").split("\n"))


def _output(task: Task) -> Iterator[str]:
    """Yield the output of a command, of a long one the beginning and the end; or the lines of a file."""
    if not task.output:
        return
    if not is_command(task):
        shown = ["[output truncated]" if line is None else line for line in task.output]
        fence = fence_for("\n".join(shown))
        yield from (fence, *shown, fence)
        return
    yield "  output:"
    lines: Sequence[str | None] = task.output
    if len(lines) > MAX_OUTPUT:
        left_out = f"… {len(lines) - MAX_OUTPUT} lines left out …"
        lines = [*lines[:FIRST], left_out, *lines[FIRST - MAX_OUTPUT :]]
    yield from (f"{INDENT}{'[output truncated]' if line is None else line}".rstrip() for line in lines)


def _next_step(report: Report) -> str:
    if report.fatal:
        # An error with a stage is about the workspace, a lock, or an earlier run of the document.
        at_fault = not report.fatal.stage and OF_DOCUMENTS.fullmatch(report.fatal.type)
        return CORRECT if at_fault else NOT_AT_FAULT
    if not report.tasks and report.example:
        lines = "\n".join(f"{INDENT}{line}" for line in report.example.split("\n"))
        return f"Next: write each operation like this, at the start of a line:\n\n{lines}"
    edited = any(task.is_edited for task in report.tasks)
    merged = any(task.is_merged for task in report.tasks)
    unwanted = any(task.is_part for task in report.tasks)
    advice = [
        _to_correct(report),
        NOT_WANTED if unwanted else "",
        READ_EDITED if edited else "",
        READ_MERGED if merged else "",
    ]
    return " ".join(filter(None, advice))


def _to_correct(report: Report) -> str:
    if report.ok:
        return ""
    if report.dry_run:
        return "Next: this was a dry run. Correct what would fail and send the whole answer again."
    if any(isinstance(task.outcome, RolledBack) for task in report.tasks):
        return "Next: the group was rolled back. Correct the failed operations and send all of it again."
    ends = {_status_of(task) for task in report.tasks}
    done = "successful operations are kept; " if ends.intersection(FINISHED) else ""
    errors = [task.error for task in report.tasks if task.error]
    failed = report.error or not all(map(_is_already_applied, errors)) or not (errors or report.not_applied)
    is_skipped = any(task.status == "skipped" and not task.ok for task in report.tasks)
    again = ["the failed operations, corrected"] if failed else []
    again += ["the skipped ones"] if is_skipped else []
    again += [f"the parts that were not applied, as {title(report.notation)}"] if report.not_applied else []
    return f"Next: {done}send only {', and '.join(again)}." if again else ""


# What to send next, by a part of the message. The first row that matches counts.
BY_MESSAGE = (
    ("only if every block is clear", "everything again, in one format"),
    (
        "came before it|Unterminated|never closed|no end|not closed",
        "everything again, in smaller parts if it is long",
    ),
    ("stands for code that is not there", "the whole file with nothing left out, or {edit}"),
    ("this looks like a part of", "the whole file, or {edit} for the lines that change"),
    ("shown, not written", "{edit}, or {whole} if it is to be replaced"),
    ("lines are replaced by their numbers", "{edit} with the lines as they are in the file"),
    (
        "No file name|no file is named|Missing required .* '(?:file|path)'",
        "the block again, with the path of its file",
    ),
    ("this block is called", "the block again, with one path"),
    ("differs at lines", "the file once"),
    ("the end of this block is not clear", "the file again, in a fence of more backticks than it contains"),
    ("a shell would expand", "the file again, with its path and content as they are meant"),
    ("SEARCH is empty but", "the whole file, or {edit} with a line of the file"),
    ("exists, the answer creates it", "{edit}, or {whole} if it is to be replaced"),
    ("is an example, not a file", "the block again, with the path of a real file"),
    ("found 0 matches|No match for", "{edit} with lines copied exactly from the file"),
    (r"found \d+ matches", "{edit} with more lines around it, so that it is found once"),
    ("looks like a secret", "what can be done without this file: only the user can show it"),
    ("looks like an operation, but|This looks like", "the operations again, exactly as the format asks for"),
)
# The same by the type of an error, if no message matches.
BY_TYPE = {
    "path_escape": "a path that is relative to the workspace",
    "symlink_not_allowed": "the path of the real file",
    "file_not_found": "the path of a file that exists, or {whole} that creates it",
    "command_not_allowed": "another command, or none: only the user can approve this one",
}
_NAMES = [*Settings.__match_args__, "no_git", "yes", "confirm", "error_detail", "output_mode"]
_FLAG = re.compile(rf"(?<![\w`-])--(?:{'|'.join(name.replace('_', '-') for name in _NAMES)})(?![\w-])")
_QUOTED = re.compile(r"`[^`]*`")
_IN_BRACKETS = re.compile(rf" \([^()]*{_FLAG.pattern}[^()]*\)")


def example(notation: str | None, delimiters: tuple[str, str]) -> str:
    """Return an operation in the format that was asked for; in CSL if none was, or none is known for it."""
    start, end = delimiters
    row = NOTATIONS.get(notation or "", UNKNOWN)
    usual = next(iter(NOTATIONS.values()))
    return (row.example or usual.example).replace("<START>", start).replace("<END>", end)


def _what_to_send(message: str, error_type: str, notation: str | None) -> str:
    """Return what to send after a failure; nothing if its message is all that is known."""
    found = next((advice for pattern, advice in BY_MESSAGE if re.search(pattern, message)), None)
    edit, whole = NOTATIONS.get(notation or "", UNKNOWN).asks
    return (found or BY_TYPE.get(error_type, "")).format(edit=edit, whole=whole)


def _is_already_applied(error: Error) -> bool:
    """Return whether an edit failed because the file has its replacement already."""
    return bool(error.hint and error.hint.startswith(ALREADY_THERE))


def without_flags(text: str) -> str:
    """Return a text of ours without the clauses that name a flag; what stands in backticks is a quotation."""
    if not _FLAG.search(text):
        return text
    start, *sentences = _IN_BRACKETS.sub("", text).split(". ")
    text = ". ".join([start, *(sentence for sentence in sentences if not _FLAG.search(sentence))])
    first, *others = text.split("; ")
    kept = [clause for clause in map(_without_clause, others) if clause]
    return "; ".join([_without_clause(first) or first, *kept])


def _without_clause(text: str) -> str:
    """Return a part of a text up to the clause that names a flag, if it has one."""
    masked = _QUOTED.sub(lambda found: "x" * len(found.group()), text)
    flag = _FLAG.search(masked)
    if not flag:
        return text
    return text[: max(0, *(masked.rfind(sign, 0, flag.start()) for sign in (": ", ", ")))]


def _error_for_model(error: Error) -> Error:
    """Return an error whose texts name no flag."""
    hint = without_flags(f"; {error.hint}") if error.hint else ""
    return error.replace(message=without_flags(error.message), hint=hint.removeprefix("; ") or None)


def _task_for_model(task: Task) -> Task:
    """Return a task whose texts name no flag."""
    outcome = task.outcome
    if isinstance(outcome, Failed):
        return task.replace(outcome=outcome.replace(error=_error_for_model(outcome.error)))
    if isinstance(outcome, Skipped):
        return task.replace(outcome=outcome.replace(reason=without_flags(outcome.reason)))
    return task
