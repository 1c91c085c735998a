"""What `--error-detail` adds below a status line, marked so that it cannot pass for one."""

from __future__ import annotations

from clada.operations import find
from clada.report.lines import first_line
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.model import Task

MOST = 40  # lines of a source that are shown
AROUND = 2  # lines before and after the one where a document cannot be read
WIDEST = 500  # characters of such a line
MARK = "  | "


def details(task: Task, source: str, level: str) -> Iterator[str]:
    """Yield the lines that a level of detail, full or debug, adds to the status line of a task."""
    error = task.error
    if error:
        yield from _section(f"source, from line {task.line}:", source)
        if error.details:
            operation = find(task.operation)
            yield from _section(operation.details_title if operation else "details:", error.details)
    if level == "debug":
        if error and error.traceback:
            yield from _section("traceback:", error.traceback)
        yield f"{MARK}took {task.duration * 1000:.1f} ms"


def unseen_command(task: Task) -> Iterator[str]:
    """Yield the command of a run where its status line does not have it whole."""
    operation = find(task.operation)
    if not operation or not operation.is_command:
        return
    if task.status == "skipped" or first_line(task.target) != task.target.strip("\n"):
        yield from (f"{MARK}{escape_controls(line)}".rstrip() for line in task.target.strip("\n").split("\n"))


def surroundings(source: bytes, line: int) -> Iterator[str]:
    """Yield the lines of a document around the one at which it cannot be read."""
    lines = source.split(b"\n")
    for number in range(max(1, line - AROUND), min(len(lines), line + AROUND) + 1):
        text = lines[number - 1].decode(errors="replace")
        arrow = ">" if number == line else " "
        yield f"{MARK}{arrow} {number:4} {_cut(escape_controls(text))}".rstrip()


def _section(title: str, text: str) -> Iterator[str]:
    yield f"{MARK}{title}"
    lines = text.rstrip("\n").split("\n")
    for line in lines[:MOST]:
        yield f"{MARK}  {_cut(escape_controls(line))}".rstrip()
    if len(lines) > MOST:
        yield f"{MARK}  … {len(lines) - MOST} more lines"


def shortened(text: str) -> str:
    """Return the lines of an error's details, none of them wider than is shown."""
    return "\n".join(map(_cut, text.split("\n")))


def _cut(line: str) -> str:
    return line if len(line) <= WIDEST else f"{line[:WIDEST]}…"
