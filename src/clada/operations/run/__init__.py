"""run: run commands, one after the other until one fails, without a shell."""

from __future__ import annotations

from clada.errors import shortened
from clada.grammar import Field
from clada.model import Operation, Phrases, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from clada.model import Outcome
    from clada.world.world import World


class Run(Operation):
    """Run commands in a directory of the workspace."""

    command: str
    dir: str | None = None
    suggested: bool = False  # it was only shown in the answer, and is skipped
    dialect: str = ""

    name: ClassVar = "run"
    fields: ClassVar = (Field("command", "text"), Field("dir", "path", required=False))
    phrases: ClassVar = {
        "ran": Phrases(
            done=("{target} (exit {exit_code}{remarks})", "ran {target} (exit {exit_code}{remarks})"),
            planned=("{target} (would run{remarks})", "would run {target}{remarks}"),
        ),
    }
    details_title: ClassVar = "the end of its output:"
    is_command: ClassVar = True

    @property
    def target(self) -> str:
        """The command."""
        return self.command

    def values(self) -> dict[str, Any]:
        """Return its fields by their names in plans."""
        return {**super().values(), **({"suggested": True} if self.suggested else {})}

    def apply(self, world: World) -> Outcome:
        """Check all of the commands, then carry them out."""
        if self.suggested:
            return Skipped(f"{shortened(self.command)}: not run; --run-fences runs it", left_out=True)
        from clada.operations.run.body import run_commands

        return run_commands(world, self.command, self.dir)
