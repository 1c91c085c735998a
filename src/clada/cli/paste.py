"""`clada paste`: carries out what is on the clipboard."""

from __future__ import annotations

from clada.cli.clipboard import paste
from clada.cli.document import carry_out, own_text, settings_of, with_uncommitted
from clada.errors import CladaError
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Execute the document on the clipboard; return the exit code."""
    text = paste()
    if what := own_text(text) if text else "nothing":
        raise CladaError(
            "io_error", f"on the clipboard there is {what}; copy the answer, then:", "clada paste"
        )
    options = with_uncommitted(options, ())
    return carry_out(plan_for(text, settings_of(options)), options, console)[0]
