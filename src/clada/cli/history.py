"""`clada history`: the recorded runs of this workspace, newest first."""

from __future__ import annotations

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.git.history import RecordedRun

SHORT = 9  # characters of a commit's hash that are shown


def run(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Print a line for each run: its number, time, end, commits and title."""
    from clada.world.git.undo import NO_RUN, past_runs, runs_elsewhere

    runs = past_runs(options["workspace"])
    if not runs:
        elsewhere = runs_elsewhere(options["workspace"])
        console.complain(f"clada: {NO_RUN} yet{f'; {elsewhere}' if elsewhere else ''}")
    console.write("".join(f"{line}\n" for line in _table(runs)))
    return 0


def _table(runs: Sequence[RecordedRun]) -> list[str]:
    """Return the lines, in columns of equal width; the title, which can be long, comes last."""
    rows = []
    for each in runs:
        # The commits before and after the run; a dash where none was needed.
        commits = "..".join(commit[:SHORT] if commit else "-" for commit in each.commits)
        fields = (str(each.number), each.when, each.ended, commits, each.what)
        rows.append(tuple(map(escape_controls, fields)))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return [
        "  ".join([row[0].rjust(widths[0]), *(row[n].ljust(widths[n]) for n in (1, 2, 3)), row[4]]).rstrip()
        for row in rows
    ]
