"""`clada parse`: the plan of a document, as JSON."""

from __future__ import annotations

import json

from clada.cli import document
from clada.run import plan_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Print the plan; the exit code says whether all of it could be executed."""
    text = document.read(arguments, console)
    if text is None:
        return 2
    plan = plan_for(text, document.settings_of(options))
    console.write(json.dumps(plan.to_dict(), indent=2) + "\n")
    return plan.exit_code
