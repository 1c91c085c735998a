"""`clada.aio`: runs beside an event loop, with their events, and ended in order by a cancellation."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import clada
from clada import aio

if TYPE_CHECKING:
    from pathlib import Path

WRITE = '<---WRITE file="a.txt"--->\nx\n<---END--->\n'
SLEEP = "<---RUN--->\nsleep 60\n<---END--->\n"
HOW: dict[str, Any] = {"record": "snapshots", "approve": ["sleep 60"], "timeout": 60, "sandbox": "off"}


def test_a_document_is_executed_beside_the_loop(tmp_path: Path) -> None:
    async def work() -> tuple[clada.Report, clada.Report]:
        planned = await aio.plan(WRITE, workspace=tmp_path, **HOW)
        assert not (tmp_path / "a.txt").exists()
        return planned, await aio.execute(WRITE, workspace=tmp_path, **HOW)

    planned, report = asyncio.run(work())
    assert planned.changes == (("a.txt", None, b"x\n"),)
    assert report.raise_for_status() is report
    assert asyncio.run(aio.undo(tmp_path)).removed == ("a.txt",)


def test_events_come_as_they_happen(tmp_path: Path) -> None:
    async def work() -> list[str]:
        seen = []
        async with aio.run(WRITE + SLEEP, workspace=tmp_path, **HOW) as run:
            async for event in run:
                seen.append(type(event).__name__)
                if isinstance(event, clada.TaskStarted) and event.operation == "run":
                    run.stop()  # while the command runs: events are not held back until the end
        assert run.report.interrupted
        return seen

    seen = asyncio.run(work())
    assert [name for name in seen if name != "Note"] == ["TaskStarted", "TaskEnded"] * 2
    assert (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("times", [1, 2])
def test_a_cancelled_task_has_ended_its_run(tmp_path: Path, times: int) -> None:
    """It is recorded, and nothing of it goes on."""

    async def work() -> None:
        started = asyncio.Event()

        async def watch() -> None:
            async with aio.run(WRITE + SLEEP + WRITE, workspace=tmp_path, **HOW) as run:
                async for event in run:
                    if isinstance(event, clada.TaskStarted) and event.operation == "run":
                        started.set()

        task = asyncio.create_task(watch())
        await started.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert clada.history(tmp_path)[0].ended == "interrupted"

    asyncio.run(work())


def test_leaving_early_stops_the_run_and_passes_on_what_was_raised(tmp_path: Path) -> None:
    async def work() -> None:
        async with aio.run(WRITE + SLEEP, workspace=tmp_path, **HOW):
            raise ZeroDivisionError

    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError):
        asyncio.run(work())
    assert set(threading.enumerate()) <= before


def test_mistakes_and_exceptions_of_callbacks_are_raised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="match must be one of"):
        asyncio.run(aio.execute(WRITE, workspace=tmp_path, match="bogus"))  # type: ignore[arg-type]

    def ask(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(aio.execute(SLEEP, workspace=tmp_path, git=False, ask=ask))
