"""`clada paste`: carries out what is on the clipboard."""

from __future__ import annotations

from clada.cli.clipboard import paste
from clada.cli.document import carry_out, settings_of
from clada.errors import Trouble
from clada.report.llm import is_report
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli import Console


def run(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Execute the document on the clipboard; return the exit code."""
    text = paste()
    if not text or is_report(text.decode(errors="replace")):
        what = "is a report of clada's, and no answer" if text else "is nothing"
        raise Trouble("io_error", f"on the clipboard there {what}", "copy the answer first")
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]
