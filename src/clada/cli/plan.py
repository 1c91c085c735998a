"""`clada plan`: what a document would change, and nothing is touched."""

from __future__ import annotations

from clada.cli import document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Do the same as --dry-run."""
    return document.run({**options, "dry_run": True}, arguments, console)
