"""The report of a run: how each task ended, and its status lines. Other modules write it as XML and JSON.

There is a line for each task, in one of two families that a notation chooses: tagged or sentences.
"""

from __future__ import annotations

from clada.errors import CladaError, shortened
from clada.exit_codes import DONE, exit_code
from clada.model import Done, Failed, RolledBack, Skipped, output_prefix
from clada.notations.registry import NOTATIONS, SENTENCES, UNKNOWN
from clada.operations import find
from clada.text.escape import escape_controls
from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Self

    from clada.errors import Error
    from clada.model import BlockReport, NotApplied, Task
    from clada.notations.registry import Notation
    from clada.public_types import Changes, Modes, NotationName, Status

    Line = tuple[str, str]  # its kind, by which a terminal colours it, and its text; or several lines

MAX_LINE_NUMBERS = 10  # line numbers in one status line
LONGEST_COMMAND = 1000  # characters of a command in a status line; the report in JSON has all of it
COMMITS = {"pre": "your work before", "post": "this run"}
SHORT = 7  # characters of a commit's hash that are shown, as by git
TRUNCATED = "[output truncated]"
WOULD_ROLL_BACK = "; would be rolled back"  # in a dry run, because another task of the block fails
# The status of a task, tagged and in a sentence.
STATUS_WORDS = {
    "done": ("SUCCESS", "Success"),
    "planned": ("PLAN", "Planned"),
    "rolled back": ("ROLLED BACK", "Rolled back"),
    "skipped": ("SKIP", "Skipped"),
}
# The tag of a fatal error, by its stage or its type; PARSE for all others.
STAGES = {
    "LOCK": "LOCK",
    "WORKSPACE": "INPUT",
    "AGAIN": "INPUT",
    "git_operation_failed": "GIT",
    "lock_timeout": "LOCK",
    "input_too_large": "INPUT",
    "invalid_utf8": "INPUT",
    "io_error": "INPUT",
    "file_not_found": "INPUT",
    "permission_denied": "INPUT",
}


class Report(Value):
    """How a run went: its tasks in their blocks, its commits, and what went wrong with the run as a whole."""

    notation: NotationName | None
    blocks: tuple[BlockReport, ...] = ()
    fatal: Error | None = None  # why nothing was executed; of a dry run, why nothing would be
    error: Error | None = None  # after the tasks: the final commit failed
    commits: Mapping[str, str] = {}
    interrupted: int | None = None  # the number of the signal that ended it
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    changes: Changes = ()  # that a dry run would make
    modes: Modes = ()
    recorded: int | None = None  # the number of the run in the history
    undoable: bool = False  # it changed something that `clada undo` takes back
    not_applied: tuple[NotApplied, ...] = ()  # recognised in the document and not carried out
    example: str = ""  # where no operations were found: one in the format that was asked for
    reveal: tuple[str, ...] = ()  # patterns of files that are shown although they look like secrets

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, in the order of the document."""
        return tuple(task for block in self.blocks for task in block.tasks)

    @property
    def ok(self) -> bool:
        """Whether there were operations, and everything in the document was carried out."""
        return self.exit_code == DONE

    @property
    def exit_code(self) -> int:
        """The exit code of the command line: 0, 1, 3 for no operations, or 128 and the signal."""
        tasks = self.tasks
        failed = self.fatal or self.error or self.not_applied or not all(task.ok for task in tasks)
        return exit_code(failed=bool(failed), has_operations=bool(tasks), signal=self.interrupted)

    def raise_for_status(self) -> Self:
        """Return the report; raise ReportError if not everything in the document was carried out."""
        if not self.ok:
            raise ReportError(self)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dicts, lists, strings and numbers: what `--summary=json` prints."""
        from clada.report.json import to_dict

        return to_dict(self)

    def text(self, *, for_llm: bool = False) -> str:
        """Return the report as the lines that the command line prints; or as a model needs it, to go on."""
        if for_llm:
            from clada.report.llm import summary

            return summary(self)
        return "".join(f"{text}\n" for _kind, text in report_lines(self))

    def count(self, status: Status) -> int:
        """Return how many tasks have this status."""
        return sum(task.status == status for task in self.tasks)


