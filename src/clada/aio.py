"""The same for programs that use asyncio: runs happen in a thread, events come as an async iterator.

    async with clada.aio.run(answer, workspace="project") as run:
        async for event in run:
            ...
    report = run.report

A task that is cancelled ends its run in order, and waits for its end: what was done is recorded, and can be
undone.
"""

from __future__ import annotations

import asyncio
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar, Unpack

import clada

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any, Self

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


async def execute(
    document: clada.Plan | str | bytes,
    *,
    ask: clada.Ask | None = None,
    consent: Callable[[str], bool] | None = None,
    settings: clada.Settings | None = None,
    **options: Unpack[clada.Options],
) -> clada.Report:
    """Execute a document, as `clada.execute` does. `ask` and `consent` are called in another thread."""
    async with run(document, ask=ask, consent=consent, settings=settings, **options) as started:
        return await started.wait()


async def plan(
    document: clada.Plan | str | bytes,
    *,
    settings: clada.Settings | None = None,
    **options: Unpack[clada.Options],
) -> clada.Report:
    """Return the report of a dry run: nothing is changed, and no program runs."""
    settings = settings or clada.Settings.from_options(**options)
    return await execute(document, settings=settings.replace(dry_run=True))


def run(
    document: clada.Plan | str | bytes,
    *,
    ask: clada.Ask | None = None,
    consent: Callable[[str], bool] | None = None,
    settings: clada.Settings | None = None,
    **options: Unpack[clada.Options],
) -> Running:
    """Return a run to be entered by `async with`; iterate over it for its events."""
    settings = settings or clada.Settings.from_options(**options)
    return Running(partial(clada.execute, document, ask=ask, consent=consent, settings=settings))


class Running:
    """A run in a thread. Leaving its `async with` before its end stops it."""

    def __init__(self, execute: Callable[..., clada.Report]) -> None:
        self._execute, self._stop = execute, clada.Stop()
        self._events: asyncio.Queue[clada.Event | None] = asyncio.Queue()  # None: there are no more

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()

        def take(event: clada.Event | None) -> None:
            loop.call_soon_threadsafe(self._events.put_nowait, event)

        def work() -> clada.Report:
            try:
                return self._execute(on_event=take, stop=self._stop)
            finally:
                take(None)

        self._future = loop.run_in_executor(None, work)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._future.done():
            self._stop.set()
        try:
            await _finish(self._future, self._stop.set)
        except Exception:
            if kind is None:  # else what ended the block is raised
                raise
        finally:
            self._stop.__exit__()

    def __aiter__(self) -> AsyncIterator[clada.Event]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[clada.Event]:
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)  # for another loop over it
        await self.wait()

    async def wait(self) -> clada.Report:
        """Wait for the end, and return the report; a cancellation ends the run first."""
        return await _finish(self._future, self._stop.set)

    @property
    def report(self) -> clada.Report:
        """The report, once the run has ended."""
        return self._future.result()

    def stop(self) -> None:
        """End the run in order: the rest is skipped, and the report says so."""
        self._stop.set()


async def _finish(future: asyncio.Future[Result], stop: Callable[[], None]) -> Result:
    """Wait for a thread; if this is cancelled, stop the work, and wait for its end nevertheless."""
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue  # a second cancellation does not leave the run alone either
        raise


def _in_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Return a function that works in a thread; a cancellation comes after it, and does not cut it short."""

    @wraps(function)
    async def work(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        loop = asyncio.get_running_loop()
        return await _finish(loop.run_in_executor(None, partial(function, *args, **kwargs)), lambda: None)

    return work


undo = _in_thread(clada.undo)
