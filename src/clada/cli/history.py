"""`clada history`: the recorded runs of this workspace, newest first."""

from __future__ import annotations

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.git.history import RecordedRun

SHORT = 9  # characters of a commit's name


def run(options: dict[str, Any], _arguments: Sequence[str], console: Console) -> int:
    """Print a line for each run: number, when, how it ended, commits, what."""
    from clada.world.git.undo import NO_RUN, past_runs, runs_elsewhere

    runs = past_runs(options["workspace"])
    if not runs:
        elsewhere = runs_elsewhere(options["workspace"])
        console.complain(f"clada: {NO_RUN} yet{f'; {elsewhere}' if elsewhere else ''}")
    console.write("".join(f"{line}\n" for line in _table(runs)))
    return 0


def _table(runs: Sequence[RecordedRun]) -> list[str]:
    """Return the lines, with columns as wide as they have to be; what has no end comes last."""
    rows = [tuple(map(escape_controls, _fields(each))) for each in runs]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return [
        "  ".join([row[0].rjust(widths[0]), *(row[n].ljust(widths[n]) for n in (1, 2, 3)), row[4]]).rstrip()
        for row in rows
    ]


def _fields(each: RecordedRun) -> tuple[str, ...]:
    return str(each.number), each.when, each.ended, _commits(each), each.what


def _commits(each: RecordedRun) -> str:
    """Return the commits made before and after a run; a dash where none was needed."""
    pre, post = each.commits
    return "..".join(commit[:SHORT] if commit else "-" for commit in (pre, post))
