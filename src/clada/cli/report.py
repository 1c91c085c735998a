"""`clada report`: prints the report of a run for the LLM."""

from __future__ import annotations

import json

from clada.cli.clipboard import copy
from clada.errors import CladaError, UsageError
from clada.grammar import read_number
from clada.past import history, refused_report, run_details

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print or copy the report of the last document, or of the given run."""
    text = (None if arguments else refused_report(options["workspace"])) or _of_run(options, arguments)
    if options["json"]:
        console.write(json.dumps({"report": text}) + "\n")
    elif options["copy"]:
        copy(text)
        console.note("the report is on the clipboard")
    else:
        console.write(text)
    return 0


def _of_run(options: dict[str, Any], arguments: Sequence[str]) -> str:
    number = read_number(arguments[0]) if arguments else None
    if arguments and not number:
        raise UsageError(f"report takes the number of a run, not {arguments[0]!r}", "clada history")
    if number is None:
        number = next((each.number for each in history(options["workspace"]) if not each.undoes), None)
    if number is None:
        raise CladaError("git_operation_failed", "no run is recorded for this workspace", "clada FILE")
    text = run_details(number, options["workspace"]).for_llm
    if not text:
        raise CladaError(
            "git_operation_failed",
            f"run {number} has no report: it was killed",
            f"clada history show {number}",
        )
    return text
