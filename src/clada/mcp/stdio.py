"""Standard input and output as the transport: streams of our own under the SDK's stdio server.

The SDK's streams replace bytes that are not UTF-8, so a document would be carried out with other content than
was sent; they leave lines that are not messages unanswered; and they read and write in threads that no signal
can end.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.lowlevel
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from clada.mcp import LARGEST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

    from anyio.abc import ObjectSendStream
    from mcp.server.lowlevel import Server

    Ready = Callable[[int], Awaitable[None]]

CHUNK = 1 << 16
PIPE_BUF = 4096  # bytes that a pipe takes without blocking once it is ready
NOT_A_MESSAGE = b"not a message"  # in place of a line that is too long, or not UTF-8
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_stdio(server: Server[Any]) -> int:
    """Serve until the client closes our input, or a signal comes; return the exit code."""
    return anyio.run(_serve, server, backend="asyncio")


async def _serve(server: Server[Any]) -> int:
    code = 0

    async def end_on_signal() -> None:
        nonlocal code
        with anyio.open_signal_receiver(*SIGNALS) as signals:
            async for number in signals:
                code = 128 + number
                group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(end_on_signal)
        await _converse(server)
        group.cancel_scope.cancel()
    return code


async def _converse(server: Server[Any]) -> None:
    """Answer the client until it closes our input."""
    lines: Any = _lines(_take_over(0))
    output: Any = _Output(_take_over(1))
    async with stdio_server(lines, output) as (received, answers), anyio.create_task_group() as group:
        sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
        group.start_soon(_pass_on, received, sender, answers)
        await server.run(cast("Any", messages), answers, server.create_initialization_options())


async def _pass_on(
    received: AsyncIterable[SessionMessage | Exception],
    messages: ObjectSendStream[SessionMessage | Exception],
    answers: ObjectSendStream[SessionMessage],
) -> None:
    """Pass messages on to the server, and answer lines that are not messages by an error of JSON-RPC."""
    async with messages:
        async for item in received:
            if isinstance(item, SessionMessage):
                await messages.send(item)
            else:
                error = types.ErrorData(code=types.PARSE_ERROR, message="this line is not a JSON-RPC message")
                await answers.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error)))


def _take_over(fd: int) -> int:
    """Replace a standard stream, and return a private handle to it.

    Other output then goes to standard error, and no child process reads the client's messages.
    """
    private = os.dup(fd)  # not inherited by children
    replacement = os.dup(2) if fd else os.open(os.devnull, os.O_RDONLY)
    os.dup2(replacement, fd)
    os.close(replacement)
    return private


async def _wait(ready: Ready, fd: int) -> None:
    """Wait until a handle is ready; files and /dev/null always are, and cannot be waited for."""
    try:
        await ready(fd)
    except PermissionError:
        await anyio.lowlevel.checkpoint()


async def _lines(fd: int) -> AsyncIterator[str]:
    """Yield the lines that the client sends."""
    pieces: list[bytes] = []  # of the current line
    size = 0
    while chunk := await _read(fd):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            yield _text([*pieces, end])
            pieces, size = [], 0
        size += len(rest)
        pieces.append(rest)
        if size > LARGEST_MESSAGE:
            pieces = [NOT_A_MESSAGE]
    if any(pieces):  # the last line may lack its line break
        yield _text(pieces)


async def _read(fd: int) -> bytes:
    await _wait(anyio.wait_readable, fd)
    try:
        return os.read(fd, CHUNK)
    except OSError:
        return b""  # the client is gone


def _text(pieces: list[bytes]) -> str:
    """Return a line as text; one that is not UTF-8 becomes a line that the SDK refuses."""
    try:
        return b"".join(pieces).decode()
    except UnicodeDecodeError:
        return NOT_A_MESSAGE.decode()


class _Output:
    """The stream that the SDK writes to; after the client is gone, lines are dropped."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def write(self, text: str) -> None:
        """Write a line, as fast as the client reads."""
        data = memoryview(text.encode())
        while data:
            await _wait(anyio.wait_writable, self._fd)
            try:
                data = data[os.write(self._fd, data[:PIPE_BUF]) :]
            except BlockingIOError:
                continue
            except OSError:
                return  # the client is gone

    async def flush(self) -> None:
        """Do nothing: each line is written at once."""
