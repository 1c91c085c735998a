"""One call of a tool: its work runs in a thread, and the client is told of its progress and asked questions.

The work never waits for the client: messages are queued, and left out where the client does not read.
Cancelling the call or closing the connection ends a run in order: it is recorded, and can be undone.

Clients up to protocol 2025-11-25 are asked while the run waits. Since 2026-07-28 a server sends no requests:
a dry run finds the commands that need approval, the result lists them, and the client calls again with the
answers; questions about files are answered no there. An answer is valid for one run: `clada approvals add`
allows a command permanently.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp import types
from mcp.shared.exceptions import MCPError

import clada

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from mcp.server.context import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

Result = TypeVar("Result")
WAITING = "waiting for another run in this workspace"
LEFT_OUT = "[output left out here: the client reads too slowly; the result has it]"
LONGEST_TARGET = 200  # characters of a path or command in a message
MAX_QUEUED = 1 << 20  # characters that wait for the client to read them
LEVELS = "debug info notice warning error critical alert emergency".split()
ANSWERS = ("once", "once+network", "no")


def _form(title: str, *answers: str, **more: str) -> dict[str, Any]:
    """Return the schema of a form with one question."""
    question = {"type": "string", "title": title, **more, "enum": list(answers)}
    return {"type": "object", "properties": {"answer": question}, "required": ["answer"]}


COMMAND_FORM = _form(
    "May it run?", *ANSWERS, description="once; once+network: with access to the network; no"
)
YES_NO_FORM = _form("May it be done?", "yes", "no")


class SharedWorkspace:
    """What all calls of a server share: the settings, the lock that a run holds, the last report."""

    def __init__(self, settings: clada.Settings) -> None:
        self.settings = settings
        self.delimiters = settings.start_delimiter, settings.end_delimiter
        self.lock = anyio.Lock()
        self.threads = ThreadPoolExecutor()
        self.last: clada.Report | None = None
        self.level = "info"  # lowest level of log messages that a client of the older protocol wants


class ToolCall:
    """One call of a client."""

    def __init__(
        self, workspace: SharedWorkspace, context: Context, responses: Mapping[str, object] | None = None
    ) -> None:
        self.workspace, self.context = workspace, context
        self.questions = Questions(context, responses)
        self.stop = clada.Stop()
        self.total = 0  # operations
        self._started = 0  # operations that were started
        self._wants_progress = "progress_token" in (context.meta or {})
        self._queue: deque[tuple[str, str, int]] = deque()  # kind, text, operations started
        self._queued = self._sent = 0  # characters, counted by the run and by the task that sends them
        self._is_cut = False  # whether messages are being left out
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._sender: asyncio.Task[None] | None = None

    async def run_alone(self, work: Callable[[], Result]) -> Result:
        """Do this in a thread, one call at a time; cancelling the call stops it and waits for its end."""
        try:
            self.workspace.lock.acquire_nowait()
        except anyio.WouldBlock:
            await self._send("note", WAITING)
            await self._send("progress", WAITING)
            await self.workspace.lock.acquire()
        try:
            return await self.run(work)
        finally:
            self.workspace.lock.release()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do this in a thread at once, because it changes nothing."""
        with self.stop:
            try:
                result = await self._run_in_thread(work)
                await self._send_queued()  # before the result
                return result
            finally:
                if self._sender:
                    self._sender.cancel()

    async def _run_in_thread(self, work: Callable[[], Result]) -> Result:
        working = asyncio.wrap_future(self.workspace.threads.submit(work))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            self.stop.set()
            self.questions.withdraw()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([working])
            raise

    # Messages to the client.

    def on_event(self, event: clada.Event) -> None:
        """Tell the client of an event, from the thread of the run."""
        match event:
            case clada.TaskStarted(label=label, operation=operation, target=target):
                self._started += 1
                if self._wants_progress:
                    what = clada.visible(target[:LONGEST_TARGET])
                    self._enqueue("progress", f"[task-{label}] {operation} {what}", self._started)
            case clada.Output(label=label, lines=lines):
                self._enqueue("output", "\n".join(f"[task-{label}:exec] {line}" for line in lines))
            case clada.Note(text=text):
                self._enqueue("note", clada.visible(text))
            case _:
                pass  # the result has it

    def _enqueue(self, kind: str, text: str, started: int = 0) -> None:
        """Queue a message, from the thread of the run."""
        was_cut, self._is_cut = self._is_cut, self._queued - self._sent > MAX_QUEUED
        if self._is_cut:
            if was_cut:
                return
            kind, text = "output", LEFT_OUT
        self._queued += len(text)
        self._queue.append((kind, text, started))
        self._loop.call_soon_threadsafe(self._start_sending)

    def _start_sending(self) -> None:
        if self._sender is None or self._sender.done():
            self._sender = self._loop.create_task(self._send_queued())

    async def _send_queued(self) -> None:
        """Send the queued messages in order, one sender at a time."""
        async with self._sending:
            while self._queue:
                kind, text, started = self._queue.popleft()
                self._sent += len(text)
                await self._send(kind, text, started)

    async def _send(self, kind: str, text: str, started: int = 0) -> None:
        session = self.context.session
        level: types.LoggingLevel = "notice" if kind == "note" else "info"
        try:
            if kind == "progress":
                await session.report_progress(started, self.total or None, text)
            elif LEVELS.index(level) >= LEVELS.index(self.workspace.level):
                await session.send_log_message(level, text, "clada", self.context.request_id)
        except Exception:  # noqa: BLE001, S110 (the client is gone: the run ends, or goes on, without it)
            pass


