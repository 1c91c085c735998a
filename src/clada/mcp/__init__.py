"""A server of the Model Context Protocol, for agents. It uses the public API of clada only.

client ─► stdio or http ─► server ─► tools ─► handlers: a call, in a thread ─► clada
                                └─► resources, prompts
"""

from __future__ import annotations

from clada import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from clada import Settings

LARGEST_MESSAGE = 320 << 20  # bytes: a document of 50 MB, each byte of it escaped
MISSING = "clada mcp needs version 2 of the Model Context Protocol's SDK"


def serve(
    settings: Settings, port: int | None, token: str | None, say: Callable[[str], None], *, all_tools: bool
) -> int:
    """Serve one workspace until the client leaves or a signal comes; return the exit code.

    On standard input and output, or with a port, on loopback, for clients that have the token.
    """
    try:
        from clada.mcp.server import make_server
    except ImportError as error:  # it is not there, or another version of it
        raise UsageError(f"{MISSING} ({error})", "pip install 'clada[mcp]'") from None
    server = make_server(settings, all_tools=all_tools)
    if port is None:
        from clada.mcp.stdio import serve_stdio

        return serve_stdio(server)
    from clada.mcp.http import serve_http

    return serve_http(server, port, token, say)
