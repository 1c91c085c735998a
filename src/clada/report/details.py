"""What `--error-detail` adds below a status line; each line starts with `  | `, as no status line does."""

from __future__ import annotations

from clada.operations import find
from clada.report import first_line, is_command
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.errors import Error
    from clada.model import Task
    from clada.report import Line

MAX_LINES = 40  # lines of a source that are shown
CONTEXT = 2  # lines before and after the one where a document cannot be read
MAX_WIDTH = 500  # characters of a line
MARK = "  | "


def details(task: Task, source: str, level: str) -> Iterator[Line]:
    """Yield the lines that the level `full` or `debug` adds below the status line of a task."""
    error = task.error
    if error:
        yield from _section(f"source, from line {task.line}:", source)
        if error.details:
            yield from _section(details_title(task), error.details)
    if level == "debug":
        if error:
            yield from format_traceback(error)
        yield _detail(f"took {task.duration * 1000:.1f} ms")


def details_title(task: Task) -> str:
    """Return the line above the details of a failure."""
    operation = find(task.operation)
    return operation.details_title if operation else "details:"


def format_traceback(error: Error) -> Iterator[Line]:
    """Yield where a bug is."""
    if error.traceback:
        yield from _section("traceback:", error.traceback)


def format_command(task: Task) -> Iterator[Line]:
    """Yield the lines of a command that its status line does not show in full."""
    if not is_command(task):
        return
    if task.status == "skipped" or first_line(task.target) != task.target.strip("\n"):
        yield from (_detail(escape_controls(line)) for line in task.target.strip("\n").split("\n"))


def lines_around(source: bytes, line: int) -> Iterator[Line]:
    """Yield the lines of a document around the one at which it cannot be read."""
    lines = source.split(b"\n")
    for number in range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1):
        text = lines[number - 1].decode(errors="replace")
        arrow = ">" if number == line else " "
        yield _detail(f"{arrow} {number:4} {_cut_line(escape_controls(text))}")


def _section(title: str, text: str) -> Iterator[Line]:
    yield _detail(title)
    lines = text.rstrip("\n").split("\n")
    for line in lines[:MAX_LINES]:
        yield _detail(f"  {_cut_line(escape_controls(line))}")
    if len(lines) > MAX_LINES:
        yield _detail(f"  … {len(lines) - MAX_LINES} more lines")


def _detail(text: str) -> Line:
    return "detail", f"{MARK}{text}".rstrip()


def shortened(text: str) -> str:
    """Return the text with each line cut to the greatest width."""
    return "\n".join(map(_cut_line, text.split("\n")))


def _cut_line(line: str) -> str:
    return line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]}…"
