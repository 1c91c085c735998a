"""The report of a run: how each task ended. The other modules here write it as lines, diff, XML and JSON."""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from clada.errors import Error
    from clada.model import BlockReport, Task

    Changes = tuple[tuple[str, bytes | None, bytes | None], ...]  # path, content before and after
    # The same for modes as git writes them: 100644, 100755 for a program, 040755 for a directory.
    Modes = tuple[tuple[str, str | None, str | None], ...]


class Report(Value):
    """How a run went: its tasks in their blocks, its commits, and what went wrong with the run as a whole."""

    notation: str | None
    blocks: tuple[BlockReport, ...] = ()
    fatal: Error | None = None  # why nothing was executed; of a dry run, why nothing would be
    error: Error | None = None  # after the tasks: the final commit failed
    commits: Mapping[str, str] = {}
    interrupted: int | None = None  # the number of the signal that ended it
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    changes: Changes = ()  # that a dry run would make
    modes: Modes = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return all tasks, in the order of the document."""
        return tuple(task for block in self.blocks for task in block.tasks)

    @property
    def ok(self) -> bool:
        """Whether everything succeeded."""
        failed = self.fatal or self.error or self.interrupted
        return not failed and all(task.fine for block in self.blocks for task in block.tasks)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dicts, lists, strings and numbers: what `--summary=json` prints."""
        from clada.report.json import to_dict

        return to_dict(self)

    def text(self) -> str:
        """Return the report as the lines that the command line prints, without a summary."""
        from clada.report.lines import report_lines

        return "".join(f"{text}\n" for _kind, text in report_lines(self))

    def count(self, status: str) -> int:
        """Return how many tasks have this status."""
        return sum(task.status == status for task in self.tasks)
