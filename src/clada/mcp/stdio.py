"""Standard input and output as the transport: one JSON message a line.

The SDK's own blocks a thread that no signal can end, and replaces bytes that are not UTF-8: a document would
be carried out with other content than was sent. It takes half as long again for a small call, too.
"""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import stat
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.lowlevel
from mcp import types
from mcp.server.connection import Connection
from mcp.server.runner import serve_connection
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage

from clada.mcp import LARGEST_MESSAGE
from clada.mcp.plain import SmallCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.lowlevel import Server

    from clada.mcp.run import SharedWorkspace

CHUNK = 1 << 16
PIPE_BUF = 4096  # bytes that a pipe which is ready takes without blocking
TOO_LONG = b"too long"  # which is no message, and answered as such
MOST_UNREAD = 1 << 20  # bytes that wait for the client before whoever sends more has to wait
PATIENCE = 1  # seconds that the client has to read what is left at the end
OTHER_ERA = "this connection began with a handshake; requests with the envelope of 2026-07-28 are refused"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_stdio(server: Server[Any], workspace: SharedWorkspace) -> int:
    """Serve until the client closes our input, or a signal comes; return the exit code."""
    gc.freeze()  # what is loaded by now stays: no call waits until the collector has looked at all of it
    return anyio.run(_serve, server, workspace, backend="asyncio")


async def _serve(server: Server[Any], workspace: SharedWorkspace) -> int:
    code = 0
    messages, answers = _Messages(_taken(0)), _Answers(_taken(1))

    async with anyio.create_task_group() as group:

        async def end_on_signal() -> None:
            nonlocal code
            with anyio.open_signal_receiver(*SIGNALS) as signals:
                async for number in signals:
                    code = 128 + number
                    group.cancel_scope.cancel()

        group.start_soon(end_on_signal)
        await _converse(server, workspace, messages, answers)
        group.cancel_scope.cancel()
    return code


async def _converse(
    server: Server[Any], workspace: SharedWorkspace, messages: _Messages, answers: _Answers
) -> None:
    """Answer until the client leaves.

    `Server.run` takes each message through one task more, to see which era of the protocol the first is of.
    """
    options = server.create_initialization_options()
    if not await messages.begin_with_handshake():
        await server.run(messages, answers, options)
        return
    server.middleware.insert(0, _refuse_envelope)
    # What a client sends before its handshake is answered has to wait for that, as in `serve_loop`.
    dispatcher = JSONRPCDispatcher[Any](messages, answers, inline_methods=frozenset({"initialize"}))
    connection = Connection.for_loop(dispatcher)
    small = SmallCalls(workspace, connection)

    def answer(line: bytes) -> bool:
        """Answer a small call, if the client has read all that came before."""
        told = small.answer(line) if answers.are_read else None
        if told:
            answers.write(told)
        return told is not None

    messages.answer = answer
    try:
        async with server.lifespan(server) as state:
            await serve_connection(
                server, dispatcher, connection=connection, lifespan_state=state, init_options=options
            )
    finally:
        await answers.aclose()


