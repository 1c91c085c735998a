"""Standard input and output as the transport: one JSON message a line.

The SDK's own blocks a thread that no signal can end, and replaces bytes that are not UTF-8: a document would
be carried out with other content than was sent. It takes half as long again for a small call, too.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import stat
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.lowlevel
from mcp import types
from mcp.shared.message import SessionMessage

from clada.mcp import LARGEST_MESSAGE

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

CHUNK = 1 << 16
PIPE_BUF = 4096  # bytes that a pipe which is ready takes without blocking
TOO_LONG = b"too long"  # which is no message, and answered as such
MOST_UNREAD = 1 << 20  # bytes that wait for the client before whoever sends more has to wait
PATIENCE = 1  # seconds that the client has to read what is left at the end
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve_stdio(server: Server[Any]) -> int:
    """Serve until the client closes our input, or a signal comes; return the exit code."""
    return anyio.run(_serve, server, backend="asyncio")


async def _serve(server: Server[Any]) -> int:
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
        await server.run(messages, answers, server.create_initialization_options())
        group.cancel_scope.cancel()
    return code


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
        self._lines: deque[bytes] = deque()  # whole ones
        self._pieces: list[bytes] = []  # of the one that is coming
        self._size = 0  # of them

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Return the next message, or what is wrong with the line that should be one."""
        while not self._lines:
            piece = await self._read()
            if not piece:
                if not any(self._pieces):
                    raise StopAsyncIteration
                piece = b"\n"  # the last line may lack it
            self._take(piece)
        try:
            return SessionMessage(
                types.jsonrpc_message_adapter.validate_json(self._lines.popleft(), by_name=False)
            )
        except ValueError as error:
            return error

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
        if self._can_wait:
            await anyio.wait_readable(self._fd)
        else:
            await anyio.lowlevel.checkpoint()
        try:
            return os.read(self._fd, CHUNK)
        except OSError:
            return b""  # the client is gone


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
        self._ready = select.poll()
        self._ready.register(fd, select.POLLOUT)

    async def send(self, message: SessionMessage, /) -> None:
        """Write a message, as soon as the client reads it; wait while much is to be read before."""
        line = f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
        self._rest.append(memoryview(line))
        self._size += len(line)
        if len(self._rest) == 1:
            self._write()
        while self._size > MOST_UNREAD:
            await self._written.wait()

    async def aclose(self) -> None:
        """Give the client a moment to read what is left."""
        with anyio.move_on_after(PATIENCE, shield=True):
            while self._rest:
                await self._written.wait()

    def _write(self) -> None:
        """Write what can be written without blocking, and the rest when the client has read that."""
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