class ReportError(CladaError):
    """Not everything in a document was carried out; `report` says what was, `error` is the first failure."""

    def __init__(self, report: Report) -> None:
        failed = [task for task in report.tasks if not task.ok]
        notation = NOTATIONS.get(report.notation or "", UNKNOWN)
        lines = [status_line(task, notation)[1] for task in failed]
        lines += [text for _kind, text in failure_lines(report, notation)]
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        super().__init__("invalid_operation", f"{lines[0]}{more}" if lines else "no operations found")
        errors = [report.fatal, *(task.error for task in failed), report.error]
        self.error = next(filter(None, errors), self.error)
        self.report = report


def report_lines(report: Report) -> Iterator[Line]:
    """Yield all lines of a report as the command line prints them, with the diff of a dry run."""
    notation = NOTATIONS.get(report.notation or "", UNKNOWN)
    for block in report.blocks:
        if not block.valid and not block.implicit:
            yield from skipped_block_lines(block.label, notation)
        for task in block.tasks:
            for line in task.output if is_command(task) else ():
                yield "exec", TRUNCATED if line is None else output_text(task.label, [line])
            yield status_line(task, notation)
            yield from remedy_lines(task)
    if report.changes or report.modes:
        from clada.report.diff import report_diff

        yield from report_diff(report)
    yield from failure_lines(report, notation)  # last, because a diff is long, and failures must be seen


def is_command(task: Task) -> bool:
    """Return whether the target of a task is a command."""
    operation = find(task.operation)
    return operation is not None and operation.is_command


def output_text(label: str, lines: Sequence[str]) -> str:
    """Return lines that a command printed, each with its task in front; they must be escaped already."""
    prefix = output_prefix(label)
    return prefix + f"\n{prefix}".join(lines)


def status_line(task: Task, notation: Notation) -> Line:
    """Return the line that says how a task ended."""
    kind = "skip" if task.invalid or task.status == "skipped" else task.status
    text = _task_text(task, notation)
    return kind, f"[task-{task.label}] {text}"


def remedy_lines(task: Task) -> Iterator[Line]:
    """Yield the commands that help after a failure, each on a line of its own, ready to copy."""
    for line in task.error.remedy if task.error else ():
        yield "detail", f"  {escape_controls(line)}"


def skipped_block_lines(label: str, notation: Notation) -> Iterator[Line]:
    """Yield the line of a block that is not executed; in sentences each of its tasks has one instead."""
    if notation.family != SENTENCES:
        yield "skip", f"[task-{label}] SKIP: TASKS - validation errors within block"


def failure_lines(report: Report, notation: Notation) -> Iterator[Line]:
    """Yield the lines for what went wrong with the document, or with the run as a whole."""
    if report.fatal:
        yield "fatal", f"[task-1] {_failure_text(report.fatal, notation, 'FATAL')}"
    for each in report.not_applied:
        yield "error", escape_controls(each.text)
    if report.error:
        lines = report.error.details.split("\n") if report.error.details else []
        shown = "".join(f"\n[verify] {escape_controls(line)}" for line in lines)  # what the command printed
        yield "error", f"[run] {_failure_text(report.error, notation, 'ERROR')}{shown}"


def commits_line(report: Report) -> str:
    """Return which commits were made for a run, in one line; nothing if none was."""
    made = [
        f"{report.commits[kind][:SHORT]} ({what})" for kind, what in COMMITS.items() if kind in report.commits
    ]
    return f"committed {', '.join(made)}" if made else ""


def _failure_text(error: Error, notation: Notation, status: str) -> str:
    message = escape_controls(error.sentence)
    if notation.family == SENTENCES:
        # Without the word FATAL: a reader could think that only this task failed and others were done.
        return f"Error: {error.type}: {message}{'; nothing was executed' if status == 'FATAL' else ''}"
    if status == "FATAL":
        return f"FATAL: {STAGES.get(error.stage or error.type, 'PARSE')} - {message}"
    stage = "GIT" if error.type == "git_operation_failed" else "RUN"
    return f"ERROR: {stage} - {error.type}: {message}"