async def _refuse_envelope(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Refuse a request of the other era, as `Server.run` does."""
    meta = (ctx.params or {}).get("_meta")
    enveloped = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    if enveloped and ctx.request_id is not None and ctx.method != "initialize":
        raise MCPError(types.INVALID_REQUEST, OTHER_ERA)
    return await call_next(ctx)


def _taken(fd: int) -> int:
    """Return a private handle in the place of a standard one, which gets nothing of the protocol any more.

    What else is printed goes to standard error, and no child reads what the client sends.
    """
    private = os.dup(fd)  # not inherited
    stand_in = os.dup(2) if fd else os.open(os.devnull, os.O_RDONLY)
    os.dup2(stand_in, fd)
    os.close(stand_in)
    return private


def _can_wait(fd: int) -> bool:
    """Whether a handle may have to be waited for: a file, or /dev/null, is always ready."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)


class _Stream:
    """What the SDK's streams have in common."""

    def __init__(self, fd: int) -> None:
        self._fd, self._can_wait = fd, _can_wait(fd)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def aclose(self) -> None:
        """Leave the handle to the end of the process."""


class _Messages(_Stream):
    """What the client sends."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._loop = asyncio.get_running_loop()
        self.answer: Callable[[bytes], bool] = lambda _line: False  # if that can be done at once
        self._are_begun = True  # whether somebody has begun with all messages that were passed on
        self._watched = False  # whether the loop tells when there is something to read
        self._wanted: asyncio.Future[bytes] | None = None
        self._lines: deque[bytes] = deque()  # whole ones
        self._pieces: list[bytes] = []  # of the one that is coming
        self._size = 0  # of them

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message, or what is wrong with the line that should be one."""
        await self._wait_for_a_line()
        if not self._lines:
            raise StopAsyncIteration
        self._are_begun = False
        self._loop.call_soon(self._begun)  # by when its task has been made; it runs before we read again
        return _message(self._lines.popleft())

    def _begun(self) -> None:
        self._are_begun = True

    async def begin_with_handshake(self) -> bool:
        """Whether the first message, which is still to be read, is the handshake of protocols until 2025."""
        await self._wait_for_a_line()
        first = _message(self._lines[0]) if self._lines else None
        return (
            isinstance(first, SessionMessage)
            and isinstance(first.message, types.JSONRPCRequest)
            and first.message.method == "initialize"
        )

    async def _wait_for_a_line(self) -> None:
        """Read until there is a whole line, or nothing is to come."""
        while not self._lines:
            piece = await self._read()
            if not piece:
                if not any(self._pieces):
                    return
                piece = b"\n"  # the last line may lack it
            self._take(piece)

    receive = __anext__

    def _take(self, piece: bytes) -> None:
        *ended, begun = piece.split(b"\n")
        for part in ended:
            fits = self._size + len(part) <= LARGEST_MESSAGE
            self._lines.append(b"".join([*self._pieces, part]) if fits else TOO_LONG)
            self._pieces, self._size = [], 0
        self._size += len(begun)
        self._pieces.append(begun)
        if self._size > LARGEST_MESSAGE:
            self._pieces.clear()

    async def _read(self) -> bytes:
        """Return what the client sends next. The loop watches for it until it sends more than is taken."""
        if not self._can_wait:
            await anyio.lowlevel.checkpoint()
            return self._read_at_once()
        if not self._watched:
            self._loop.add_reader(self._fd, self._is_readable)
            self._watched = True
        self._wanted = self._loop.create_future()
        return await self._wanted

    def _is_readable(self) -> None:
        if self._wanted is None or self._wanted.done():
            self._loop.remove_reader(self._fd)
            self._watched = False
            return
        piece = self._read_at_once()
        if not self._is_one_line(piece) or not self.answer(piece):
            self._wanted.set_result(piece)

    def _is_one_line(self, piece: bytes) -> bool:
        """Whether this is a line, and there is none before it that it would overtake, or after it."""
        return self._are_begun and not self._size and piece.count(b"\n") == 1 and piece.endswith(b"\n")

    def _read_at_once(self) -> bytes:
        try:
            return os.read(self._fd, CHUNK)
        except OSError:
            return b""  # the client is gone


def _message(line: bytes) -> SessionMessage | ValueError:
    """Return the message that a line has, or what is wrong with it."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


class _Answers(_Stream):
    """What the client gets, line by line; once it reads no more, that is dropped.

    A line is written to its end, even if whoever sent it is cancelled.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._loop = asyncio.get_running_loop()
        self._rest: deque[memoryview] = deque()  # that was not written yet
        self._size = 0  # of that
        self._written = asyncio.Event()  # all of it, or so much that more can be taken
        self._written.set()
        self._ready = select.poll()
        self._ready.register(fd, select.POLLOUT)

    async def send(self, message: SessionMessage, /) -> None:
        """Write a message, as soon as the client reads it; wait while much is to be read before."""
        self.write(f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode())
        while self._size > MOST_UNREAD:
            await self._written.wait()

    def write(self, lines: bytes) -> None:
        """Write lines, as soon as the client reads them."""
        self._rest.append(memoryview(lines))
        self._size += len(lines)
        if len(self._rest) == 1:
            self._write()

    @property
    def are_read(self) -> bool:
        """Whether none of them waits for the client."""
        return not self._rest

    async def aclose(self) -> None:
        """Give the client a moment to read what is left."""
        with anyio.move_on_after(PATIENCE, shield=True):
            while self._rest:
                await self._written.wait()

    def _write(self) -> None:
        """Write what can be written without blocking, and the rest when the client has read that."""
        if not self._written.is_set():
            self._loop.remove_writer(self._fd)
            self._written.set()
        while self._rest:
            count = self._written_at_once(self._rest[0][:PIPE_BUF])
            if not count:
                self._written.clear()
                self._loop.add_writer(self._fd, self._write)
                return
            self._size -= count
            self._rest[0] = self._rest[0][count:]
            if not self._rest[0]:
                self._rest.popleft()

    def _written_at_once(self, data: memoryview) -> int:
        """Write what does not block, and return how much that is; what nobody reads any more counts, too."""
        if self._can_wait and not self._ready.poll(0):
            return 0
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)
