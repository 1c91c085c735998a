"""`clada recover`: takes back what a killed run left half done, where it was to be all or nothing."""

from __future__ import annotations

from clada.settings import Settings
from clada.world.record.recover import recover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console


def run(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Take back what is pending in this workspace, and say so."""
    settings = Settings(workspace=options["workspace"], lock_timeout=options["lock_timeout"])
    done = recover(settings, lambda: console.note("waiting for another run in this repository"))
    console.write("".join(f"{line}\n" for line in done or ["nothing to recover"]))
    return 0
