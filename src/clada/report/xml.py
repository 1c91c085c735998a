"""The XML summary of a report."""

from __future__ import annotations

from clada.report.lines import numbered_lines
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.errors import Error
    from clada.model import BlockReport, Task
    from clada.report import Report


def summary(report: Report) -> str:
    """Return the <result> element, with a line break at the end."""
    return "\n".join(_result(report)) + "\n"


def _result(report: Report) -> Iterator[str]:
    if report.fatal:
        yield '<result blocks="0" tasks="0" succeeded="0" failed="1">'
        yield from _error(report.fatal, "  ")
        yield "</result>"
        return
    number = report.count("skipped")
    skipped = f' skipped="{number}"' if number else ""
    yield (
        f'<result blocks="{len(report.blocks)}" tasks="{len(report.tasks)}" '
        f'succeeded="{report.count("success")}" failed="{report.count("error")}"{skipped}>'
    )
    for block in report.blocks:
        yield from _block(block)
    if report.error:
        yield from _error(report.error, "  ")
    yield "</result>"


def _block(block: BlockReport) -> Iterator[str]:
    failed = [task for task in block.tasks if task.status == "error"]
    opening = f'  <block index="{block.index}" status="{block.status}" tasks="{len(block.tasks)}"'
    if not failed:
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    for task in failed:
        yield from _task(task)
    yield "  </block>"


def _task(task: Task) -> Iterator[str]:
    yield f'    <task index="{task.index}" status="error">'
    if task.error:
        yield from _error(task.error, "      ", task.target)
    yield "    </task>"


def _error(error: Error, indent: str, target: str = "") -> Iterator[str]:
    message = _sentence(error.message, target)
    yield f'{indent}<error type="{error.type}">{_escaped(message)}</error>'
    hint = error.hint or (f"at {numbered_lines(error.lines)}" if error.lines else None)
    if hint:
        yield f"{indent}<hint>{_escaped(hint)}</hint>"


def _sentence(message: str, target: str) -> str:
    """Return the message with a capital in front, unless it starts with a name, which has its own letters."""
    first = message.split(" ", 1)[0]
    is_name = not first.rstrip(",;").isalpha() or first in target.replace("/", " ").split()
    return message if is_name else message[:1].upper() + message[1:]


def _escaped(text: str) -> str:
    return escape_controls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
