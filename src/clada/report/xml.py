"""The XML summary of a report."""

from __future__ import annotations

from clada.report import numbered_lines
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clada.errors import Error
    from clada.model import BlockReport
    from clada.report import Report


def summary(report: Report) -> str:
    """Return the <result> element, with a line break at the end."""
    if report.fatal:
        opening = '<result blocks="0" tasks="0" succeeded="0" failed="1">'
        return "\n".join([opening, *_error_lines(report.fatal, "  "), "</result>\n"])
    numbers = ((name, report.count(name)) for name in ("planned", "skipped", "rolled_back"))
    others = "".join(f' {name}="{number}"' for name, number in numbers if number)
    opening = (
        f'<result blocks="{len(report.blocks)}" tasks="{len(report.tasks)}" '
        f'succeeded="{report.count("success")}" failed="{report.count("error")}"{others}>'
    )
    blocks = [line for block in report.blocks for line in _block_lines(block)]
    passed_over = [
        f'  <not_applied line="{each.line}" reason="{_escape(each.why, quoted=True)}">'
        f"{_escape(each.what)}</not_applied>"
        for each in report.not_applied
    ]
    error = _error_lines(report.error, "  ") if report.error else ()
    return "\n".join([opening, *blocks, *passed_over, *error, "</result>\n"])


def _block_lines(block: BlockReport) -> Iterator[str]:
    failed = [task for task in block.tasks if task.status == "error"]
    opening = f'  <block index="{block.index}" status="{block.status}" tasks="{len(block.tasks)}"'
    if not failed:
        yield f"{opening}/>"
        return
    yield f"{opening}>"
    for task in failed:
        yield f'    <task index="{task.index}" status="error">'
        if task.error:
            yield from _error_lines(task.error, "      ", task.target)
        yield "    </task>"
    yield "  </block>"


def _error_lines(error: Error, indent: str, target: str = "") -> Iterator[str]:
    message = _capitalize(error.message, target)
    yield f'{indent}<error type="{error.type}">{_escape(message)}</error>'
    hint = error.hint or (f"at {numbered_lines(error.lines)}" if error.lines else None)
    for line in (hint, *error.remedy):
        if line:
            yield f"{indent}<hint>{_escape(line)}</hint>"


def _capitalize(message: str, target: str) -> str:
    """Return the message with a capital first letter, unless it starts with the name of a file or program."""
    first = message.split(" ", 1)[0]
    is_name = not first.rstrip(",;").isalpha() or first in target.replace("/", " ").split()
    return message if is_name else message[:1].upper() + message[1:]


def _escape(text: str, *, quoted: bool = False) -> str:
    text = escape_controls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quoted else text
