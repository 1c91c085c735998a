"""Advice on what a model should write next. It names no flags, because a model cannot pass any."""

from __future__ import annotations

import re

from clada.model import Failed, Skipped
from clada.notations.registry import NOTATIONS, UNKNOWN
from clada.settings import Settings
from clada.text.explain import ALREADY_THERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clada.errors import Error
    from clada.model import Task

# What to write, by a part of the message. The first row that matches counts.
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


def write_next(message: str, error_type: str, notation: str | None) -> str:
    """Return what to write after a failure; nothing if its message is all that is known."""
    found = next((advice for pattern, advice in BY_MESSAGE if re.search(pattern, message)), None)
    edit, whole = NOTATIONS.get(notation or "", UNKNOWN).asks
    return (found or BY_TYPE.get(error_type, "")).format(edit=edit, whole=whole)


def is_already_applied(error: Error) -> bool:
    """Return whether an edit failed because the file has its replacement already."""
    return bool(error.hint and error.hint.startswith(ALREADY_THERE))


def next_to_write(error: Error, notation: str | None) -> str:
    """Return what to write after an error; nothing where a corrected block follows."""
    if is_already_applied(error):
        return "nothing: this edit is already applied"
    return "" if error.repairs else write_next(error.message, error.type, notation)


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


def error_for_model(error: Error) -> Error:
    """Return an error whose texts name no flag."""
    hint = without_flags(f"; {error.hint}") if error.hint else ""
    return error.replace(message=without_flags(error.message), hint=hint.removeprefix("; ") or None)


def task_for_model(task: Task) -> Task:
    """Return a task whose texts name no flag."""
    outcome = task.outcome
    if isinstance(outcome, Failed):
        return task.replace(outcome=outcome.replace(error=error_for_model(outcome.error)))
    if isinstance(outcome, Skipped):
        return task.replace(outcome=outcome.replace(reason=without_flags(outcome.reason)))
    return task