def _task_text(task: Task, notation: Notation) -> str:
    """Return `STATUS: OPERATION - details`, or a sentence: `Success: …`, `Error: type in target (…)`."""
    family = int(notation.family == SENTENCES)
    word = notation.words.get(task.operation) or escape_controls(shortened(task.operation).upper())
    named = "" if family else f"{word} - "
    match task.outcome:
        case Done() as done:
            status = STATUS_WORDS["planned" if done.planned else "done"]
            return f"{status[family]}: {named}{_done_text(task, done, family)}"
        case RolledBack(done=done):
            status = STATUS_WORDS["planned" if done.planned else "rolled back"]
            would = WOULD_ROLL_BACK if done.planned else ""
            return f"{status[family]}: {named}{_done_text(task, done, family)}{would}"
        case Skipped() as skipped:
            return f"{STATUS_WORDS['skipped'][family]}: {named}{_skip_text(task, skipped)}"
        case Failed(error=error) if family:
            target = _target(task) or escape_controls(shortened(task.operation))
            return escape_controls(_with_hint(f"Error: {error.type} in {target} ({error.message})", error))
        case Failed(error=error) if task.invalid:
            target = f"{_target(task)}: " if task.target else ""
            return f"SKIP: {named}{target}{escape_controls(error.sentence)}"
        case Failed(error=error):
            where = f" ({numbered_lines(error.lines)})" if error.lines else ""
            message = escape_controls(_with_hint(error.message + where, error))
            return f"ERROR: {named}{_target(task)}: {error.type}: {message}"


def _skip_text(task: Task, skipped: Skipped) -> str:
    """Return why a task was not tried, and then its path: the reasons of the specification come first."""
    reason = escape_controls(skipped.reason)
    path = "" if is_command(task) else _target(task)
    return f"{reason} ({path})" if path else reason


def _done_text(task: Task, done: Done, family: int) -> str:
    """Return the phrase of the operation for its result, tagged (0) or as a sentence (1)."""
    operation = find(task.operation)
    phrases = operation.phrases[done.how] if operation else None
    phrase = (phrases.planned if done.planned else phrases.done)[family] if phrases else "{target}"
    is_short = len(done.target) <= LONGEST_COMMAND and "\n" not in done.target
    return phrase.format(
        target=escape_controls(done.target if is_short else _cut_target(done.target, task)),
        bytes="1 byte" if done.bytes == 1 else f"{done.bytes or 0} bytes",
        replacements=counted(done.count, "replacement") if done.count is not None else "",
        lines=numbered_lines(done.lines) if done.lines else "",
        remarks="".join(f", {remark}" for remark in done.remarks),
        listed=", ".join(done.remarks),
        exit_code=done.exit_code,
    )


def _target(task: Task) -> str:
    return escape_controls(_cut_target(task.target, task))


def _cut_target(target: str, task: Task) -> str:
    """Return what an operation is about, in one line; a command that no line should hold is cut off."""
    line = first_line(target)
    if is_command(task) and len(line) > LONGEST_COMMAND:
        return f"{line[:LONGEST_COMMAND]} …"
    return line


def _with_hint(text: str, error: Error) -> str:
    return f"{text}; {error.hint}" if error.hint else text


def first_line(text: str) -> str:
    """Return the first line that is not blank, with ` …` behind it if more follow."""
    if "\n" not in text:
        return text
    first, *more = [line for line in text.split("\n") if line.strip()] or [""]
    return f"{first.strip()} …" if more else first.strip()


def counted(number: int, noun: str) -> str:
    """Return `1 byte`, `2 bytes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def numbered_lines(lines: tuple[int, ...]) -> str:
    """Return `line 3` or `lines 3, 7, …`: each number once, ten at most."""
    different = list(dict.fromkeys(lines))
    named = ", ".join(map(str, different[:MAX_LINE_NUMBERS]))
    more = ", …" if len(different) > MAX_LINE_NUMBERS else ""
    return f"{'line' if len(different) == 1 else 'lines'} {named}{more}"
