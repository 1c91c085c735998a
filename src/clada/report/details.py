"""What `--error-detail` adds below a status line, marked so that it cannot pass for one."""

from __future__ import annotations

from clada.text.shown import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.model import Task

MOST = 40  # lines of a source that are shown
MARK = "  | "


def details(task: Task, source: str, level: str) -> Iterator[str]:
    """Yield the lines that this level of detail adds to the status line of a task."""
    if level == "minimal":
        return
    if task.error:
        yield from _section(f"source, from line {task.line}:", source)
        if task.error.details:
            yield from _section("", task.error.details)
    if level == "debug":
        if task.error and task.error.traceback:
            yield from _section("traceback:", task.error.traceback)
        yield f"{MARK}took {task.duration * 1000:.1f} ms"


def _section(title: str, text: str) -> Iterator[str]:
    if title:
        yield f"{MARK}{title}"
    lines = text.rstrip("\n").split("\n")
    for line in lines[:MOST]:
        yield f"{MARK}{'  ' if title else ''}{shown(line)}".rstrip()
    if len(lines) > MOST:
        yield f"{MARK}  … {len(lines) - MOST} more lines"
