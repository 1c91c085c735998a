"""One call that changes the workspace, or looks at it: in a thread, one at a time, told as it happens.

The run itself never waits for the client: what it says is queued, and left out where the client does not
read. Cancelling the call or closing the connection ends the run in order: it is recorded, and can be undone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

import clada
from clada.mcp.questions import Questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp import types
    from mcp.server.context import ServerRequestContext

Result = TypeVar("Result")
WAITING = "waiting for another run in this workspace"
LEFT_OUT = "[output left out here: the client reads too slowly; the result has it]"
LONGEST_TARGET = 200  # characters of a path or command in a message
MOST_WAITING = 1 << 20  # characters that wait for the client to read them
LEVELS = "debug info notice warning error critical alert emergency".split()


class SharedWorkspace:
    """What all calls of a server share: the settings, the lock that a run holds, the last report."""

    def __init__(self, settings: clada.Settings) -> None:
        self.settings = settings
        self.delimiters = settings.start_delimiter, settings.end_delimiter
        self.turn = anyio.Lock()
        self.threads = ThreadPoolExecutor()  # kept for the calls to come
        self.last: clada.Report | None = None
        self.level = "info"  # of the messages that a client of the older protocol wants


class ToolCall:
    """One call of a client, which is told of a run as it goes on, and asked."""

    def __init__(self, workspace: SharedWorkspace, context: ServerRequestContext[Any, Any]) -> None:
        self.workspace, self.context = workspace, context
        self.questions = Questions(context)
        self.total = 0  # operations
        self._begun = 0  # of them
        self._wants_progress = "progress_token" in (context.meta or {})
        self._waiting: deque[tuple[str, str, int]] = deque()  # kind, text, operations begun
        self._queued = self._sent = 0  # characters: counted by the run, and by the task that sends them
        self._cut = False  # whether something is left out at the moment
        self._loop = asyncio.get_running_loop()
        self._telling = asyncio.Lock()
        self._teller: asyncio.Task[None] | None = None  # sends what is queued

    async def run(self, work: Callable[[clada.Stop], Result]) -> Result:
        """Do this in a thread when it is its turn; a cancelled call ends the run, and waits for its end."""
        await self._turn()
        try:
            return await self.look(work)
        finally:
            self.workspace.turn.release()

    async def look(self, work: Callable[[clada.Stop], Result]) -> Result:
        """Do this at once: it changes nothing."""
        with clada.Stop() as stop:
            try:
                result = await self._in_thread(work, stop)
                await self._tell()  # all that comes before the result
                return result
            finally:
                if self._teller:
                    self._teller.cancel()

    async def _turn(self) -> None:
        """Wait until it is this call's turn."""
        try:
            self.workspace.turn.acquire_nowait()
        except anyio.WouldBlock:
            await self._send("note", WAITING)
            await self._send("progress", WAITING)
            await self.workspace.turn.acquire()

    async def _in_thread(self, work: Callable[[clada.Stop], Result], stop: clada.Stop) -> Result:
        working = asyncio.wrap_future(self.workspace.threads.submit(work, stop))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            stop.set()
            self.questions.withdraw()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([working])
            raise

    # What the client is told.

    def take(self, event: clada.Event) -> None:
        """Tell the client of an event, from the thread of the run."""
        match event:
            case clada.TaskStarted(label=label, operation=operation, target=target):
                self._begun += 1
                if self._wants_progress:
                    what = clada.visible(target[:LONGEST_TARGET])
                    self._tell_later("progress", f"[task-{label}] {operation} {what}", self._begun)
            case clada.Output(label=label, lines=lines):
                self._tell_later("output", "\n".join(f"[task-{label}:exec] {line}" for line in lines))
            case clada.Note(text=text):
                self._tell_later("note", clada.visible(text))
            case _:
                pass  # the result has it

    def _tell_later(self, kind: str, text: str, begun: int = 0) -> None:
        """Queue this, from the thread of the run."""
        was_cut, self._cut = self._cut, self._queued - self._sent > MOST_WAITING
        if self._cut:
            if was_cut:
                return
            kind, text = "output", LEFT_OUT
        self._queued += len(text)
        self._waiting.append((kind, text, begun))
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        """Begin to send what is queued."""
        if self._teller is None or self._teller.done():
            self._teller = self._loop.create_task(self._tell())

    async def _tell(self) -> None:
        """Send the queued messages in order, one sender at a time."""
        async with self._telling:
            while self._waiting:
                kind, text, begun = self._waiting.popleft()
                self._sent += len(text)
                await self._send(kind, text, begun)

    async def _send(self, kind: str, text: str, begun: int = 0) -> None:
        session = self.context.session
        level: types.LoggingLevel = "notice" if kind == "note" else "info"
        try:
            if kind == "progress":
                await session.report_progress(begun, self.total or None, text)
            elif LEVELS.index(level) >= LEVELS.index(self.workspace.level):  # the client wants to hear it
                await session.send_log_message(level, text, "clada", self.context.request_id)
        except Exception:  # noqa: BLE001, S110 (the client is gone: the run ends, or goes on, without it)
            pass
