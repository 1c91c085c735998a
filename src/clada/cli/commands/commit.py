"""`clada commit`: combines the commits of runs at the tip of the branch into one with a real message."""

from __future__ import annotations

from clada.cli.commands.undo import WAITING
from clada.errors import CladaError, UsageError
from clada.grammar import read_number
from clada.past import history
from clada.report import counted
from clada.text.escape import escape_controls
from clada.world.git import repository
from clada.world.git.branch import ME
from clada.world.git.commit import SHORT_HASH, read_author, squash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clada.cli.console import Console
    from clada.world.record.history import RecordedRun


def commit(options: dict[str, Any], arguments: Sequence[str], console: Console) -> int:
    """Combine the commits of the last run that made any, or of the given ones."""
    if not options["message"]:
        words = " ".join(["clada commit", *arguments])
        raise UsageError("clada commit needs a message", f'{words} -m "Say what changed"')
    numbers = [read_number(word) or 0 for word in arguments]
    if 0 in numbers:
        wrong = arguments[numbers.index(0)]
        raise UsageError(f"commit takes numbers of runs, not {wrong!r}", "clada history")
    author = options["git_author"]
    found = repository.find(options["workspace"])
    with found.lock(options["lock_timeout"], lambda: console.note(WAITING)):
        runs = _select_runs(history(options["workspace"]), numbers)
        made, replaced = squash(
            found,
            {commit for each in runs for commit in each.commits if commit},
            _message(options["message"], runs),
            None if author == ME else read_author(author),
        )
    if options["json"]:
        told = {"commit": made, "replaced": replaced, "runs": [each.number for each in runs]}
        console.write_json(told, None)
    else:
        numbers_of = ", ".join(str(each.number) for each in runs)
        named = f"run{'' if len(runs) == 1 else 's'} {numbers_of}"
        console.write(f"{made[:SHORT_HASH]} replaces {counted(replaced, 'commit')} of {named}\n")
    return 0


def _select_runs(runs: Sequence[RecordedRun], numbers: Sequence[int]) -> list[RecordedRun]:
    """Return the runs with these numbers, oldest first; without numbers, the last one that has commits."""
    if not numbers:
        last = next((each for each in runs if any(each.commits)), None)
        if last is None:
            raise CladaError("git_operation_failed", "no run has made a commit here", "clada history --long")
        return [last]
    by_number = {each.number: each for each in runs}
    for number in numbers:
        if number not in by_number:
            what = f"there is no run {number} for this workspace"
            raise CladaError("git_operation_failed", what, "clada history")
        if not any(by_number[number].commits):
            raise CladaError("git_operation_failed", f"run {number} has no commit", "clada history --long")
    return [by_number[number] for number in sorted(set(numbers))]


def _message(text: str, runs: Sequence[RecordedRun]) -> str:
    """Return the text with the trailers that the replaced commits had."""
    lines = "\n".join(escape_controls(line.rstrip()) for line in text.strip().splitlines())
    return f"{lines}\n\n" + "\n".join(f"Clada-Run: {each.number}" for each in runs)
