"""All or nothing, and going on: what fails is taken back, what was cut is resumed; by the tests in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.prove.tested import Case, shown

if TYPE_CHECKING:
    from tools.prove.rows import Row

BYTE_BY_BYTE = "the tree is as it was, byte by byte"
CASES = (
    Case(
        "atomic: each operation kind, ended by a missing file; and each failure of a document",
        BYTE_BY_BYTE,
        "tests/test_atomic.py every_",
    ),
    Case(
        "atomic: each operation kind, ended by a refusal, a timeout, a signal, an interrupt, no room",
        BYTE_BY_BYTE,
        "tests/test_taking_back.py every_change",
    ),
    Case(
        "atomic: 300 kill -9 at random moments of runs with each operation kind, then clada recover",
        f"{BYTE_BY_BYTE}, with commits, snapshots and no record",
        "tests/test_atomic.py kill_at_any_moment",
    ),
    Case(
        "atomic: 400 random documents of an ordinary user, each ended by a failure",
        BYTE_BY_BYTE,
        "tests/world/record/test_record_taking_back.py random",
    ),
    Case(
        "resume: every document of tests/cases and tests/answers, cut at each of its operations",
        "the tree of one full run, past operations that fail by themselves too",
        "tests/test_cuts.py cut_and_resumed",
    ),
)


def rows(*, quick: bool) -> list[Row]:
    """Return what was shown; in a quick look a sample of the cuts, for the tests are run beside it."""
    return [shown(CASES[-1], full=False)] if quick else [shown(case) for case in CASES]
