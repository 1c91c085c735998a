"""Plain calls of tools, answered without the SDK's models or tasks: all that knows better than it is here.

Through the SDK, a call becomes a message, a task, a context and a result, each of them checked: a fifth of
the time that a small write takes. So a plain call, in which nothing is left to check, passes by its models
(`PlainCalls`); and one that is over in a moment is answered where its line is read (`SmallCalls`). Whatever
is not plain is not touched here: the SDK answers or refuses it, as if there was none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mcp import types
from pydantic_core import from_json, to_json  # which the SDK reads and writes its messages with

from clada.mcp.run import ClientCall, ToolCall, level_of
from clada.mcp.tools import TOOLS, call_tool

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from clada.mcp.run import SharedWorkspace

CALL = b'"tools/call"'
REQUEST = {"jsonrpc", "id", "method", "params"}
PARAMS = {"name", "arguments", "_meta"}
IDS = (int, str)  # and nothing that is derived of them, such as true
TAKE_OUR_RESULTS = {"2025-06-18", "2025-11-25"}  # as they are: older ones have no structured content


class Client(Protocol):
    """What is known of who calls: a connection of the SDK, or a session on it."""

    @property
    def client_params(self) -> types.InitializeRequestParams | None:
        """What it said when it shook hands."""

    @property
    def protocol_version(self) -> str:
        """What was agreed on then."""


def _is_plain(method: object, params: Any, client: Client) -> bool:
    """Whether a client that has shaken hands calls a tool of ours, and the SDK would find nothing wrong."""
    return (
        method == "tools/call"
        and client.client_params is not None
        and client.protocol_version in TAKE_OUR_RESULTS
        and isinstance(params, dict)
        and params.keys() <= PARAMS
        and isinstance(params.get("name"), str)
        and params["name"] in TOOLS
        and isinstance(params.get("arguments"), dict)
    )


class PlainCalls:
    """Calls tools without the SDK's models."""

    def __init__(self, workspace: SharedWorkspace) -> None:
        self._workspace = workspace

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer a call of a tool; leave everything else to the SDK."""
        params: Any = ctx.params
        if not _is_plain(ctx.method, params, ctx.session) or ("_meta" in params and ctx.meta is None):
            return await call_next(ctx)  # metadata that is malformed is told as none
        return await call_tool(ToolCall(self._workspace, ctx), params["name"], params["arguments"], None)


class SmallCalls:
    """Answers calls that are over in a moment, without a task for each.

    Whoever reads the lines sees to it that a call overtakes nothing, and is not overtaken: see stdio.py.
    """

    def __init__(self, workspace: SharedWorkspace, client: Client) -> None:
        self._workspace, self._client = workspace, client

    def answer(self, line: bytes) -> bytes | None:
        """Carry out the call in a line, and return what to send; None if the SDK has to do all of that."""
        if CALL not in line or self._workspace.turn.locked():
            return None
        try:
            message = from_json(line)
        except ValueError:
            return None
        if not _is_request(message) or not _is_plain(message["method"], message["params"], self._client):
            return None
        return self._answer(message["id"], message["params"])

    def _answer(self, number: int | str, params: dict[str, Any]) -> bytes | None:
        row, given, meta = TOOLS[params["name"]], params["arguments"], params.get("_meta", {})
        if not row.at_once or not _is_plain_meta(meta) or row.mistake(given):
            return None
        call = _SmallCall(self._workspace, meta.get("progressToken"))
        result = row.at_once(call, given)
        if result is None:
            return None
        try:
            answer = _line({"id": number, "result": result})
        except ValueError as error:  # a name of a file that is no text; told as the SDK tells it
            answer = _line({"id": number, "error": {"code": 0, "message": str(error)}})
        return b"".join([*call.lines, answer])


def _is_request(message: Any) -> bool:
    """Whether this is a request, with nothing that is wrong or odd about it."""
    return (
        isinstance(message, dict)
        and message.keys() == REQUEST
        and message["jsonrpc"] == "2.0"
        and type(message["id"]) in IDS
    )


def _is_plain_meta(meta: Any) -> bool:
    """Whether metadata is of this era, and what it may say of progress is well-formed."""
    return (
        isinstance(meta, dict)
        and types.PROTOCOL_VERSION_META_KEY not in meta
        and type(meta.get("progressToken", "")) in IDS
    )


class _SmallCall(ClientCall):
    """A call that is over before anything that it tells could be sent: so that goes with its result."""

    def __init__(self, workspace: SharedWorkspace, token: int | str | None) -> None:
        super().__init__(workspace, counted=token is not None)
        self.lines: list[bytes] = []
        self._token = token

    def tell(self, kind: str, text: str, begun: int = 0) -> None:
        """Keep what the client is told."""
        if kind == "progress":
            progress = {"progressToken": self._token, "progress": begun, "total": self.total, "message": text}
            self.lines.append(_line({"method": "notifications/progress", "params": progress}))
        elif level := level_of(kind, self.workspace):
            log = {"level": level, "logger": "clada", "data": text}
            self.lines.append(_line({"method": "notifications/message", "params": log}))


def _line(message: dict[str, Any]) -> bytes:
    return to_json({"jsonrpc": "2.0", **message}) + b"\n"
