"""The record: kills, power cuts, a user at work meanwhile, ten thousand runs, and what git collects.

The tests in tests/world/record, in their long form; each says in its docstring what it requires.
"""

from __future__ import annotations

from tools.prove.kills import kills
from tools.prove.rows import Row
from tools.prove.tested import Case, shown

CASES = (
    Case(
        "snapshots: 300 kill -9 at random moments of runs, and as many of undos",
        "undo, or the same undo again, gives the tree as it was, to the byte; no litter",
        "tests/world/record/test_record_kills.py killed",
    ),
    Case(
        "60 power cuts of a disk (a loop-mounted image) during durable runs, as many in a repository",
        "every file old or new, and the old one in the record",
        "tests/world/record/test_record_power.py power_cut",
    ),
    Case(
        "10,000 runs in one workspace",
        "the record takes no more than the limit, and the last runs can be undone",
        "tests/world/record/test_record_keeping.py many_runs",
    ),
    Case(
        "git gc --prune=now between a run and its undo",
        "undo gives the tree as it was",
        "tests/world/record/test_record_undo.py git_collects",
    ),
    Case(
        "an undo stopped by an error or an interrupt at each of its system calls",
        "run again, it ends; redo gives what the run left",
        "tests/world/record/test_record_undo.py stopped_at_any_call",
    ),
    Case(
        "a user who saves, stages, commits or switches at each step of a run and of an undo, in both modes",
        "nothing of theirs is lost, committed as clada's, or undone",
        "tests/world/record/test_record_users.py every_step",
    ),
)


def rows(*, quick: bool) -> list[Row]:
    """Return what was shown; in a quick look only a few kills, for the tests themselves are run with all."""
    return [_kills(2)] if quick else [_kills(300), *map(shown, CASES)]


def _kills(rounds: int) -> Row:
    complaints = kills(rounds)
    required = "the repository is sound, nobody's work is lost, and undo gives the tree as it was"
    observed = (
        complaints[0] if complaints else f"sound after {rounds} kills, nothing lost, each tree as before"
    )
    return Row(
        f"commits: {rounds} kill -9 at random moments of runs and undos", required, observed, not complaints
    )
