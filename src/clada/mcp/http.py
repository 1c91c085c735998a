"""Streamable HTTP as the transport: on loopback, for clients that have the token."""

from __future__ import annotations

import hmac
import secrets
import socket
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from clada import UsageError
from clada.mcp import LARGEST_MESSAGE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 1  # time for open connections when the server ends


def serve_http(server: Server[Any], port: int, token: str | None, say: Callable[[str], None]) -> int:
    """Serve until a signal comes; return the exit code. Without a token, one is made and printed."""
    listening = _listen(port)
    port = listening.getsockname()[1]
    own = token or secrets.token_urlsafe(32)
    names = [f"{name}:{port}" for name in (HOST, "localhost")]
    app = server.streamable_http_app(
        transport_security=TransportSecuritySettings(
            allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
        ),
        max_request_body_size=LARGEST_MESSAGE,
    )
    which = "the token" if token else f"the token {own}"
    say(f"serving http://{HOST}:{port}/mcp for clients that send {which} (Authorization: Bearer …)")
    config = uvicorn.Config(
        TokenRequired(app, own),
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def _listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # before the address is printed: a client may connect at once
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"--http: port {port} cannot be used: {error}") from None
    return listening


class TokenRequired:
    """Passes on requests with the token, and refuses all others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan" or self._has_token(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"the token is missing or wrong\n"})
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _has_token(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
