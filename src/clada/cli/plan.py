"""`clada plan`: what a document would change, and nothing is touched."""

from __future__ import annotations

import os

from clada.cli import document
from clada.errors import UsageError, system_words
from clada.report import counted
from clada.run import plan_for
from clada.selection import preview

PAGE = b"<!doctype html>"  # how one begins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Do the same as --dry-run; or write that as a page."""
    options = {**options, "dry_run": True}
    write = _write_page if options.get("html") else document.run
    return write(options, arguments, console)


def _refuse_other_file(path: str) -> None:
    """Refuse to write the page over a file that is not a page: it may be the answer itself."""
    try:
        with open(path, "rb") as file:
            start = file.read(len(PAGE))
    except OSError:
        return  # it is told when the page is written
    if start and start.lower() != PAGE:
        raise UsageError(f"--html: {path} exists and is not a page", "clada plan --html plan.html FILE")


def _write_page(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    text = document.read(arguments, console)
    if text is None:
        return 2
    from clada.review.page import Review, exported

    file = options["html"]
    _refuse_other_file(file)
    plan = plan_for(text, document.settings_of(options))
    consent = (lambda _question: True) if document.terminal_is_available() else None
    report, previews = preview(plan, document.settings_of(options), consent=consent)
    workspace = os.path.abspath(options["workspace"])
    review = Review(plan, report, previews, start_delimiter=options["start_delimiter"], workspace=workspace)
    page = exported(review)
    try:
        with open(file, "w", encoding="utf-8", errors="replace") as written:
            written.write(page)
    except OSError as error:
        raise UsageError(f"--html: {system_words(error)}", "clada plan --html plan.html FILE") from None
    for note in report.notes:
        console.note(note)
    if report.fatal:
        console.note_error(report.fatal)
    failing = sum(not task.ok for task in report.tasks)
    fails = f", {failing} would fail" if failing else ""
    for each in report.not_applied:
        console.note(each.text)
    console.write(f"{file}: {counted(len(report.tasks), 'operation')}{fails}\n")
    return report.exit_code
