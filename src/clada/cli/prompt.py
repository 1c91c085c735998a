"""`clada prompt`: prints instructions that tell an LLM how to write a notation."""

from __future__ import annotations

from clada.cli.clipboard import copy
from clada.prompts import instructions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the instructions for a notation, by default the first one of the registry."""
    name: Any = arguments[0] if arguments else None
    delimiters = options["start_delimiter"], options["end_delimiter"]
    text = instructions(name, options["workspace"], *delimiters)
    if options["copy"]:
        copy(text)
        console.note("the instructions are on the clipboard")
    else:
        console.write(text)
    return 0