class Questions:
    """Asks a person, through the client, whether a command may run or a file may be written."""

    def __init__(self, context: Context, responses: Mapping[str, object] | None) -> None:
        self._context, self._responses = context, responses or {}
        self._loop = asyncio.get_running_loop()
        self._pending: Future[types.ElicitResult] | None = None  # the question that waits for an answer
        self._withdrawn = False
        self._answers: dict[str, str] = {}  # by command
        capabilities = context.session.client_capabilities
        forms = capabilities.elicitation if capabilities else None
        # An empty capability means forms, as it did before there was anything else.
        self.possible = forms is not None and (forms.form is not None or forms.url is None)
        self.beforehand = self.possible and not context.session.can_send_request

    def ask(self, command: str, directory: str, reason: str, *, network: bool) -> str | None:
        """Ask about a command, from the thread of the run; None where there is no answer."""
        del network  # one of the answers says it
        if self.beforehand:
            return self._answers.get(command)
        given = self._elicit(_question(command, reason, directory), COMMAND_FORM)
        return _read_answer(given) if given else None

    def consent(self, question: str) -> bool:
        """Ask a yes-or-no question, from the thread of the run."""
        given = None if self.beforehand else self._elicit(clada.visible(question), YES_NO_FORM)
        return bool(given and given.action == "accept" and (given.content or {}).get("answer") == "yes")

    def _elicit(self, message: str, form: dict[str, Any]) -> types.ElicitResult | None:
        """Send a form to the client and wait; None if the call was cancelled or the client failed."""
        asking = self._context.session.elicit_form(message, form, self._context.request_id)
        self._pending = asyncio.run_coroutine_threadsafe(asking, self._loop)
        if self._withdrawn:  # just before that
            self._pending.cancel()
        try:
            return self._pending.result()
        except (CancelledError, MCPError):
            return None
        finally:
            self._pending = None

    def withdraw(self) -> None:
        """Stop waiting for an answer: the call was cancelled."""
        self._withdrawn = True
        if pending := self._pending:
            pending.cancel()

    def collect(self, planned: clada.Report) -> types.InputRequiredResult | None:
        """Take over the answers to a plan's questions; return the questions that have none."""
        requests: types.InputRequests = {}
        for task in planned.tasks:
            reason = task.outcome.needs_approval if isinstance(task.outcome, clada.Skipped) else None
            if reason is None:
                continue
            command = task.target.strip(" \t\r\n")
            key = f"command-{hashlib.sha256(command.encode(errors='replace')).hexdigest()[:32]}"
            given = self._responses.get(key)
            if isinstance(given, types.ElicitResult):
                self._answers[command] = _read_answer(given)
            else:
                form = types.ElicitRequestFormParams(
                    message=_question(command, reason), requested_schema=COMMAND_FORM
                )
                requests[key] = types.ElicitRequest(params=form)
        return types.InputRequiredResult(input_requests=requests) if requests else None


def _question(command: str, reason: str, directory: str = "") -> str:
    rows = {"command": command, "directory": directory, "because": reason}
    lines = [f"{name}: {clada.visible(value)}" for name, value in rows.items() if value]
    return "\n".join(["May this command run?", *lines])


def _read_answer(given: types.ElicitResult) -> str:
    """Return the answer: anything but a clear yes is a no."""
    answer = (given.content or {}).get("answer") if given.action == "accept" else "no"
    return answer if isinstance(answer, str) and answer in ANSWERS else "no"
