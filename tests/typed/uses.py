"""How programs use clada: mypy and pyright accept each line, both strict (tests/test_types.py)."""

# ruff: noqa: T201 (what is computed is used)

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, assert_type

import clada
from clada import aio

if TYPE_CHECKING:
    from collections.abc import Sequence


def ask(command: str, directory: str, reason: str, *, network: bool) -> clada.Answer | None:
    """Answer questions about commands."""
    return "no" if network or not (command and directory and reason) else None


def work(answer: str) -> clada.Report:
    """Apply an answer, with options and callbacks."""
    options: clada.Options = {"workspace": ".", "match": "blanks", "record": "snapshots"}
    asks: clada.Ask = ask
    events: list[clada.Event] = []
    report = clada.execute(answer, ask=asks, on_event=events.append, **options)
    assert_type(report.notation, clada.NotationName | None)
    for task in report.tasks:
        status: clada.Status = task.status
        if status == "error" and task.error is not None:
            kind: clada.ErrorType = task.error.type
            print(kind == "path_escape", task.error.nearest)
    return report.raise_for_status()


def look(answer: bytes, formats: Sequence[clada.Format] = ("auto", "csl")) -> clada.Changes:
    """Plan an answer in each of these formats."""
    plans = [clada.parse(answer, each) for each in formats]
    return clada.execute(plans[0], dry_run=True).changes


def past() -> tuple[list[clada.RecordedRun], clada.Undone]:
    """Look at the history, and undo the last run."""
    details: clada.RunDetails = clada.run_details(1)
    print(details.run.number, clada.resume(run=1, atomic=True, ask=ask).ok, clada.pack(["a.py"]).files)
    return clada.history(), clada.undo(dry_run=True, record="snapshots")


async def in_a_loop(answer: str) -> clada.Report:
    """Do the same with asyncio."""
    print((await aio.plan(answer)).changes, (await aio.undo(".")).restored)
    async with aio.run(answer, workspace=".", timeout=5) as run:
        async for event in run:
            if isinstance(event, clada.Output):
                print(*event.lines)
    assert_type(run.report, clada.Report)
    return await aio.execute(answer, git=False)


if __name__ == "__main__":
    asyncio.run(in_a_loop("Nothing."))
