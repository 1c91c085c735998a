"""`clada history`: the recorded runs of this workspace; one of them in full; forgetting old ones."""

from __future__ import annotations

from clada.errors import UsageError
from clada.grammar import read_number
from clada.past import SHORT, history, prune, run_details
from clada.report.diff import diff_lines
from clada.text.escape import escape_controls
from clada.world.record.store import find_store
from clada.world.record.undo import NO_RUN, elsewhere
from clada.world.secrets.mask import mask_of_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.record.history import RecordedRun


def run(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """List the runs; `show RUN` tells all of one, `prune` forgets those that the settings do not keep."""
    match list(arguments):
        case []:
            _list(options, console)
        case ["show", *rest]:
            _show(options, rest, console)
        case _:
            _prune(options, console)
    return 0


def _list(options: dict[str, Any], console: Console) -> None:
    runs = history(options["workspace"])
    if not runs:
        others = elsewhere(find_store(options["workspace"]))
        console.complain(f"clada: {NO_RUN} yet{f'; {others}' if others else ''}")
    console.write("".join(f"{line}\n" for line in _table(runs)))


def _show(options: dict[str, Any], rest: Sequence[str], console: Console) -> None:
    number = read_number(rest[0]) if rest else next((run.number for run in history(options["workspace"])), 0)
    if not number:
        raise UsageError("history show takes the number of a run; clada history lists them")
    found = run_details(number, options["workspace"])
    lines = [*_table([found.run])]
    if found.document:
        lines += ["", "document:", *_indented(found.document.decode(errors="replace"))]
    if found.report:
        lines += ["", "report:", *_indented(found.report)]
    mask = mask_of_changes(found.changes, options.get("reveal", ()))
    changes = [text for _kind, text in diff_lines(found.changes, found.modes, mask)]
    lines += ["", "changes:", *changes] if changes else ["", "changes: none"]
    if found.suspects:
        suspects = [text for _kind, text in diff_lines(found.suspects, ())]
        lines += ["", "changed since a command began that was killed, by it or by others:", *suspects]
    console.write("".join(f"{line}\n" for line in lines))


def _indented(text: str) -> list[str]:
    return [f"  {escape_controls(line)}".rstrip() for line in text.splitlines()]


def _prune(options: dict[str, Any], console: Console) -> None:
    kept = {name: options[name] for name in ("history_size", "history_age")}
    count = prune(options["workspace"], **kept)
    console.write(f"{count} run{'' if count == 1 else 's'} forgotten\n")


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
